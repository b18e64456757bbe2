//! A recording: a command list that is open.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Commands;
use super::submission::settle;
use crate::block_set::NotedBlocks;
use crate::descriptor_store::{RecordedChunks, RecordedSets, RetiredDescriptor};
use crate::device::{CommandList, Device, QueueId, QueueSerial};
use crate::places::RecordedPlaces;
use crate::scratch::Scratch;
use crate::services::Services;
use crate::staging::{BuildPages, Pages};
use crate::ticket::Progress;
use crate::time::{RecordingId, SyncPoint};
use crate::{Error, Name};

/// A command list being recorded, on any thread. It derefs to its [`Commands`], which record into the list.
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
    /// `None` once submitted.
    pub(super) commands: Option<Commands<D, [(); 0]>>,
    pub(super) waits: SyncPoint,
    /// Of the commands, too: scratch memory refers to it while they are borrowed.
    pub(super) name: Name,
    /// Of its constants, once it has any.
    pages: OnceCell<Box<Pages<D>>>,
    /// Of the builds of acceleration structures, once it has any.
    builds: OnceCell<Box<BuildPages<D>>>,
    chunks: RecordedChunks,
    /// What its descriptors show.
    pub(super) shown: NotedBlocks,
    /// Its descriptor sets, once it has any.
    sets: OnceCell<Box<RecordedSets<D>>>,
    /// Where movable resources are for it, once it has asked.
    places: OnceCell<Box<RecordedPlaces<D>>>,
    /// Declared last, as in every handle. The commands have a reference of their own, so that
    /// [`split`](Self::split) can lend both sides.
    pub(super) services: Arc<Services<D>>,
}

debug_fields!([D: Device] Recording<D>, "Recording", this, name: this.name, commands: this.commands);

impl<D: Device> Recording<D> {
    #[inline(never)]
    pub(crate) fn open(services: &Arc<Services<D>>, queue: QueueId, name: Name) -> Result<Self, Error> {
        let context = &services.context;
        context.clock.check()?;
        let open =
            services.lists.take_open(context, queue).map_err(|source| context.refused(&name, source))?;
        let id = context.recordings.open(name.clone(), context.current_frame());
        Ok(Self {
            commands: Some(Commands::new(services.clone(), open, queue, id, name.clone())),
            waits: SyncPoint::NONE,
            name,
            pages: OnceCell::new(),
            builds: OnceCell::new(),
            chunks: RecordedChunks::default(),
            shown: NotedBlocks::default(),
            sets: OnceCell::new(),
            places: OnceCell::new(),
            services: services.clone(),
        })
    }

    /// Its commands, and the memory for what only it needs, side by side: what the memory hands out
    /// can be used while commands are recorded, and not once the recording is submitted.
    ///
    /// # Panics
    /// Never: a recording has its list until it is submitted, which consumes it.
    pub fn split(&mut self) -> (&mut Commands<D>, Scratch<'_, D>) {
        let Self { commands, name, services, pages, builds, chunks, shown, sets, places, .. } = self;
        let commands = match commands {
            Some(commands) => commands,
            None => unreachable!("submitting consumes the recording"),
        };
        let id = commands.id;
        let services = &**services;
        (commands, Scratch { services, pages, builds, chunks, shown, sets, noted_places: places, id, name })
    }

    /// The builds that follow may have the scratch memory of those so far: records a barrier between them and
    /// hands the same bytes out again. What [`Scratch::build_scratch`] has handed out before cannot be used
    /// any more. So loading thousands of acceleration structures takes as much scratch memory as is used
    /// between two such calls.
    #[inline(never)]
    pub fn reuse_build_scratch(&mut self) {
        if let (Some(builds), Some(commands)) = (self.builds.get_mut(), &mut self.commands) {
            commands.open.record_pending();
            builds.reuse(|barriers| commands.open.list.barriers(barriers));
        }
    }

    /// Makes the submission wait for submissions of other queues.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] for a point that no submission will complete, [`Error::Foreign`] for
    /// one of another manager.
    #[inline(never)]
    pub fn wait_for(&mut self, point: &SyncPoint) -> Result<(), Error> {
        self.services.context.check_submitted(point)?;
        self.waits.merge(point);
        Ok(())
    }

    /// What it was told of places.
    pub(super) fn noted_places(&self) -> Option<&RecordedPlaces<D>> {
        self.places.get().map(|places| &**places)
    }

    /// Submitted: what it was told of moves after that.
    pub(super) fn note_used(&mut self, at: QueueSerial) {
        if let Some(places) = self.places.get_mut() {
            places.note_used(at);
        }
    }

    /// Submitted, as `submission`, or discarded: from now on nothing is held back for it.
    pub(super) fn end(&mut self, id: RecordingId, submission: SyncPoint) {
        let Services { constants, builds, context, .. } = &*self.services;
        if let Some(pages) = self.pages.take() {
            constants.put_back(pages, context, submission);
        }
        if let Some(pages) = self.builds.take() {
            builds.put_back(pages, context, submission);
        }
        if let Some(places) = self.places.take() {
            context.place_pool.put_back(places);
        }
        self.chunks.end(&context.descriptors, submission);
        if let Some(sets) = self.sets.take() {
            context.descriptors.releases.push_after(RetiredDescriptor::Sets(sets), submission, 0);
        }
        context.recordings.close(id);
    }
}

impl<D: Device> Deref for Recording<D> {
    type Target = Commands<D>;

    #[inline]
    fn deref(&self) -> &Commands<D> {
        match &self.commands {
            Some(commands) => commands,
            None => unreachable!("submitting consumes the recording"),
        }
    }
}

impl<D: Device> DerefMut for Recording<D> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Commands<D> {
        match &mut self.commands {
            Some(commands) => commands,
            None => unreachable!("submitting consumes the recording"),
        }
    }
}

impl<D: Device> Drop for Recording<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(Commands { mut open, queue, id, holds, .. }) = self.commands.take() {
            let services = self.services.clone();
            let _call = services.context.call();
            drop(holds);
            let (queries, tickets) = (open.queries.take(), std::mem::take(&mut open.tickets));
            self.services.lists.discard_open(&self.services.context, queue, open);
            if let Some(queries) = queries {
                queries.end(&self.services.queries.store, None);
            }
            self.end(id, SyncPoint::NONE);
            settle(&tickets, Progress::Discarded);
            self.services.context.settle();
        }
    }
}
