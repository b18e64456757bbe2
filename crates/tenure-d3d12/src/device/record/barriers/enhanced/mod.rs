//! Enhanced barriers: layouts, accesses and pipeline stages.
//!
//! A texture's layout depends only on its state, so that the next barrier knows the current layout. Shader reads
//! and copies use `COMMON`, which every queue supports: copy queues, which cannot change layouts, need no
//! barrier, nor does a texture that one queue writes and another reads. Only targets, unordered access, resolves,
//! and depth reads have layouts of their own.
//!
//! Layouts of one kind of queue (`DIRECT_QUEUE_SHADER_RESOURCE` and so on) can avoid a decompression, but only
//! that kind may use a texture in them or move it out. A layout that depends only on the state cannot consider
//! later queues: a texture that a compute queue reads next would need a barrier on the graphics queue first, in a
//! separate list, between two fences. Only states that no other queue has, such as depth that is tested and
//! sampled, use one.
//!
//! All queues belong to one family: between them the fences make memory visible, and textures need no ownership
//! transfer. A change of layout is an ordinary transition, on a queue that supports both layouts. The tests
//! compare the translation with the tables of Microsoft's specification.

mod aliasing;
mod moves;
#[cfg(test)]
mod rules;
mod scope;
mod seen_textures;

pub use moves::to_barrier_layout;

use smallvec::SmallVec;
use tenure_core::device::{Barrier, DeviceError, ResourceDesc, State, Subresource, TextureInfo, Usage};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_GROUP, D3D12_BARRIER_GROUP_0, D3D12_BARRIER_SUBRESOURCE_RANGE, D3D12_BARRIER_TYPE_BUFFER,
    D3D12_BARRIER_TYPE_GLOBAL, D3D12_BARRIER_TYPE_TEXTURE, D3D12_BUFFER_BARRIER, D3D12_GLOBAL_BARRIER,
    D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, D3D12_TEXTURE_BARRIER, D3D12_TEXTURE_BARRIER_FLAG_DISCARD,
    D3D12_TEXTURE_BARRIER_FLAG_NONE,
};
use windows::core::Interface;

pub(crate) use self::aliasing::Takeovers;
use self::moves::{Move, renewal, texture_move};
use self::scope::{Scope, Stage};
pub(crate) use self::seen_textures::Seen;
use crate::Device;
use crate::device::format::planes;
use crate::device::record::list::{List, borrowed};
use crate::device::resource::object::Resource;

/// The driver's subresources for one of ours, in all planes.
///
/// A barrier that discards may name single subresources: the first edition of the specification required all of
/// them, as the page on `D3D12DDI_TEXTURE_BARRIER_FLAGS_0088` still does, and dropped that (commit 51f036f of
/// DirectX-Specs).
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

fn texture_barrier(
    resource: &Resource,
    info: &TextureInfo,
    subresource: Subresource,
    step: Move,
) -> D3D12_TEXTURE_BARRIER {
    let flags =
        if step.discard { D3D12_TEXTURE_BARRIER_FLAG_DISCARD } else { D3D12_TEXTURE_BARRIER_FLAG_NONE };
    D3D12_TEXTURE_BARRIER {
        SyncBefore: step.before.sync,
        SyncAfter: step.after.sync,
        AccessBefore: step.before.access,
        AccessAfter: step.after.access,
        LayoutBefore: step.layouts.0,
        LayoutAfter: step.layouts.1,
        pResource: borrowed(&resource.raw),
        Subresources: range(info, subresource),
        Flags: flags,
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

/// Orders earlier unordered accesses of textures before later ones. It names no texture, since that would name a
/// layout, too, and subresources without such accesses may have another layout.
fn unordered_textures(stage: Stage) -> D3D12_GLOBAL_BARRIER {
    let Scope { sync, access } = stage.of(State::UNORDERED_ACCESS);
    D3D12_GLOBAL_BARRIER { SyncBefore: sync, SyncAfter: sync, AccessBefore: access, AccessAfter: access }
}

/// Translated barriers of one call, by type as the API takes them.
#[derive(Default)]
struct Groups {
    globals: SmallVec<[D3D12_GLOBAL_BARRIER; 2]>,
    textures: SmallVec<[D3D12_TEXTURE_BARRIER; 8]>,
    buffers: SmallVec<[D3D12_BUFFER_BARRIER; 8]>,
}

/// A call of the contract, translated.
#[derive(Default)]
struct Translated<'a> {
    /// The first barriers: flushes, and the order of uses of aliased memory.
    before: Groups,
    barriers: Groups,
    /// The subresources that a command after the barriers discards.
    discards: SmallVec<[(&'a Resource, Subresource); 2]>,
    /// The barriers after the discards, to states other than those in which textures are discarded.
    after: Groups,
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
            let count = u32::try_from(count)
                .map_err(|_| DeviceError::invalid_value("this number of barriers", u64::MAX))?;
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
        let mut translated = Translated::default();
        for barrier in barriers {
            if let Barrier::Aliasing { after, from, to, .. } = *barrier {
                let subresources = match &after.desc {
                    ResourceDesc::Buffer(_) => 0,
                    ResourceDesc::Texture(info) => info.subresources(),
                };
                // A texture that already owned memory in this list waits for its own uses, too.
                let is_again = subresources > 0 && self.seen.may_contain(identity(after));
                let own = if is_again { State::allowed_for(after.desc.usage()) } else { State::COMMON };
                self.takeovers.add(self.stage(), (identity(after), subresources), (from, to, own));
            }
        }
        for barrier in barriers {
            self.translate(barrier, &mut translated);
        }
        translated.before.globals.extend(self.takeovers.globals());
        self.takeovers.end_call();
        self.record_groups(&translated.before)?;
        self.record_groups(&translated.barriers)?;
        for (resource, subresource) in translated.discards {
            self.record_discard(resource, subresource)?;
        }
        self.record_groups(&translated.after)
    }

    /// Orders later copies after earlier ones. Legacy resource states do this implicitly.
    pub(crate) fn order_copies(&self) -> Result<(), DeviceError> {
        let Scope { sync, access } = self.stage().of(State::COPY_DST);
        let order = D3D12_GLOBAL_BARRIER {
            SyncBefore: sync,
            SyncAfter: sync,
            AccessBefore: access,
            AccessAfter: access,
        };
        self.record_groups(&Groups { globals: SmallVec::from_slice(&[order]), ..Groups::default() })
    }

    fn record_groups(&self, groups: &Groups) -> Result<(), DeviceError> {
        let list = groups.list()?;
        let Some(raw) = self.raw7.as_ref().filter(|_| !list.is_empty()) else { return Ok(()) };
        self.note_command();
        // SAFETY: the list is open, the resources, which the caller borrows to us, are alive, and
        // the groups point into `groups`, which outlives the call.
        unsafe { raw.Barrier(&list) };
        Ok(())
    }

    fn translate<'a>(&mut self, barrier: &Barrier<'a, Device>, translated: &mut Translated<'a>) {
        let stage = self.stage();
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, .. } => match &resource.desc {
                ResourceDesc::Buffer(_) if before.is_empty() => {}
                ResourceDesc::Buffer(_) => {
                    let barrier = buffer_barrier(resource, stage.of(before), stage.of(after));
                    translated.barriers.buffers.push(barrier);
                }
                ResourceDesc::Texture(info) if before.is_empty() => {
                    self.first_use((resource, info), subresource, after, translated);
                }
                ResourceDesc::Texture(info) => {
                    self.seen.insert(identity(resource));
                    if let Some(step) = texture_move(stage, before, after) {
                        translated.barriers.textures.push(texture_barrier(resource, info, subresource, step));
                    }
                }
            },
            Barrier::Unordered { resource } => match &resource.desc {
                ResourceDesc::Buffer(info) => {
                    let is_structure = info.usage.contains(Usage::ACCELERATION_STRUCTURE);
                    let state =
                        if is_structure { State::ACCELERATION_STRUCTURE } else { State::UNORDERED_ACCESS };
                    let both = stage.of(state);
                    translated.barriers.buffers.push(buffer_barrier(resource, both, both));
                }
                ResourceDesc::Texture(_) => {
                    if translated.barriers.globals.is_empty() {
                        translated.barriers.globals.push(unordered_textures(stage));
                    }
                }
            },
            Barrier::Aliasing { .. } => {}
        }
    }

    /// The first transition of a texture without contents. It waits for the previous owners of the memory, if
    /// this queue used it, and initialises compression: by its flag, or by a command if the memory is flushed.
    fn first_use<'a>(
        &mut self,
        (resource, info): (&'a Resource, &'a TextureInfo),
        subresource: Subresource,
        after: State,
        translated: &mut Translated<'a>,
    ) {
        let stage = self.stage();
        let Some(mut step) = texture_move(stage, State::COMMON, after) else { return };
        let count = if subresource == Subresource::All { info.subresources() } else { 1 };
        self.seen.insert(identity(resource));
        let follows = self.takeovers.transition(&identity(resource), count);
        step.before.sync = follows.map_or(step.before.sync, |follows| follows.sync);
        let barrier = |step| texture_barrier(resource, info, subresource, step);
        if !follows.is_some_and(|follows| follows.is_flushed) {
            translated.barriers.textures.push(barrier(step));
            return;
        }
        let (state, is_discarded) = renewal(stage.kind, info.usage, after);
        let (use_there, layout) = (stage.of(state), to_barrier_layout(state));
        let entered = Move { after: use_there, layouts: (step.layouts.0, layout), discard: false, ..step };
        translated.barriers.textures.push(barrier(entered));
        if is_discarded {
            translated.discards.push((resource, subresource));
        }
        if state != after
            && let Some(onwards) = texture_move(stage, state, after)
        {
            translated.after.textures.push(barrier(onwards));
        }
    }
}
