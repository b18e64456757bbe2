//! Recordings: open command lists.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Commands;
use super::submission::settle;
use crate::block_set::NotedBlocks;
use crate::descriptor_store::{RecordedChunks, RecordedSets, RetiredDescriptor};
use crate::device::{CommandList, Device, QueueId, QueueSerial};
use crate::held_objects::HeldObjects;
use crate::scratch::Scratch;
use crate::services::Services;
use crate::staging::{BuildPages, Pages};
use crate::ticket::Progress;
use crate::time::{RecordingId, SyncPoint};
use crate::unnamed::BoundResources;
use crate::{Error, Name};

/// A command list being recorded, on any thread. It derefs to its [`Commands`], which record into the list.
///
/// Every object it uses must be alive when the use is recorded, and may be dropped right after: everything dropped while a
/// recording is open survives until the recording was submitted and completed, or discarded. Dropping a recording discards it,
/// at no cost. A recording left open by mistake delays the destruction of everything dropped meanwhile; it appears in
/// [`Report::open_recordings`](crate::Report::open_recordings) by name, age and bytes.
///
/// A persistent command list that is executed many times (a bundle) is not a recording: keep it in a
/// [`Deferred`](crate::Deferred) together with shared handles (`Arc<Buffer<_>>`) of all objects it uses.
pub struct Recording<D: Device> {
    /// `None` once submitted.
    pub(super) commands: Option<Commands<D, [(); 0]>>,
    pub(super) waits: SyncPoint,
    /// A copy of the commands' name: scratch memory refers to it while the commands are borrowed.
    pub(super) name: Name,
    /// Pages of its constants, created on first use.
    pages: OnceCell<Box<Pages<D>>>,
    /// Pages of its acceleration-structure builds, created on first use.
    builds: OnceCell<Box<BuildPages<D>>>,
    chunks: RecordedChunks,
    /// The blocks of the resources in its descriptors.
    pub(super) shown: NotedBlocks,
    /// The descriptor sets, created on first use.
    sets: OnceCell<Box<RecordedSets<D>>>,
    /// The API objects of movable resources that it holds, created on first use.
    held: OnceCell<Box<HeldObjects<D>>>,
    /// The resources that it has bound, in debug builds.
    pub(super) bound: BoundResources,
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
        let mut open =
            services.lists.take_open(context, queue).map_err(|source| context.refused(&name, source))?;
        open.marks = context.markers.take(&context.clock);
        open.mark_begin(&name, None);
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
            held: OnceCell::new(),
            bound: BoundResources::default(),
            services: services.clone(),
        })
    }

    /// Splits the recording into its commands and its memory for temporary data: data in that memory can be used while
    /// commands are recorded, and not after the recording is submitted.
    ///
    /// # Panics
    /// Never: a recording has its list until it is submitted, which consumes it.
    pub fn split(&mut self) -> (&mut Commands<D>, Scratch<'_, D>) {
        let Self { commands, name, services, pages, builds, chunks, shown, sets, held, bound, .. } = self;
        let commands = match commands {
            Some(commands) => commands,
            None => unreachable!("submitting consumes the recording"),
        };
        let (id, queue) = (commands.id, commands.queue);
        let scratch = Scratch { services, pages, builds, chunks, shown, sets, held, bound, id, queue, name };
        (commands, scratch)
    }

    /// Lets the following builds reuse the scratch memory of the builds so far: records a barrier between them and returns
    /// the same bytes again. Memory that [`Scratch::build_scratch`] returned before cannot be used afterwards. Loading
    /// thousands of acceleration structures thus takes only the scratch memory used between two such calls.
    #[inline(never)]
    pub fn reuse_build_scratch(&mut self) {
        if let (Some(builds), Some(commands)) = (self.builds.get_mut(), &mut self.commands) {
            commands.open.record_pending();
            builds.reuse(|barriers| commands.open.list().barriers(barriers));
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

    /// The API objects held by the recording.
    pub(super) fn held_objects(&self) -> Option<&HeldObjects<D>> {
        self.held.get().map(|held| &**held)
    }

    /// Notes its submission in the held API objects: their resources move after it.
    pub(super) fn note_used(&mut self, at: QueueSerial) {
        if let Some(held) = self.held.get_mut() {
            held.note_used(at);
        }
    }

    /// Ends the recording, submitted as `submission`, or discarded: it no longer delays the release of other objects.
    pub(super) fn end(&mut self, id: RecordingId, submission: SyncPoint) {
        let Services { constants, builds, context, .. } = &*self.services;
        if let Some(pages) = self.pages.take() {
            constants.recycle(pages, context, submission);
        }
        if let Some(pages) = self.builds.take() {
            builds.recycle(pages, context, submission);
        }
        if let Some(held) = self.held.take() {
            context.held_objects.recycle(held);
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
    #[inline]
    fn drop(&mut self) {
        // Nearly all were submitted.
        if self.commands.is_none() {
            return;
        }
        self.discard();
    }
}

impl<D: Device> Recording<D> {
    #[cold]
    fn discard(&mut self) {
        if let Some(Commands { mut open, queue, id, holds, .. }) = self.commands.take() {
            let services = self.services.clone();
            let _call = services.context.call();
            drop(holds);
            let (queries, tickets) = (open.queries.take(), std::mem::take(&mut open.tickets));
            if let Some(marks) = open.marks.take() {
                self.services.context.markers.give_back(*marks, None);
            }
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
