//! Moving resources, so that memory of which little is used can be given back.

use super::Gpu;
use crate::Error;
use crate::compaction::{CompactionReport, CompactionStats, MovedResource};
use crate::device::Device;
use crate::memory::CompactionBudget;

impl<D: Device> Gpu<D> {
    /// Moves [movable](crate::BufferDesc::movable) resources out of the blocks of which the least is used, as far as the
    /// budget allows, and gives back blocks that have run empty. What went to slower memory comes back as far as there is
    /// room, what was used last first, within what is left of the budget. To be called again, such as once a frame, until the
    /// report says that it is done.
    ///
    /// The GPU copies what moves, in a submission of its own, and nobody waits for it; the place that a resource leaves
    /// is free when whatever was submitted by then is complete. What a recording that is open uses waits for a later
    /// call. Uploads that are pending are submitted first.
    ///
    /// Nothing moves before there are places for all that lies in a block. How blocks are chosen:
    /// [`Pool::compact`](crate::memory::heap_pools::Pool::compact). Pools that threads share by turns lend pieces of
    /// their blocks, and a block stays as long as such a piece is in use.
    ///
    /// O(blocks of movable resources + pieces and moves of the budget). From any thread; calls of several threads take
    /// turns. A thread that asks for the place of something that moves at this moment waits until its copy is submitted.
    /// While [`submit_external`](Self::submit_external) runs work of the program's own nothing moves: what was to move waits
    /// for a later call. A copy comes after all submissions whose recordings have named what moves.
    ///
    /// # Errors
    /// Those of [`flush_uploads`](Self::flush_uploads); [`Error::Device`] when the copies cannot be submitted: everything
    /// stays where it is then, as it does inside of [`submit_external`](Self::submit_external), where this is refused.
    ///
    /// ```
    /// use tenure::{BufferDesc, CompactionBudget, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = BufferDesc::new(100 << 10, Usage::VERTEX).movable();
    /// let mut rocks = Vec::new();
    /// for _ in 0..200 {
    ///     rocks.push(gpu.create_buffer(&rock)?);
    /// }
    /// let rocks: Vec<_> = rocks.into_iter().step_by(10).collect(); // nine in ten go
    /// gpu.begin_frame()?.end()?;
    /// let before = gpu.stats().reserved;
    /// let budget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };
    /// let mut is_done = false;
    /// while !is_done {
    ///     let frame = gpu.begin_frame()?;
    ///     is_done = gpu.compact(budget)?.is_done;
    ///     frame.end()?;
    /// }
    /// assert!(gpu.stats().reserved < before / 4);
    /// # drop(rocks);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn compact(&self, budget: CompactionBudget) -> Result<CompactionReport, Error> {
        let _call = self.shared.call()?;
        self.shared.compactor.run(&self.shared.services, budget)
    }

    /// The [movable](crate::BufferDesc::movable) resources that have moved since the last call, each once, for programs that
    /// keep tables of their own of where things are. What was dropped since is not among them.
    ///
    /// What is listed is in its new place already: a recording that is opened afterwards finds it there. O(resources that
    /// have moved). From any thread; each move is in the list of one call.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tenure::{BufferDesc, CompactionBudget, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = BufferDesc::new(100 << 10, Usage::VERTEX).movable();
    /// let mut rocks = Vec::new();
    /// for _ in 0..200 {
    ///     rocks.push(gpu.create_buffer(&rock)?);
    /// }
    /// let rocks: Vec<_> = rocks.into_iter().step_by(10).collect();
    /// let rows: HashMap<_, _> = rocks.iter().enumerate().map(|(row, it)| (it.movable_id(), row)).collect();
    /// gpu.begin_frame()?.end()?;
    /// let budget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 1000 };
    /// let mut is_done = false;
    /// while !is_done {
    ///     let frame = gpu.begin_frame()?;
    ///     is_done = gpu.compact(budget)?.is_done;
    ///     frame.end()?;
    /// }
    /// for moved in gpu.take_moved() {
    ///     let row = rows[&Some(moved.id)]; // of the program's own table: to be written anew
    ///     assert_eq!(rocks[row].moves(), moved.moves);
    /// }
    /// assert!(gpu.take_moved().is_empty());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    #[inline(never)]
    pub fn take_moved(&self) -> Vec<MovedResource> {
        self.shared.compactor.take_moved()
    }

    /// What compaction came to so far, at the ends of frames and by hand. O(1).
    #[must_use]
    #[inline(never)]
    pub fn compaction_stats(&self) -> CompactionStats {
        self.shared.compactor.stats()
    }
}
