//! A recording: a command list that is open (spec T3).

use std::sync::Arc;

use super::submission::record_pending;
use crate::device::{
    BufferLayout, CommandList, Device, DeviceError, QueueId, State, Subresource, TextureRegion,
};
use crate::gpu::Shared;
use crate::resource::{Buffer, Texture, Tracked, Used};
use crate::state::{StateError, Tracker};
use crate::time::{RecordingId, SyncPoint};
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
    pub(super) shared: Arc<Shared<D>>,
    pub(super) queue: QueueId,
    pub(super) id: RecordingId,
    pub(super) name: &'static str,
    pub(super) waits: SyncPoint,
    /// `None` once submitted.
    pub(super) open: Option<Open<D>>,
}

/// What a recording returns at its end.
pub(super) struct Open<D: Device> {
    pub(super) list: D::List,
    pub(super) tracker: Tracker<Tracked<D>>,
}

impl<D: Device> Recording<D> {
    pub(crate) fn open(shared: &Arc<Shared<D>>, queue: QueueId, name: &'static str) -> Result<Self, Error> {
        shared.clock.check()?;
        let refused = |source| shared.refused(&Name::from(name), source);
        let tracker = shared.contexts.take_tracker(queue).map_err(refused)?;
        // Without asking the driver: a list more is made at worst.
        let completed = shared.clock.completed();
        let list = match shared.contexts.take_list(shared.device(), queue, &completed) {
            Ok(list) => list,
            Err(error) => {
                shared.contexts.return_tracker(queue, tracker);
                return Err(refused(error));
            }
        };
        let id = shared.recordings.open(name, shared.current_frame());
        let open = Some(Open { list, tracker });
        Ok(Self { shared: shared.clone(), queue, id, name, waits: SyncPoint::NONE, open })
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

    /// The API's command list, to record into. Barriers of resources that are followed by
    /// [`use_resource`](Self::use_resource) are the recording's business.
    ///
    /// # Panics
    /// Never: a recording has its list until it is submitted, which consumes it.
    pub fn raw(&mut self) -> &mut D::List {
        &mut self.parts().list
    }

    fn parts(&mut self) -> &mut Open<D> {
        match &mut self.open {
            Some(open) => open,
            None => unreachable!("submitting consumes the recording"),
        }
    }

    /// Makes the submission wait for submissions of other queues.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] for a point that no submission will complete.
    pub fn wait_for(&mut self, point: &SyncPoint) -> Result<(), Error> {
        self.shared.check_submitted(point)?;
        self.waits.merge(point);
        Ok(())
    }

    /// The next command uses a resource in `state`: barriers are found, and recorded by
    /// [`barriers`](Self::barriers). A range of a buffer shares the state of the whole buffer.
    ///
    /// # Errors
    /// [`Error::State`] when the resource, or this queue, does not allow the state,
    /// [`Error::FixedState`] when its memory does not, [`Error::Foreign`] for a resource of another
    /// manager.
    pub fn use_resource<'a>(
        &mut self,
        resource: impl Into<Used<'a, D>>,
        subresource: Subresource,
        state: State,
    ) -> Result<(), Error> {
        let used = resource.into();
        let tracked = used.check(&self.shared, state)?;
        let required = self.parts().tracker.require(&tracked, subresource, state);
        required.map_err(|source| Error::State { name: used.name().clone(), source })
    }

    /// Records the barriers that the uses noted since the last call need, all at once. Call it
    /// after the [`use_resource`](Self::use_resource) calls for a command and before the command.
    pub fn barriers(&mut self) {
        let Open { list, tracker } = self.parts();
        record_pending(list, tracker);
    }

    /// Copies bytes from one buffer to another, barriers included.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::State`]; [`Error::Device`] when both are ranges of the same
    /// API buffer, which cannot be source and destination at once.
    pub fn copy_buffer(
        &mut self,
        src: &Buffer<D>,
        src_offset: u64,
        dst: &Buffer<D>,
        dst_offset: u64,
        size: u64,
    ) -> Result<(), Error> {
        check_range(src, src_offset, size)?;
        check_range(dst, dst_offset, size)?;
        if std::ptr::eq(src.raw(), dst.raw()) {
            let rule = "source and destination of a copy must not share an API buffer";
            let source = DeviceError::InvalidCall { rule, value: src_offset, limit: dst_offset };
            return Err(Error::Device { name: dst.name().clone(), source });
        }
        self.use_resource(src, Subresource::All, State::COPY_SRC)?;
        self.use_resource(dst, Subresource::All, State::COPY_DST)?;
        self.barriers();
        let (from, to) = (src.offset() + src_offset, dst.offset() + dst_offset);
        self.raw().copy_buffer(src.raw(), from, dst.raw(), to, size);
        Ok(())
    }

    /// Copies texels from a buffer to a texture, barriers included. `layout.offset` counts from
    /// the beginning of `src`.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::OutOfRange`] when the texels leave the
    /// buffer; [`Error::Device`] for a region outside the texture, or an offset or pitch that is not
    /// aligned as the device's properties ask.
    pub fn copy_buffer_to_texture(
        &mut self,
        src: &Buffer<D>,
        layout: BufferLayout,
        dst: &Texture<D>,
        region: TextureRegion,
    ) -> Result<(), Error> {
        self.check_texels(src, layout, dst, region)?;
        self.use_resource(src, Subresource::All, State::COPY_SRC)?;
        self.use_resource(dst, subresource(dst, region), State::COPY_DST)?;
        self.barriers();
        let layout = BufferLayout { offset: src.offset() + layout.offset, ..layout };
        self.raw().copy_buffer_to_texture(src.raw(), layout, dst.raw(), region);
        Ok(())
    }

    /// Copies texels from a texture to a buffer, barriers included. `layout.offset` counts from
    /// the beginning of `dst`.
    ///
    /// # Errors
    /// As [`copy_buffer_to_texture`](Self::copy_buffer_to_texture).
    pub fn copy_texture_to_buffer(
        &mut self,
        src: &Texture<D>,
        region: TextureRegion,
        dst: &Buffer<D>,
        layout: BufferLayout,
    ) -> Result<(), Error> {
        self.check_texels(dst, layout, src, region)?;
        self.use_resource(src, subresource(src, region), State::COPY_SRC)?;
        self.use_resource(dst, Subresource::All, State::COPY_DST)?;
        self.barriers();
        let layout = BufferLayout { offset: dst.offset() + layout.offset, ..layout };
        self.raw().copy_texture_to_buffer(src.raw(), region, dst.raw(), layout);
        Ok(())
    }

    /// Checks that a copy stays within both and is aligned: on a real device the bytes behind a
    /// buffer's range belong to somebody else.
    fn check_texels(
        &self,
        buffer: &Buffer<D>,
        layout: BufferLayout,
        texture: &Texture<D>,
        region: TextureRegion,
    ) -> Result<(), Error> {
        let refuse = |name: &Name, rule, value, limit| {
            let source = DeviceError::InvalidCall { rule, value, limit };
            Err(Error::Device { name: name.clone(), source })
        };
        if let Err((rule, value, limit)) = region.check(texture.info()) {
            return refuse(texture.name(), rule, value, limit);
        }
        // Whole blocks, too, where the device asks for less.
        let block = u64::from(texture.info().format.block().bytes);
        let align_offset = self.shared.alignments.copy_offset.max(block);
        let align_pitch = self.shared.alignments.copy_pitch.max(block);
        let offset = buffer.offset().saturating_add(layout.offset);
        if !offset.is_multiple_of(align_offset) {
            let rule = "the offset of texels must be aligned (see BufferDesc::alignment)";
            return refuse(buffer.name(), rule, offset, align_offset);
        }
        if !layout.row_pitch.is_multiple_of(align_pitch) {
            let rule = "the row pitch of texels must be aligned";
            return refuse(buffer.name(), rule, layout.row_pitch, align_pitch);
        }
        let bytes = layout.bytes(texture.info().format, region.extent).unwrap_or(u64::MAX);
        check_range(buffer, layout.offset, bytes)
    }
}

impl<D: Device> Drop for Recording<D> {
    fn drop(&mut self) {
        if let Some(Open { mut list, tracker }) = self.open.take() {
            // A list must be closed before it can be begun again; what was wrong with it is moot.
            let _discarded = list.close();
            self.shared.contexts.return_unused(self.queue, list);
            self.shared.contexts.return_tracker(self.queue, tracker);
            self.shared.recordings.close(self.id);
            self.shared.settle();
        }
    }
}

fn subresource<D: Device>(texture: &Texture<D>, region: TextureRegion) -> Subresource {
    Subresource::One(region.layer.saturating_mul(texture.info().mips).saturating_add(region.mip))
}

fn check_range<D: Device>(buffer: &Buffer<D>, offset: u64, size: u64) -> Result<(), Error> {
    let capacity = buffer.size();
    let is_inside = offset.checked_add(size).is_some_and(|end| end <= capacity);
    let name = || buffer.name().clone();
    if is_inside { Ok(()) } else { Err(Error::OutOfRange { name: name(), offset, size, capacity }) }
}

/// A state error that is nobody's resource in particular.
pub(super) fn state_error(source: StateError) -> Error {
    Error::State { name: Name::default(), source }
}
