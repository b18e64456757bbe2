//! Acceleration structures: the execution and checks of builds, copies and traces.
//!
//! There is no geometry. A build notes the size of its result and the structures it refers to; a trace reads all
//! of them.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{
    AccelerationStructureKind, AccelerationStructureRange, CallRule, Device, DeviceError, ResourceDesc, State,
};

use crate::clock::SharedClock;
use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;
use crate::object::{Label, ObjectKind, debug_by_label};
use crate::resource::{Part, Resource, ResourceState};
use crate::shared::Shared;

/// The content of a built structure.
#[derive(Clone)]
struct Content {
    /// The bytes after compaction.
    compacted: u64,
    /// The structures that its instances refer to.
    instances: Arc<[Arc<StructureState>]>,
}

/// The state of a structure, shared with the lists that use it.
pub(crate) struct StructureState {
    pub(crate) label: Arc<Label>,
    resource: Arc<ResourceState>,
    offset: u64,
    pub(crate) size: u64,
    pub(crate) kind: AccelerationStructureKind,
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

    /// Refuses a structure that is not top-level, as rays cannot be traced through it.
    pub(crate) fn check_traced(&self) -> Result<(), DeviceError> {
        match self.kind.is_compatible(AccelerationStructureKind::Top) {
            true => Ok(()),
            false => Err(DeviceError::broken_rule("rays are traced through a top-level structure")),
        }
    }
}

/// An acceleration structure: a handle for
/// [`Device::destroy_acceleration_structure`](tenure_core::device::RayDevice::destroy_acceleration_structure).
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

debug_by_label!(AccelerationStructure);

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
        range: &AccelerationStructureRange<'_, impl Device<Resource = Resource>>,
    ) -> Result<AccelerationStructure, DeviceError> {
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
    }

    pub(crate) fn destroy_acceleration_structure(&self, structure: &AccelerationStructure) {
        let StructureState { label, last_use, content, .. } = &*structure.state;
        let call = "destroy_acceleration_structure";
        self.check_unused(label, last_use, HazardKind::DestroyedInUse, call);
        self.register.destroy(label);
        content.lock().take();
    }
}

impl Execution<'_> {
    pub(crate) fn structure(&mut self, step: &StructureStep) {
        match step {
            StructureStep::Build { dst, scratch, span, compacted, instances } => {
                self.uses_one(scratch, *span, State::RAY_TRACING_UNORDERED_ACCESS);
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
                if *compact && content.compacted > dst.size {
                    let detail =
                        format!("{} B are compacted into a structure of {}", content.compacted, dst.size);
                    let kind = HazardKind::StructureTooSmall;
                    self.report(Checks::STRUCTURES, kind, &[&dst.label, &src.label], detail);
                }
                *dst.content.lock() = Some(content);
            }
            StructureStep::Trace(structure) => {
                self.count_dispatch();
                self.trace(structure);
            }
        }
    }

    /// Traces rays: reads a structure and all structures it refers to.
    pub(crate) fn trace(&mut self, structure: &Arc<StructureState>) {
        let Some(content) = self.read_structure(structure) else { return };
        for instance in content.instances.iter() {
            self.read_structure(instance);
        }
    }

    /// Reads a structure; returns its content, or `None` if it is destroyed or not built.
    fn read_structure(&mut self, structure: &Arc<StructureState>) -> Option<Content> {
        if !self.access_structure(structure, false) {
            return None;
        }
        let content = structure.content.lock().clone();
        if content.is_none() {
            let detail = "nothing was built in it or copied to it";
            self.report(Checks::STRUCTURES, HazardKind::UnbuiltStructure, &[&structure.label], detail);
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

    /// Checks an access; false if the structure or its memory is destroyed.
    fn access_structure(&mut self, structure: &Arc<StructureState>, write: bool) -> bool {
        let (resource, span) = (&structure.resource, structure.span());
        if structure.label.is_destroyed() {
            let kind = if write { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
            let detail = "it was destroyed before the command ran";
            self.report(Checks::LIFETIME, kind, &[&structure.label], detail);
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

    /// Checks that builds and copies are ordered after earlier accesses to the same bytes, and reads after the
    /// writes.
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
            let kind = HazardKind::MissingBarrier;
            self.report(Checks::STRUCTURES, kind, &[&structure.label, &part], detail);
        }
    }
}
