//! A recording: a command list that is open (spec T3).

use std::cell::OnceCell;
use std::sync::Arc;

use super::Commands;
use super::open::Open;
use crate::descriptor::{DescriptorGarbage, RecordedChunks, RecordedSets};
use crate::device::{BufferLayout, Device, Permit, QueueId, State, Subresource, TextureRegion};
use crate::gpu::Shared;
use crate::resource::{Buffer, Texture, Used};
use crate::time::{RecordingId, SyncPoint};
use crate::upload::{Pages, Readback, Scratch};
use crate::{Error, Name};

/// A command list being recorded, on any thread.
///
/// Whatever it uses must be alive when the use is recorded, and may be dropped right after:
/// everything dropped while a recording is open survives until the recording was submitted and
/// completed, or discarded. Dropping a recording discards it, at no cost. A recording that is
/// forgotten holds back all that is dropped meanwhile; it shows in
/// [`Report::open_recordings`](crate::Report::open_recordings) by name, age and bytes.
///
/// A command list that is to live long and be executed many times (a bundle) is not a recording:
/// keep it in a [`Deferred`](crate::Deferred) together with shared handles (`Arc<Buffer<_>>`) of all
/// it uses.
pub struct Recording<D: Device> {
    pub(super) queue: QueueId,
    id: RecordingId,
    pub(super) name: &'static str,
    pub(super) waits: SyncPoint,
    /// `None` once submitted.
    pub(super) open: Option<Open<D>>,
    /// Of its constants, once it has any.
    pages: OnceCell<Box<Pages<D>>>,
    chunks: RecordedChunks,
    /// Its descriptor sets, once it has any.
    sets: OnceCell<Box<RecordedSets<D>>>,
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Device> Recording<D> {
    pub(crate) fn open(shared: &Arc<Shared<D>>, queue: QueueId, name: &'static str) -> Result<Self, Error> {
        shared.clock.check()?;
        let open = shared.take_open(queue).map_err(|source| shared.refused(&Name::from(name), source))?;
        let id = shared.recordings.open(name, shared.current_frame());
        Ok(Self {
            queue,
            id,
            name,
            waits: SyncPoint::NONE,
            open: Some(open),
            pages: OnceCell::new(),
            chunks: RecordedChunks::default(),
            sets: OnceCell::new(),
            shared: shared.clone(),
        })
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared<D>> {
        &self.shared
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The queue it is for.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        self.queue
    }

    /// Its number.
    #[must_use]
    pub const fn id(&self) -> RecordingId {
        self.id
    }

    /// Its commands, and the memory for what only it needs, side by side: what the memory hands out
    /// can be used while commands are recorded, and not once the recording is submitted.
    ///
    /// # Panics
    /// Never: a recording has its list until it is submitted, which consumes it.
    pub fn split(&mut self) -> (Commands<'_, D>, Scratch<'_, D>) {
        let Self { shared, queue, id, name, open, pages, chunks, sets, .. } = self;
        let open = match open {
            Some(open) => open,
            None => unreachable!("submitting consumes the recording"),
        };
        let commands = Commands { shared, open, queue: *queue, id: *id, name };
        (commands, Scratch { shared, pages, chunks, sets, id: *id, name })
    }

    fn commands(&mut self) -> Commands<'_, D> {
        self.split().0
    }

    /// The API's command list, to record into, with the barriers recorded that are pending: see
    /// [`Commands::raw`].
    ///
    /// # Panics
    /// As [`split`](Self::split).
    pub fn raw(&mut self) -> &D::List {
        self.commands().into_raw()
    }

    /// As [`Commands::raw_mut`].
    ///
    /// # Panics
    /// As [`split`](Self::split).
    pub fn raw_mut(&mut self, _: Permit<D>) -> &mut D::List {
        self.commands().into_raw_mut()
    }

    /// Makes the submission wait for submissions of other queues.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] for a point that no submission will complete, [`Error::Foreign`] for
    /// one of another manager.
    pub fn wait_for(&mut self, point: &SyncPoint) -> Result<(), Error> {
        self.shared.check_submitted(point)?;
        self.waits.merge(point);
        Ok(())
    }

    /// As [`Commands::use_resource`].
    ///
    /// # Errors
    /// As [`Commands::use_resource`].
    pub fn use_resource<'a>(
        &mut self,
        resource: impl Into<Used<'a, D>>,
        subresource: Subresource,
        state: State,
    ) -> Result<(), Error> {
        self.commands().use_resource(resource, subresource, state)
    }

    /// As [`Commands::barriers`].
    pub fn barriers(&mut self) {
        self.commands().barriers();
    }

    /// As [`Commands::set_descriptor_heaps`].
    ///
    /// # Errors
    /// As [`Commands::set_descriptor_heaps`].
    pub fn set_descriptor_heaps(&mut self) -> Result<(), Error> {
        self.commands().set_descriptor_heaps()
    }

    /// As [`Commands::copy_buffer`].
    ///
    /// # Errors
    /// As [`Commands::copy_buffer`].
    pub fn copy_buffer(
        &mut self,
        src: &Buffer<D>,
        src_offset: u64,
        dst: &Buffer<D>,
        dst_offset: u64,
        size: u64,
    ) -> Result<(), Error> {
        self.commands().copy_buffer(src, src_offset, dst, dst_offset, size)
    }

    /// As [`Commands::copy_buffer_to_texture`].
    ///
    /// # Errors
    /// As [`Commands::copy_buffer_to_texture`].
    pub fn copy_buffer_to_texture(
        &mut self,
        src: &Buffer<D>,
        layout: BufferLayout,
        dst: &Texture<D>,
        region: TextureRegion,
    ) -> Result<(), Error> {
        self.commands().copy_buffer_to_texture(src, layout, dst, region)
    }

    /// As [`Commands::copy_texture_to_buffer`].
    ///
    /// # Errors
    /// As [`Commands::copy_texture_to_buffer`].
    pub fn copy_texture_to_buffer(
        &mut self,
        src: &Texture<D>,
        region: TextureRegion,
        dst: &Buffer<D>,
        layout: BufferLayout,
    ) -> Result<(), Error> {
        self.commands().copy_texture_to_buffer(src, region, dst, layout)
    }

    /// As [`Commands::discard`].
    ///
    /// # Errors
    /// As [`Commands::discard`].
    pub fn discard(&mut self, texture: &Texture<D>, subresource: Subresource) -> Result<(), Error> {
        self.commands().discard(texture, subresource)
    }

    /// As [`Commands::read_back`].
    ///
    /// # Errors
    /// As [`Commands::read_back`].
    pub fn read_back(&mut self, buffer: &Buffer<D>, offset: u64, size: u64) -> Result<Readback<D>, Error> {
        self.commands().read_back(buffer, offset, size)
    }

    /// As [`Commands::read_back_texture`].
    ///
    /// # Errors
    /// As [`Commands::read_back_texture`].
    pub fn read_back_texture(
        &mut self,
        texture: &Texture<D>,
        region: TextureRegion,
    ) -> Result<Readback<D>, Error> {
        self.commands().read_back_texture(texture, region)
    }

    /// Submitted, as `submission`, or discarded: from now on nothing is held back for it.
    pub(super) fn end(&mut self, submission: SyncPoint) {
        if let Some(pages) = self.pages.take() {
            self.shared.constants.put_back(pages, &self.shared);
        }
        self.chunks.end(&self.shared, submission);
        if let Some(sets) = self.sets.take() {
            self.shared.release_recorded(DescriptorGarbage::Sets(sets), submission);
        }
        self.shared.recordings.close(self.id);
    }
}

impl<D: Device> Drop for Recording<D> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            self.shared.discard_open(self.queue, open);
            self.end(SyncPoint::NONE);
            self.shared.settle();
        }
    }
}
