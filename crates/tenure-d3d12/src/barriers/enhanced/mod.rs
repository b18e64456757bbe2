//! Enhanced barriers: layouts, accesses and pipeline stages.
//!
//! A texture's layout follows from its state alone, so that whoever moves it next knows where it
//! is. What shaders read and copies use is in `COMMON`, which every queue can use as it is: copy
//! queues, which cannot change layouts, need no help, and neither does what one queue fills and
//! another reads. Only targets, unordered access, resolves, and depth that is read have layouts of
//! their own.
//!
//! Layouts of one kind of queue (`DIRECT_QUEUE_SHADER_RESOURCE` and so on) can spare hardware a
//! decompression, but only that kind may use a texture in them or move it out. A layout that follows
//! from the state alone cannot know which queues come later: a texture that a compute queue reads
//! next would need a barrier on the graphics queue first, in a list of its own, between two fences.
//! Only states that no other queue has, such as depth that is read and sampled, use one.
//!
//! Between queues the fences make memory visible; what is left of a transfer is a change of
//! layout, which one of the two queues makes: the graphics queue, which knows all layouts, else the
//! compute queue. Not executed on Windows yet: the tests hold the translation to the compatibility
//! tables of Microsoft's specification.

mod aliasing;
mod moves;
#[cfg(test)]
mod rules;
mod scope;

pub use moves::to_barrier_layout;

use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, DeviceError, QueueTransfer, ResourceDesc, State, Subresource, TextureInfo, Usage,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_GROUP, D3D12_BARRIER_GROUP_0, D3D12_BARRIER_SUBRESOURCE_RANGE, D3D12_BARRIER_SYNC_ALL,
    D3D12_BARRIER_TYPE_BUFFER, D3D12_BARRIER_TYPE_GLOBAL, D3D12_BARRIER_TYPE_TEXTURE, D3D12_BUFFER_BARRIER,
    D3D12_GLOBAL_BARRIER, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, D3D12_TEXTURE_BARRIER,
    D3D12_TEXTURE_BARRIER_FLAG_DISCARD, D3D12_TEXTURE_BARRIER_FLAG_NONE,
};
use windows::core::Interface;

use self::aliasing::Takeovers;
use self::moves::{Move, Part, part_of, texture_move, unordered};
use self::scope::{Scope, Stage};
use crate::Device;
use crate::error::invalid;
use crate::formats::planes;
use crate::list::{List, borrowed};
use crate::resource::Resource;

/// The subresources of the driver that one of ours stands for, in all planes.
fn range(info: &TextureInfo, subresource: Subresource) -> D3D12_BARRIER_SUBRESOURCE_RANGE {
    let everything = D3D12_BARRIER_SUBRESOURCE_RANGE {
        IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        ..Default::default()
    };
    match subresource {
        Subresource::All => everything,
        Subresource::One(index) => D3D12_BARRIER_SUBRESOURCE_RANGE {
            IndexOrFirstMipLevel: index % info.mips.max(1),
            NumMipLevels: 1,
            FirstArraySlice: index / info.mips.max(1),
            NumArraySlices: 1,
            FirstPlane: 0,
            NumPlanes: planes(info.format),
        },
    }
}

/// Usages whose texels a driver may compress, with data that has to be set up first.
const COMPRESSED: Usage = Usage::TEXTURE_ONLY.union(Usage::UNORDERED_ACCESS);

fn texture_barrier(
    resource: &Resource,
    info: &TextureInfo,
    subresource: Subresource,
    step: Move,
) -> D3D12_TEXTURE_BARRIER {
    let discards = step.discard && info.usage.intersects(COMPRESSED);
    D3D12_TEXTURE_BARRIER {
        SyncBefore: step.before.sync,
        SyncAfter: step.after.sync,
        AccessBefore: step.before.access,
        AccessAfter: step.after.access,
        LayoutBefore: step.layouts.0,
        LayoutAfter: step.layouts.1,
        pResource: borrowed(&resource.raw),
        Subresources: range(info, subresource),
        Flags: if discards { D3D12_TEXTURE_BARRIER_FLAG_DISCARD } else { D3D12_TEXTURE_BARRIER_FLAG_NONE },
    }
}

fn buffer_barrier(resource: &Resource, before: Scope, after: Scope) -> D3D12_BUFFER_BARRIER {
    D3D12_BUFFER_BARRIER {
        SyncBefore: before.sync,
        SyncAfter: after.sync,
        AccessBefore: before.access,
        AccessAfter: after.access,
        pResource: borrowed(&resource.raw),
        Offset: 0,
        Size: u64::MAX,
    }
}

/// Translated barriers, by type as the API takes them.
#[derive(Default)]
struct Groups {
    globals: SmallVec<[D3D12_GLOBAL_BARRIER; 1]>,
    textures: SmallVec<[D3D12_TEXTURE_BARRIER; 8]>,
    buffers: SmallVec<[D3D12_BUFFER_BARRIER; 8]>,
    /// Resources by their interfaces' addresses.
    takeovers: Takeovers<usize>,
}

fn identity(resource: &Resource) -> usize {
    resource.raw.as_raw().addr()
}

impl Groups {
    /// The groups that are not empty. They borrow from `self`.
    fn list(&self) -> Result<SmallVec<[D3D12_BARRIER_GROUP; 3]>, DeviceError> {
        let globals = D3D12_BARRIER_GROUP_0 { pGlobalBarriers: self.globals.as_ptr() };
        let textures = D3D12_BARRIER_GROUP_0 { pTextureBarriers: self.textures.as_ptr() };
        let buffers = D3D12_BARRIER_GROUP_0 { pBufferBarriers: self.buffers.as_ptr() };
        let mut groups = SmallVec::new();
        for (kind, count, barriers) in [
            (D3D12_BARRIER_TYPE_GLOBAL, self.globals.len(), globals),
            (D3D12_BARRIER_TYPE_TEXTURE, self.textures.len(), textures),
            (D3D12_BARRIER_TYPE_BUFFER, self.buffers.len(), buffers),
        ] {
            let count = u32::try_from(count).map_err(|_| invalid("so many barriers", u64::MAX, 0))?;
            if count > 0 {
                groups.push(D3D12_BARRIER_GROUP { Type: kind, NumBarriers: count, Anonymous: barriers });
            }
        }
        Ok(groups)
    }
}

impl List {
    fn stage(&self) -> Stage {
        Stage { kind: self.kind, is_traced: self.device.caps.acceleration_structures }
    }

    pub(super) fn enhanced_barriers(&mut self, barriers: &[Barrier<'_, Device>]) -> Result<(), DeviceError> {
        let mut groups = Groups::default();
        for barrier in barriers {
            if let Barrier::Aliasing { after, from, to, .. } = *barrier {
                let taker = (identity(after), after.desc.subresources());
                groups.takeovers.add(self.stage(), taker, (from, to));
            }
        }
        for barrier in barriers {
            self.translate(barrier, &mut groups)?;
        }
        groups.globals.extend(groups.takeovers.global());
        let list = groups.list()?;
        let Some(raw) = self.raw7.as_ref().filter(|_| !list.is_empty()) else { return Ok(()) };
        // SAFETY: the list is open, the resources, which the caller borrows to us, are alive, and
        // the groups point into `groups`, which outlives the call.
        unsafe { raw.Barrier(&list) };
        Ok(())
    }

    fn translate(&mut self, barrier: &Barrier<'_, Device>, groups: &mut Groups) -> Result<(), DeviceError> {
        let stage = self.stage();
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, transfer } => match &resource.desc {
                ResourceDesc::Buffer(_) if before.is_empty() => {}
                ResourceDesc::Buffer(_) => {
                    groups.buffers.push(buffer_barrier(resource, stage.of(before), stage.of(after)));
                }
                ResourceDesc::Texture(info) => {
                    let part = self.part(transfer, before, after)?;
                    let step = part.and_then(|part| texture_move(stage, before, after, part));
                    if let Some(step) = step {
                        let count = if subresource == Subresource::All { info.subresources() } else { 1 };
                        let step = self.after_aliasing(step, resource, count, groups);
                        groups.textures.push(texture_barrier(resource, info, subresource, step));
                    }
                }
            },
            Barrier::Unordered { resource } => match &resource.desc {
                ResourceDesc::Buffer(info) => {
                    let is_structure = info.usage.contains(Usage::ACCELERATION_STRUCTURE);
                    let state =
                        if is_structure { State::ACCELERATION_STRUCTURE } else { State::UNORDERED_ACCESS };
                    let both = stage.of(state);
                    groups.buffers.push(buffer_barrier(resource, both, both));
                }
                ResourceDesc::Texture(info) => {
                    let step = unordered(stage);
                    groups.textures.push(texture_barrier(resource, info, Subresource::All, step));
                }
            },
            Barrier::Aliasing { .. } => self.has_aliased = true,
        }
        Ok(())
    }

    fn part(
        &self,
        transfer: Option<QueueTransfer>,
        before: State,
        after: State,
    ) -> Result<Option<Part>, DeviceError> {
        let Some(transfer) = transfer else { return Ok(Some(Part::Whole)) };
        let kinds = (self.device.queue(transfer.from)?.kind, self.device.queue(transfer.to)?.kind);
        Ok(part_of(self.queue, transfer, kinds, (before, after)))
    }

    /// A first use waits for those who had its memory: known when it is in one call with the aliasing
    /// barrier, everybody when there was one earlier in this list, else nobody.
    fn after_aliasing(&self, mut step: Move, resource: &Resource, count: u32, groups: &mut Groups) -> Move {
        if step.discard {
            let earlier = self.has_aliased.then_some(D3D12_BARRIER_SYNC_ALL);
            let known = groups.takeovers.transition(&identity(resource), count);
            step.before.sync = known.or(earlier).unwrap_or(step.before.sync);
        }
        step
    }
}
