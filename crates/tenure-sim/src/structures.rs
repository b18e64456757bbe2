//! Acceleration structures: what a build, a copy and a trace do with them, and what is wrong with that.
//!
//! There is no geometry. A build notes how many bytes its result has and which structures it refers to, a
//! trace reads them all.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{
    AccelerationStructureKind, AccelerationStructureRange, CallRule, DeviceError, QueueId, ResourceDesc,
    State, Usage, check, check_structure_copy,
};

use crate::calls::CallKind;
use crate::clock::SharedClock;
use crate::command::Command;
use crate::costs::Work;
use crate::device::Device;
use crate::execute::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::interval::IntervalSet;
use crate::layout::Span;
use crate::list::List;
use crate::object::{Label, ObjectKind};
use crate::owners::Part;
use crate::record;
use crate::resource::{Resource, ResourceState};
use crate::shared::{Request, Shared};

/// What a structure holds once it is built.
#[derive(Clone)]
struct Content {
    /// Bytes that it takes when it is compacted.
    compacted: u64,
    /// The structures that its instances refer to.
    instances: Arc<[Arc<StructureState>]>,
}

/// The state of a structure, shared with the lists that use it.
pub(crate) struct StructureState {
    pub(crate) label: Arc<Label>,
    resource: Arc<ResourceState>,
    offset: u64,
    size: u64,
    kind: AccelerationStructureKind,
    pub(crate) last_use: SharedClock,
    content: Mutex<Option<Content>>,
}

impl StructureState {
    pub(crate) fn span(&self) -> Span {
        Span::Bytes { start: self.offset, end: self.offset + self.size }
    }

    pub(crate) const fn resource(&self) -> &Arc<ResourceState> {
        &self.resource
    }

    /// Rays are traced through top-level structures.
    pub(crate) fn check_traced(&self) -> Result<(), DeviceError> {
        match self.kind.is_compatible(AccelerationStructureKind::Top) {
            true => Ok(()),
            false => Err(DeviceError::broken_rule("rays are traced through a top-level structure")),
        }
    }
}

/// An acceleration structure: a handle for
/// [`Device::destroy_acceleration_structure`](tenure_core::device::Device::destroy_acceleration_structure).
/// Dropping it without that is a leak and is reported as one.
pub struct AccelerationStructure {
    pub(crate) state: Arc<StructureState>,
}

impl AccelerationStructure {
    pub(crate) fn address(&self) -> u64 {
        // Buffers of acceleration structures have addresses on every profile that has structures.
        self.state.resource.address.unwrap_or(0).saturating_add(self.state.offset)
    }
}

impl fmt::Debug for AccelerationStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccelerationStructure({})", self.state.label)
    }
}

/// Bytes of structures that were accessed since the last barrier.
#[derive(Default)]
pub(crate) struct StructureAccesses {
    written: IntervalSet,
    read: IntervalSet,
    last: Option<(QueueId, u64)>,
}

impl StructureAccesses {
    /// A barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.written.clear();
        self.read.clear();
        self.last = None;
    }
}

/// A command about acceleration structures.
pub(crate) enum StructureStep {
    Build {
        dst: Arc<StructureState>,
        scratch: Arc<ResourceState>,
        span: Span,
        compacted: u64,
        instances: Arc<[Arc<StructureState>]>,
    },
    Copy {
        src: Arc<StructureState>,
        dst: Arc<StructureState>,
        compact: bool,
    },
    Trace(Arc<StructureState>),
}

impl StructureStep {
    /// The name of the method that records it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Build { .. } => "build_acceleration_structure",
            Self::Copy { .. } => "copy_acceleration_structure",
            Self::Trace(_) => "trace_rays",
        }
    }

    /// Calls `visit` with each structure that it names.
    pub(crate) fn structures(&self, mut visit: impl FnMut(&Arc<StructureState>)) {
        match self {
            Self::Build { dst, instances, .. } => {
                visit(dst);
                instances.iter().for_each(visit);
            }
            Self::Copy { src, dst, .. } => {
                visit(src);
                visit(dst);
            }
            Self::Trace(structure) => visit(structure),
        }
    }

    /// The scratch memory that it writes.
    pub(crate) const fn scratch(&self) -> Option<(&Arc<ResourceState>, Span)> {
        match self {
            Self::Build { scratch, span, .. } => Some((scratch, *span)),
            Self::Copy { .. } | Self::Trace(_) => None,
        }
    }
}

impl Shared {
    pub(crate) fn create_acceleration_structure(
        &self,
        range: &AccelerationStructureRange<'_, Device>,
    ) -> Result<AccelerationStructure, DeviceError> {
        let request = Request { bytes: range.size, ..Request::default() };
        self.call(CallKind::CreateAccelerationStructure, request, || {
            let resource = &range.buffer.state;
            match &resource.desc {
                ResourceDesc::Buffer(info) => range.check(&self.properties, info)?,
                ResourceDesc::Texture(_) => {
                    return Err(DeviceError::invalid_value(CallRule::IsBuffer, resource.label.id));
                }
            }
            let label = self.register.create(ObjectKind::AccelerationStructure);
            let state = StructureState {
                label,
                resource: Arc::clone(resource),
                offset: range.offset,
                size: range.size,
                kind: range.kind,
                last_use: SharedClock::default(),
                content: Mutex::new(None),
            };
            Ok(AccelerationStructure { state: Arc::new(state) })
        })
    }

    pub(crate) fn destroy_acceleration_structure(&self, structure: &AccelerationStructure) {
        self.count(CallKind::DestroyAccelerationStructure, Work::default());
        let StructureState { label, last_use, content, .. } = &*structure.state;
        let call = "destroy_acceleration_structure";
        self.check_unused(label, last_use, HazardKind::DestroyedInUse, call);
        self.register.destroy(label);
        content.lock().take();
    }
}

impl List {
    /// Builds a structure whose instances, for a top-level one, refer to `instances`; its result would have
    /// `compacted` bytes if it were compacted. `scratch` is a buffer, an offset and bytes; the GPU address is
    /// aligned as the device asks.
    ///
    /// Invented, as each API has a build of its own: it writes the structure and the scratch memory, and reads
    /// the instances.
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
        let alignment = self.shared().properties.rays.scratch_alignment;
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

impl Execution<'_> {
    pub(crate) fn structure(&mut self, step: &StructureStep) {
        match step {
            StructureStep::Build { dst, scratch, span, compacted, instances } => {
                self.uses_one(scratch, *span, State::UNORDERED_ACCESS);
                for instance in instances.iter() {
                    self.read_structure(instance);
                }
                if self.write_structure(dst) {
                    let content = Content { compacted: *compacted, instances: Arc::clone(instances) };
                    *dst.content.lock() = Some(content);
                }
            }
            StructureStep::Copy { src, dst, compact } => {
                let Some(content) = self.read_structure(src) else { return };
                if !self.write_structure(dst) {
                    return;
                }
                if *compact && content.compacted > dst.size && self.is_on(Checks::STRUCTURES) {
                    let detail =
                        format!("{} B are compacted into a structure of {}", content.compacted, dst.size);
                    self.report(HazardKind::StructureTooSmall, &[&dst.label, &src.label], detail);
                }
                *dst.content.lock() = Some(content);
            }
            StructureStep::Trace(structure) => {
                self.count_dispatch();
                self.trace(structure);
            }
        }
    }

    /// Rays go through a structure: it is read, and all that it refers to.
    pub(crate) fn trace(&mut self, structure: &Arc<StructureState>) {
        let Some(content) = self.read_structure(structure) else { return };
        for instance in content.instances.iter() {
            self.read_structure(instance);
        }
    }

    /// Reads a structure; what it holds, unless it is gone or not built.
    fn read_structure(&mut self, structure: &Arc<StructureState>) -> Option<Content> {
        if !self.access_structure(structure, false) {
            return None;
        }
        let content = structure.content.lock().clone();
        if content.is_none() && self.is_on(Checks::STRUCTURES) {
            let detail = "nothing was built in it or copied to it".to_owned();
            self.report(HazardKind::UnbuiltStructure, &[&structure.label], detail);
        }
        content
    }

    /// Reads the bytes that a structure would have if it were compacted.
    pub(crate) fn compacted_size(&mut self, structure: &Arc<StructureState>) -> Option<u64> {
        self.read_structure(structure).map(|content| content.compacted)
    }

    fn write_structure(&mut self, structure: &Arc<StructureState>) -> bool {
        self.access_structure(structure, true)
    }

    /// Checks an access; false when the structure or its memory is gone.
    fn access_structure(&mut self, structure: &Arc<StructureState>, write: bool) -> bool {
        let (resource, span) = (&structure.resource, structure.span());
        if structure.label.is_destroyed() {
            if self.is_on(Checks::LIFETIME) {
                let kind = if write { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
                let detail = "it was destroyed before the command ran".to_owned();
                self.report(kind, &[&structure.label], detail);
            }
            return false;
        }
        if !self.uses_one(resource, span, State::ACCELERATION_STRUCTURE) {
            return false;
        }
        let ranges = resource.layout.ranges(&span);
        if write {
            self.check_race(resource, &ranges, true);
        }
        self.check_structure_order(structure, write);
        true
    }

    /// Builds and copies come after what read or wrote the same bytes before, reads after what wrote them.
    fn check_structure_order(&self, structure: &StructureState, write: bool) {
        if !self.is_on(Checks::STRUCTURES) {
            return;
        }
        let range = structure.offset..structure.offset + structure.size;
        let mut accesses = structure.resource.structures.lock();
        if accesses.last.is_some_and(|last| self.is_settled(last)) {
            accesses.settle();
        }
        accesses.last = Some((self.queue, self.serial));
        let is_written = accesses.written.intersects(range.clone());
        let clashes = is_written || (write && accesses.read.intersects(range.clone()));
        let set = if write { &mut accesses.written } else { &mut accesses.read };
        set.insert(range.clone());
        drop(accesses);
        if clashes {
            let was = if is_written { "written" } else { "read" };
            let detail =
                format!("bytes {}..{} were {was} before without a barrier since", range.start, range.end);
            let part = Part { resource: &structure.resource, range };
            self.report(HazardKind::MissingBarrier, &[&structure.label, &part], detail);
        }
    }
}
