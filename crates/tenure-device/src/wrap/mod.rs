//! Devices that wrap another.

mod forward;
mod list;

use smallvec::SmallVec;

use crate::{
    AccelerationStructureRange, Barrier, Descriptor, DescriptorSource, Device, MemoryBlock, MemoryDevice,
    ObjectRef, Permit, SetWrite, SubmitSync, TileSource, TileUpdate,
};

#[doc(hidden)]
pub use forward::contract_names;
pub use list::WrappedList;

/// A device that wraps another. [`forward_device!`](crate::forward_device) implements it, together with the contract.
///
/// Most types are those of the inner device. Lists are [`WrappedList`]s. Heaps, resources and mappings may be types of the wrapper,
/// which contain the inner ones. Such a wrapper writes the methods that create and destroy them; a missing one is a type mismatch
/// that the compiler reports for the whole macro call:
///
/// | type | methods |
/// | --- | --- |
/// | `Heap` | [`heap`](Self::heap), [`create_heap`](MemoryDevice::create_heap), [`destroy_heap`](MemoryDevice::destroy_heap) |
/// | `Resource` | [`resource`](Self::resource), [`create_committed`](MemoryDevice::create_committed), [`create_committed_with_priority`](crate::ResidencyDevice::create_committed_with_priority), [`create_placed`](MemoryDevice::create_placed), [`create_reserved`](crate::TileDevice::create_reserved), [`destroy_resource`](MemoryDevice::destroy_resource) |
/// | `Mapping` | [`map`](MemoryDevice::map) |
///
/// * The [`single_manager`](Device::single_manager) is forwarded: the inner device has one manager, wrapped or not.
/// * Memory comes from [`create_heap`](MemoryDevice::create_heap) and from both methods for committed resources. A wrapper with
///   a smaller limit lowers it in its own copy of [`Properties`](crate::Properties), such as
///   [`max_heap_size`](crate::Properties::max_heap_size): if it refuses a request within the limits as a shortage, the manager
///   releases memory and waits for the GPU.
/// * Committed and placed resources are destroyed by the same method: a wrapper that counts live allocations needs resources of
///   its own type.
/// * Work comes from [`submit_with`](crate::QueueDevice::submit_with), which [`submit`](crate::QueueDevice::submit) calls, from
///   [`submit_external`](crate::QueueDevice::submit_external) and [`update_tiles`](crate::TileDevice::update_tiles). Lists are
///   borrowed for the call, so a wrapper cannot keep a submission for later. To make a GPU appear slower, it reports less in
///   [`completed`](crate::QueueDevice::completed); [`wait`](crate::QueueDevice::wait) must still succeed, and serials that it
///   has reported as complete remain so.
pub trait Wrap: Device {
    /// The type of the inner device.
    type Inner: Device<
            DescriptorHeap = Self::DescriptorHeap,
            SetLayout = Self::SetLayout,
            SetPool = Self::SetPool,
            QueryHeap = Self::QueryHeap,
            AccelerationStructure = Self::AccelerationStructure,
            ExternalPoint = Self::ExternalPoint,
        >;

    /// The inner device.
    fn inner(&self) -> &Self::Inner;

    /// The permit for the same call of the inner device: [`Permit::checked`] if that is [`Checked`](crate::Checked), else one
    /// that is created with `unsafe`. For forwarded calls the caller has made the promise; the wrapper promises that
    /// [`inner`](Self::inner), [`heap`](Self::heap) and [`resource`](Self::resource) return the objects that it wraps.
    fn permit(permit: Permit<Self>) -> Permit<Self::Inner>;

    /// The inner heap.
    fn heap(heap: &Self::Heap) -> &<Self::Inner as MemoryDevice>::Heap;

    /// The inner resource.
    fn resource(resource: &Self::Resource) -> &<Self::Inner as MemoryDevice>::Resource;
}

/// Converts arguments that name objects to those of the inner device. For `forward_device!`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Inward;

impl Inward {
    #[inline]
    pub fn all<T, U>(items: &[T], convert: impl Fn(&T) -> U) -> SmallVec<[U; 16]> {
        items.iter().map(convert).collect()
    }

    #[inline]
    pub fn barrier<'a, W: Wrap>(barrier: &Barrier<'a, W>) -> Barrier<'a, W::Inner> {
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, transfer } => {
                let resource = W::resource(resource);
                Barrier::Transition { resource, subresource, before, after, transfer }
            }
            Barrier::Unordered { resource } => Barrier::Unordered { resource: W::resource(resource) },
            Barrier::Aliasing { before, after, from, to } => {
                Barrier::Aliasing { before: before.map(W::resource), after: W::resource(after), from, to }
            }
        }
    }

    #[inline]
    pub fn block<'a, W: Wrap>(block: &MemoryBlock<'a, W>) -> MemoryBlock<'a, W::Inner> {
        match *block {
            MemoryBlock::Heap(heap) => MemoryBlock::Heap(W::heap(heap)),
            MemoryBlock::Resource(resource) => MemoryBlock::Resource(W::resource(resource)),
        }
    }

    #[inline]
    pub fn descriptor<'a, W: Wrap>(descriptor: &Descriptor<'a, W>) -> Descriptor<'a, W::Inner> {
        match *descriptor {
            Descriptor::Buffer { resource, view } => {
                Descriptor::Buffer { resource: W::resource(resource), view }
            }
            Descriptor::Texture { resource, view } => {
                Descriptor::Texture { resource: W::resource(resource), view }
            }
            Descriptor::Sampler(info) => Descriptor::Sampler(info),
        }
    }

    #[inline]
    pub fn source<'a, W: Wrap>(source: &DescriptorSource<'a, W>) -> DescriptorSource<'a, W::Inner> {
        match *source {
            DescriptorSource::Copy { heap, index } => DescriptorSource::Copy { heap, index },
            DescriptorSource::Combined { views, view, samplers, sampler } => {
                DescriptorSource::Combined { views, view, samplers, sampler }
            }
            DescriptorSource::Structure(structure) => DescriptorSource::Structure(structure),
            DescriptorSource::Constants { resource, offset, size } => {
                DescriptorSource::Constants { resource: W::resource(resource), offset, size }
            }
        }
    }

    #[inline]
    pub fn write<'a, W: Wrap>(write: &SetWrite<'a, W>) -> SetWrite<'a, W::Inner> {
        let SetWrite { binding, element, ref source } = *write;
        SetWrite { binding, element, source: Self::source(source) }
    }

    #[inline]
    pub fn range<'a, W: Wrap>(
        range: &AccelerationStructureRange<'a, W>,
    ) -> AccelerationStructureRange<'a, W::Inner> {
        let AccelerationStructureRange { buffer, offset, size, kind } = *range;
        AccelerationStructureRange { buffer: W::resource(buffer), offset, size, kind }
    }

    #[inline]
    pub fn update<'a, W: Wrap>(update: &TileUpdate<'a, W>) -> TileUpdate<'a, W::Inner> {
        let TileUpdate { resource, region, source } = *update;
        let source = match source {
            TileSource::Heap { heap, offset } => TileSource::Heap { heap: W::heap(heap), offset },
            TileSource::Unmapped => TileSource::Unmapped,
            TileSource::CopyOf { resource, region } => {
                TileSource::CopyOf { resource: W::resource(resource), region }
            }
        };
        TileUpdate { resource: W::resource(resource), region, source }
    }

    #[inline]
    pub fn sync<'a, W: Wrap>(sync: SubmitSync<'a, W>) -> SubmitSync<'a, W::Inner> {
        let SubmitSync { waits, external_waits, external_signals, paging, signal } = sync;
        SubmitSync { waits, external_waits, external_signals, paging, signal }
    }

    #[inline]
    pub fn object<'a, W: Wrap<List = WrappedList<W>>>(object: ObjectRef<'a, W>) -> ObjectRef<'a, W::Inner> {
        match object {
            ObjectRef::Heap(heap) => ObjectRef::Heap(W::heap(heap)),
            ObjectRef::Resource(resource) => ObjectRef::Resource(W::resource(resource)),
            ObjectRef::List(list) => ObjectRef::List(list.inner()),
            ObjectRef::DescriptorHeap(heap) => ObjectRef::DescriptorHeap(heap),
            ObjectRef::SetPool(block) => ObjectRef::SetPool(block),
            ObjectRef::QueryHeap(heap) => ObjectRef::QueryHeap(heap),
            ObjectRef::AccelerationStructure(structure) => ObjectRef::AccelerationStructure(structure),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, Permit, forward_device};

    #[expect(dead_code, reason = "Clippy finds methods that the macro does not forward, in this crate only")]
    struct Wrapper<D>(D);

    forward_device! {
        impl<D: Device> Device for Wrapper<D> {
            type Inner = D;

            fn inner(&self) -> &D {
                &self.0
            }

            fn permit(_: Permit<Self>) -> Permit<D> {
                unreachable!("no call needs one")
            }
        }
    }
}
