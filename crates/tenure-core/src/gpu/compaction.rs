//! Compaction by the program: [`Gpu::compact`].

use super::Gpu;
use crate::Error;
use crate::compaction::{CompactionReport, CompactionStats, MovedResource};
use crate::device::Device;
use crate::memory::CompactionBudget;

impl<D: Device> Gpu<D> {
    /// Moves [movable](crate::BufferDesc::movable) resources out of the emptiest blocks, as far as the budget allows, and frees
    /// empty blocks. With the rest of the budget, moves spilled resources back to video memory as far as there is room, the
    /// last used first. Call it repeatedly, such as once a frame, until the report says that it is done.
    ///
    /// The GPU copies the moving resources in a separate submission, without a wait by the CPU; the place that a resource
    /// leaves is free when all submissions made by then are complete. Resources used by an open recording wait for a later
    /// call. Pending uploads are submitted first.
    ///
    /// Nothing moves out of a block before there are places for all of its resources. How blocks are chosen:
    /// [`Pool::compact`](crate::memory::heap_pools::Pool::compact). Pools divided into shards lend pieces of their blocks to
    /// threads, and a block stays while such a piece is in use.
    ///
    /// O(blocks of movable resources + pieces and moves of the budget). From any thread; calls of several threads take turns. A
    /// thread that asks for the place of a moving resource waits until its copy is submitted. While
    /// [`submit_external`](Self::submit_external) runs, nothing moves: planned moves wait for a later call. A copy comes after
    /// all submissions whose recordings have named the resource.
    ///
    /// # Errors
    /// The errors of [`flush_uploads`](Self::flush_uploads); [`Error::Device`] when the copies cannot be submitted: all
    /// resources stay in their places then. A call inside [`submit_external`](Self::submit_external) is refused, with the same
    /// effect.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, compaction::CompactionBudget, sim};
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

    /// The [movable](crate::BufferDesc::movable) resources that have moved since the last call, each once, for programs with
    /// their own tables of resource locations. Resources dropped since are not listed.
    ///
    /// Every listed resource is in its new place already: a recording opened afterwards uses it there. O(resources that have
    /// moved). From any thread; each move is in the list of one call.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tenure::{BufferDesc, Config, Gpu, Usage, compaction::CompactionBudget, sim};
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

    /// Cumulative compaction statistics, of the ends of frames and of calls of [`compact`](Self::compact). O(1).
    #[must_use]
    #[inline(never)]
    pub fn compaction_stats(&self) -> CompactionStats {
        self.shared.compactor.stats()
    }
}
