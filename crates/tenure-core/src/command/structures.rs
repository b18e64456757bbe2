//! Copies of acceleration structures, and their compacted sizes.

use super::Commands;
use crate::device::{CommandList, Device, QueryKind, State, Subresource};
use crate::error::StructureRule;
use crate::query::{CompactedSize, QueryTicket};
use crate::resource::{AccelerationStructure, AccelerationStructureDesc};
use crate::{Error, Name};

impl<D: Device> Commands<D> {
    /// Orders the following commands, which build, copy or trace through these structures, or build a structure of them, after
    /// all earlier commands on them, barriers included: one for each API buffer that holds any of them.
    ///
    /// A build of bottom-level structures, a build of a top-level structure over them, and a trace through that are three steps
    /// with this call between them. Structures built in one step need one call for all of them, before the first build of the
    /// step. Other resources are declared by [`use_resource`](Self::use_resource): the inputs of a build (vertices, indices,
    /// transforms, instances) in [`State::RAY_TRACING_SHADER`].
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource).
    pub fn use_structures<'a>(
        &mut self,
        structures: impl IntoIterator<Item = &'a AccelerationStructure<D>>,
    ) -> Result<(), Error> {
        self.barriers();
        for structure in structures {
            self.use_resource(structure, Subresource::All, State::ACCELERATION_STRUCTURE)?;
        }
        self.barriers();
        Ok(())
    }

    /// Queries the compacted size of a structure in bytes, barriers included. The structure must be built, with the flag that
    /// allows compaction. The result is available when the submission is complete.
    ///
    /// For many structures use [`query_compacted_sizes`](Self::query_compacted_sizes), which needs one barrier.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource) and [`write_timestamp`](Self::write_timestamp).
    #[inline(never)]
    pub fn query_compacted_size(
        &mut self,
        structure: &AccelerationStructure<D>,
    ) -> Result<QueryTicket<D, CompactedSize>, Error> {
        self.use_structures([structure])?;
        self.write_compacted_size(structure)
    }

    /// As [`query_compacted_size`](Self::query_compacted_size), for many structures; adds the tickets to
    /// `tickets`, in the same order.
    ///
    /// # Errors
    /// As [`query_compacted_size`](Self::query_compacted_size). The tickets of the structures before the refused one are added.
    pub fn query_compacted_sizes<'a>(
        &mut self,
        structures: impl IntoIterator<Item = &'a AccelerationStructure<D>, IntoIter: Clone>,
        tickets: &mut Vec<QueryTicket<D, CompactedSize>>,
    ) -> Result<(), Error> {
        let structures = structures.into_iter();
        self.use_structures(structures.clone())?;
        for structure in structures {
            tickets.push(self.write_compacted_size(structure)?);
        }
        Ok(())
    }

    /// Creates a structure of the compacted size of another, with its kind and name, and records the compacting copy, barriers
    /// included. The source may be dropped right after.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource) and
    /// [`Gpu::create_acceleration_structure`](crate::Gpu::create_acceleration_structure);
    /// [`Error::AccelerationStructure`] for a size that is larger than the structure.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{AccelerationStructureDesc, Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(4096).name("rock"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "build")?;
    /// recording.use_structures([&rock])?;
    /// let (commands, scratch) = recording.split();
    /// let scratch = scratch.build_scratch(1024)?;
    /// // On Vulkan: vkCmdBuildAccelerationStructuresKHR with the address of the scratch.
    /// commands.raw().build_acceleration_structure(rock.raw(), (scratch.raw(), scratch.offset(), 1024), 1000, &[]);
    /// let size = recording.query_compacted_size(&rock)?;
    /// recording.submit()?;
    ///
    /// let size = size.wait(Duration::from_secs(1))?;
    /// let mut recording = gpu.record(Queue::Graphics, "compact")?;
    /// let small = recording.compact(&rock, size)?;
    /// drop(rock); // It lives on until the copy is done.
    /// recording.submit()?;
    /// assert_eq!((small.size(), small.name().as_str()), (1000, "rock"));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn compact(
        &mut self,
        src: &AccelerationStructure<D>,
        size: CompactedSize,
    ) -> Result<AccelerationStructure<D>, Error> {
        let dst = self.create_compacted(src, size)?;
        self.copy_structure((src, size.0), &dst, true)?;
        Ok(dst)
    }

    /// As [`compact`](Self::compact), for many structures and their sizes; adds the new ones to `compacted`, in the same order.
    /// Records one barrier per API buffer for any number of structures.
    ///
    /// # Errors
    /// As [`compact`](Self::compact); then nothing is recorded.
    pub fn compact_all<'a>(
        &mut self,
        structures: impl IntoIterator<Item = (&'a AccelerationStructure<D>, CompactedSize), IntoIter: Clone>,
        compacted: &mut Vec<AccelerationStructure<D>>,
    ) -> Result<(), Error> {
        let structures = structures.into_iter();
        let created: Result<Vec<_>, Error> =
            structures.clone().map(|(src, size)| self.create_compacted(src, size)).collect();
        let created = created?;
        self.use_structures(structures.clone().map(|(src, _)| src).chain(&created))?;
        for ((src, _), dst) in structures.zip(&created) {
            self.open.list().copy_acceleration_structure(src.raw(), dst.raw(), true);
        }
        compacted.extend(created);
        Ok(())
    }

    /// As [`compact`](Self::compact), to an existing structure.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::AccelerationStructure`] when the destination is too small, of another
    /// kind, or the source itself.
    #[inline(never)]
    pub fn compact_into(
        &mut self,
        src: &AccelerationStructure<D>,
        size: CompactedSize,
        dst: &AccelerationStructure<D>,
    ) -> Result<(), Error> {
        check_compacted(src, size)?;
        self.copy_structure((src, size.0), dst, true)
    }

    /// Copies a built structure to another one, barriers included.
    ///
    /// # Errors
    /// As [`compact_into`](Self::compact_into).
    #[inline(never)]
    pub fn copy_acceleration_structure(
        &mut self,
        src: &AccelerationStructure<D>,
        dst: &AccelerationStructure<D>,
    ) -> Result<(), Error> {
        self.copy_structure((src, src.size()), dst, false)
    }

    fn create_compacted(
        &self,
        src: &AccelerationStructure<D>,
        size: CompactedSize,
    ) -> Result<AccelerationStructure<D>, Error> {
        let _call = self.services.context.call();
        self.check_own(src)?;
        check_compacted(src, size)?;
        let desc = AccelerationStructureDesc::new(src.kind(), size.0);
        let desc = desc.name(src.name().clone()).tag(src.inner.tag());
        AccelerationStructure::create(&self.services.context, &*self.services, &desc)
    }

    fn check_own(&self, structure: &AccelerationStructure<D>) -> Result<(), Error> {
        self.check_manager(structure.inner.context(), structure.name())
    }

    fn copy_structure(
        &mut self,
        (src, needed): (&AccelerationStructure<D>, u64),
        dst: &AccelerationStructure<D>,
        compact: bool,
    ) -> Result<(), Error> {
        self.check_own(src)?;
        self.check_own(dst)?;
        let rule = match (src.kind(), dst.kind(), dst.size()) {
            _ if std::ptr::eq(src, dst) => StructureRule::Itself,
            (src, dst, _) if !src.is_compatible(dst) => StructureRule::Kinds { src, dst },
            (_, _, size) if size < needed => StructureRule::TooSmall { needed, size },
            _ => {
                self.use_structures([src, dst])?;
                self.open.list().copy_acceleration_structure(src.raw(), dst.raw(), compact);
                return Ok(());
            }
        };
        Err(broken(dst.name(), rule))
    }

    fn write_compacted_size(
        &mut self,
        structure: &AccelerationStructure<D>,
    ) -> Result<QueryTicket<D, CompactedSize>, Error> {
        let slot = self.take_slot(QueryKind::CompactedSize)?;
        let (list, queries) = self.open.list_and_queries();
        if let Some(chunk) = queries.and_then(|queries| queries.chunk(slot)) {
            let (heap, query) = (chunk.heap().raw(), chunk.index(slot.query));
            list.write_compacted_size(structure.raw(), heap, query);
        }
        self.ticket(slot)
    }
}

fn check_compacted<D: Device>(src: &AccelerationStructure<D>, size: CompactedSize) -> Result<(), Error> {
    match size.0 <= src.size() {
        true => Ok(()),
        false => {
            let rule = StructureRule::NotCompacted { compacted: size.0, size: src.size() };
            Err(broken(src.name(), rule))
        }
    }
}

fn broken(name: &Name, rule: StructureRule) -> Error {
    Error::AccelerationStructure { name: name.clone(), rule }
}
