//! Records probes on the simulated device. Wrappers of it use this as well.

use conformance::{Look, Through};
use tenure_core::State;
use tenure_core::device::Device;
use tenure_sim::{DescriptorAt, DescriptorHeap, List, Resource, SetPool};

/// The location of a descriptor; `offset` is the dynamic offset of constants.
fn at<'a, D>(through: &Through<'a, D>, offset: Option<u32>) -> DescriptorAt<'a>
where
    D: Device<DescriptorHeap = DescriptorHeap, SetPool = SetPool>,
{
    match (*through, offset) {
        (Through::Heap { heap, index }, _) => DescriptorAt::Heap { heap, index },
        (Through::Set { block, set, binding, element, .. }, None) => {
            DescriptorAt::Set { block, set, binding, element }
        }
        (Through::Set { block, set, binding, element, .. }, Some(offset)) => {
            DescriptorAt::Dynamic { block, set, binding, element, offset: offset.into() }
        }
    }
}

/// Records a read through a descriptor into a list of the simulated device.
pub(crate) fn record<D>(
    list: &List,
    through: &Through<'_, D>,
    look: &Look<'_, D>,
    out: &Resource,
    offset: u64,
) where
    D: Device<DescriptorHeap = DescriptorHeap, SetPool = SetPool>,
{
    let read = State::NON_PIXEL_SHADER;
    let (dynamic, state) = match look {
        Look::Constants => (None, State::VERTEX_OR_CONSTANT),
        Look::DynamicConstants { offset } => (Some(*offset), State::VERTEX_OR_CONSTANT),
        Look::Buffer | Look::TypedBuffer | Look::Texture => (None, read),
        Look::StorageBuffer | Look::TypedStorageBuffer | Look::StorageTexture => {
            (None, State::UNORDERED_ACCESS)
        }
        Look::Sampler { texture } => {
            list.sample_descriptor(at(through, None), at(texture, None), read, out, offset);
            return;
        }
        Look::CombinedSampler => {
            list.sample_descriptor(at(through, None), at(through, None), read, out, offset);
            return;
        }
    };
    list.read_descriptor(at(through, dynamic), state, out, offset, 16);
}
