//! Recording of commands about acceleration structures.

use std::sync::Arc;

use tenure_core::device::{
    AccelerationStructureKind, CallRule, DeviceError, State, Usage, check, check_structure_copy,
};

use super::{List, record};
use crate::command::Command;
use crate::resource::Resource;
use crate::structures::{AccelerationStructure, StructureStep};

impl List {
    /// Builds a structure whose instances, for a top-level one, refer to `instances`; its result would have
    /// `compacted` bytes after compaction. `scratch` is a buffer, an offset and bytes; the GPU address has the
    /// device's alignment.
    ///
    /// An invented command, as each API has its own build: it writes the structure and the scratch memory, and
    /// reads the instances.
    pub fn build_acceleration_structure(
        &self,
        dst: &AccelerationStructure,
        scratch: (&Resource, u64, u64),
        compacted: u64,
        instances: &[&AccelerationStructure],
    ) {
        self.record(self.build(dst, scratch, compacted, instances).map(Command::Structure));
    }

    fn build(
        &self,
        dst: &AccelerationStructure,
        (scratch, offset, size): (&Resource, u64, u64),
        compacted: u64,
        instances: &[&AccelerationStructure],
    ) -> Result<StructureStep, DeviceError> {
        self.shader_state(State::ACCELERATION_STRUCTURE)?;
        let span = record::buffer_span(scratch, offset, size)?;
        let (needs, has) = (Usage::UNORDERED_ACCESS, scratch.state.desc.usage());
        if !has.contains(needs) {
            return Err(DeviceError::MissingUsage { needs, has });
        }
        let address = scratch.state.address.unwrap_or(0).saturating_add(offset);
        let alignment = self.queues.properties.rays.scratch_alignment;
        check::multiple(CallRule::Other("the scratch memory of a build is aligned"), address, alignment)?;
        check::at_most(CallRule::StructureFits, compacted, dst.state.size)?;
        let is_bottom = |structure: &&&AccelerationStructure| {
            structure.state.kind.is_compatible(AccelerationStructureKind::Bottom)
        };
        let is_top = dst.state.kind.is_compatible(AccelerationStructureKind::Top);
        if (!is_top && !instances.is_empty()) || instances.iter().filter(is_bottom).count() < instances.len()
        {
            return Err(DeviceError::broken_rule(
                "instances are of bottom-level structures, in a top-level one",
            ));
        }
        Ok(StructureStep::Build {
            dst: Arc::clone(&dst.state),
            scratch: Arc::clone(&scratch.state),
            span,
            compacted,
            instances: instances.iter().map(|structure| Arc::clone(&structure.state)).collect(),
        })
    }

    /// Traces rays through a top-level structure: reads it, and all that it refers to.
    pub fn trace_rays(&self, structure: &AccelerationStructure) {
        let checked = structure.state.check_traced();
        let checked = checked.and_then(|()| self.shader_state(State::ACCELERATION_STRUCTURE));
        let step = StructureStep::Trace(Arc::clone(&structure.state));
        self.record(checked.map(|()| Command::Structure(step)));
    }

    pub(crate) fn copy_structure(
        &self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) {
        let (from, to) = (&src.state, &dst.state);
        let checked = self.shader_state(State::ACCELERATION_STRUCTURE);
        let checked =
            checked.and_then(|()| check_structure_copy((from.kind, from.size), (to.kind, to.size), compact));
        let step = StructureStep::Copy { src: Arc::clone(from), dst: Arc::clone(to), compact };
        self.record(checked.map(|()| Command::Structure(step)));
    }
}
