//! `ResourceBarrier`: resource states.

use std::mem::ManuallyDrop;

use smallvec::SmallVec;
use tenure_core::device::{Barrier, ResourceDesc, State, Subresource};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_RESOURCE_ALIASING_BARRIER, D3D12_RESOURCE_BARRIER, D3D12_RESOURCE_BARRIER_0,
    D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, D3D12_RESOURCE_BARRIER_FLAG_NONE,
    D3D12_RESOURCE_BARRIER_TYPE_ALIASING, D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
    D3D12_RESOURCE_BARRIER_TYPE_UAV, D3D12_RESOURCE_STATES, D3D12_RESOURCE_TRANSITION_BARRIER,
    D3D12_RESOURCE_UAV_BARRIER, ID3D12Resource,
};

use crate::Device;
use crate::device::format::planes;
use crate::device::record::list::{List, borrowed};
use crate::device::record::state::to_resource_states;
use crate::device::resource::object::Resource;

type Barriers = SmallVec<[D3D12_RESOURCE_BARRIER; 16]>;

/// The driver's subresources for one of ours: one in each plane.
pub(super) fn subresources(desc: &ResourceDesc, subresource: Subresource) -> SmallVec<[u32; 2]> {
    match (desc, subresource) {
        (_, Subresource::All) => SmallVec::from_slice(&[D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES]),
        (ResourceDesc::Buffer(_), Subresource::One(index)) => SmallVec::from_slice(&[index]),
        (ResourceDesc::Texture(info), Subresource::One(index)) => {
            let count = info.subresources();
            let of_plane = |plane: u32| index.saturating_add(plane.saturating_mul(count));
            (0..planes(info.format)).map(of_plane).collect()
        }
    }
}

fn transition(
    resource: &ID3D12Resource,
    subresource: u32,
    (before, after): (D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
) -> D3D12_RESOURCE_BARRIER {
    let transition = D3D12_RESOURCE_TRANSITION_BARRIER {
        pResource: borrowed(resource),
        Subresource: subresource,
        StateBefore: before,
        StateAfter: after,
    };
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Transition: ManuallyDrop::new(transition) },
    }
}

fn unordered(resource: &ID3D12Resource) -> D3D12_RESOURCE_BARRIER {
    let unordered = D3D12_RESOURCE_UAV_BARRIER { pResource: borrowed(resource) };
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_UAV,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { UAV: ManuallyDrop::new(unordered) },
    }
}

fn aliasing(before: Option<&Resource>, after: &Resource) -> D3D12_RESOURCE_BARRIER {
    let aliasing = D3D12_RESOURCE_ALIASING_BARRIER {
        pResourceBefore: before.map_or(ManuallyDrop::new(None), |before| borrowed(&before.raw)),
        pResourceAfter: borrowed(&after.raw),
    };
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Aliasing: ManuallyDrop::new(aliasing) },
    }
}

fn translate(barrier: &Barrier<'_, Device>, out: &mut Barriers) {
    match *barrier {
        Barrier::Transition { resource, subresource, before, after, .. } => {
            let states = (to_resource_states(before), to_resource_states(after));
            match states.0 != states.1 {
                true => {
                    let moved = subresources(&resource.desc, subresource);
                    out.extend(moved.iter().map(|index| transition(&resource.raw, *index, states)));
                }
                // Accesses of other stages are in the same resource state.
                false if after.intersects(State::UNORDERED) => out.push(unordered(&resource.raw)),
                // A barrier between equal states is an error; it would do nothing.
                false => {}
            }
        }
        Barrier::Unordered { resource } => out.push(unordered(&resource.raw)),
        Barrier::Aliasing { before, after, .. } => out.push(aliasing(before, after)),
    }
}

/// Aliasing barriers first: a resource has its memory before its state changes.
fn in_order<'a, 'b>(barriers: &'a [Barrier<'b, Device>]) -> impl Iterator<Item = &'a Barrier<'b, Device>> {
    let is_aliasing = |barrier: &&Barrier<'_, Device>| matches!(barrier, Barrier::Aliasing { .. });
    let others = barriers.iter().filter(move |barrier| !is_aliasing(barrier));
    barriers.iter().filter(is_aliasing).chain(others)
}

impl List {
    pub(super) fn legacy_barriers(&self, barriers: &[Barrier<'_, Device>]) {
        let mut translated = Barriers::new();
        in_order(barriers).for_each(|barrier| translate(barrier, &mut translated));
        if !translated.is_empty() {
            self.note_command();
            // SAFETY: the list is open, and the resources, which the caller borrows to us, are alive.
            unsafe { self.raw.ResourceBarrier(&translated) };
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::TextureDesc;
    use tenure_core::device::{BufferInfo, Format, ResourceDesc, Subresource, Usage};

    use super::subresources;

    #[test]
    fn a_subresource_is_one_in_each_plane() {
        let texture = |format| {
            let desc = TextureDesc::d2(16, 16, format, Usage::DEPTH_STENCIL).mips(3).layers(2);
            ResourceDesc::Texture(desc.info)
        };
        let of = |format, which| subresources(&texture(format), which).to_vec();
        assert_eq!(of(Format::D32Float, Subresource::One(4)), [4]);
        assert_eq!(of(Format::D24UnormS8Uint, Subresource::One(4)), [4, 10]);
        assert_eq!(of(Format::D32FloatS8Uint, Subresource::One(0)), [0, 6]);
        assert_eq!(of(Format::D24UnormS8Uint, Subresource::All), [u32::MAX]);
        let buffer = ResourceDesc::Buffer(BufferInfo::new(4, Usage::VERTEX));
        assert_eq!(subresources(&buffer, Subresource::One(0)).to_vec(), [0]);
    }
}
