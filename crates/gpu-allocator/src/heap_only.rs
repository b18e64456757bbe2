//! A device that makes heaps and nothing else.
//!
//! Programs on this crate create their resources themselves, so that of tenure's device contract only
//! the part about heaps is ever called.

use std::time::Duration;

use tenure_core::device::{
    Barrier, BufferLayout, CommandList, Descriptor, DescriptorHeapDesc, DescriptorSource, Device,
    DeviceError, HeapBudget, HeapDesc, ManagerSlot, Mapping, MemoryTypeId, ObjectRef, Permit, Properties,
    QueueId, QueueSerial, Requirements, ResourceDesc, SetBinding, SetWrite, Subresource, TextureRegion,
    TileLayout, TileUpdate,
};

/// The part of the contract that is called.
pub(crate) trait HeapSource: Send + Sync + 'static {
    /// A block of device memory.
    type Heap: Send + Sync + 'static;

    /// What the device is.
    fn properties(&self) -> &Properties;

    /// Takes a block of memory from the driver.
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError>;

    /// Gives it back.
    fn destroy_heap(&self, heap: Self::Heap);

    /// What may be taken, and is, by memory heap.
    fn budget(&self) -> Vec<HeapBudget>;
}

/// A source of heaps as a device.
pub(crate) struct HeapOnly<S>(pub(crate) S, ManagerSlot);

impl<S> HeapOnly<S> {
    pub(crate) fn new(source: S) -> Self {
        Self(source, ManagerSlot::default())
    }
}

/// What such a device never makes.
pub(crate) enum Never {}

const fn none<T>() -> Result<T, DeviceError> {
    Err(DeviceError::Unsupported { feature: "anything but heaps" })
}

impl Mapping for Never {
    fn size(&self) -> u64 {
        match *self {}
    }

    fn write(&self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        match *self {}
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        match *self {}
    }

    fn as_ptr(&self) -> Option<core::ptr::NonNull<u8>> {
        match *self {}
    }
}

impl<S: HeapSource> CommandList<HeapOnly<S>> for Never {
    fn begin(&mut self) -> Result<(), DeviceError> {
        match *self {}
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        match *self {}
    }

    fn barriers(&mut self, _: &[Barrier<'_, HeapOnly<S>>]) {
        match *self {}
    }

    fn copy_buffer(&mut self, _: &Never, _: u64, _: &Never, _: u64, _: u64) {
        match *self {}
    }

    fn copy_buffer_to_texture(&mut self, _: &Never, _: BufferLayout, _: &Never, _: TextureRegion) {
        match *self {}
    }

    fn copy_texture_to_buffer(&mut self, _: &Never, _: TextureRegion, _: &Never, _: BufferLayout) {
        match *self {}
    }

    fn discard(&mut self, _: &Never, _: Subresource) {
        match *self {}
    }

    fn make_visible_to_cpu(&mut self, _: tenure_core::device::State) {
        match *self {}
    }

    fn set_descriptor_heaps(&mut self, _: Option<&Never>, _: Option<&Never>) {
        match *self {}
    }
}

impl<S: HeapSource> Device for HeapOnly<S> {
    type Heap = S::Heap;
    type Resource = Never;
    type Mapping = Never;
    type List = Never;
    type DescriptorHeap = Never;
    type SetLayout = Never;
    type SetBlock = Never;

    fn properties(&self) -> &Properties {
        self.0.properties()
    }

    fn manager_slot(&self) -> &ManagerSlot {
        &self.1
    }

    fn requirements(&self, _: &ResourceDesc) -> Result<Requirements, DeviceError> {
        none()
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<S::Heap, DeviceError> {
        self.0.create_heap(desc)
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: S::Heap) {
        self.0.destroy_heap(heap);
    }

    fn create_committed(&self, _: &ResourceDesc, _: MemoryTypeId) -> Result<Never, DeviceError> {
        none()
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        _: &ResourceDesc,
        _: &S::Heap,
        _: u64,
    ) -> Result<Never, DeviceError> {
        none()
    }

    fn create_reserved(&self, _: &ResourceDesc) -> Result<Never, DeviceError> {
        none()
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Never) {
        match resource {}
    }

    fn map(&self, resource: &Never) -> Result<Never, DeviceError> {
        match *resource {}
    }

    fn gpu_address(&self, resource: &Never) -> Option<u64> {
        match *resource {}
    }

    fn tile_layout(&self, resource: &Never) -> Result<TileLayout, DeviceError> {
        match *resource {}
    }

    fn set_name(&self, _: Permit<Self>, _: ObjectRef<'_, Self>, _: &str) {}

    fn create_list(&self, _: Permit<Self>, _: QueueId) -> Result<Never, DeviceError> {
        none()
    }

    fn destroy_list(&self, _: Permit<Self>, list: Never) {
        match list {}
    }

    fn create_descriptor_heap(&self, _: &DescriptorHeapDesc) -> Result<Never, DeviceError> {
        none()
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: Never) {
        match heap {}
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &Never,
        _: u32,
        _: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        match *heap {}
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &Never,
        _: u32,
        _: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        match *heap {}
    }

    fn clear_descriptors(&self, _: Permit<Self>, heap: &Never, _: u32, _: u32, _: Option<&str>) {
        match *heap {}
    }

    fn create_set_layout(&self, _: &[SetBinding]) -> Result<Never, DeviceError> {
        none()
    }

    fn destroy_set_layout(&self, _: Permit<Self>, layout: Never) {
        match layout {}
    }

    fn create_set_block(&self, _: Permit<Self>, layout: &Never, _: u32) -> Result<Never, DeviceError> {
        match *layout {}
    }

    fn destroy_set_block(&self, _: Permit<Self>, block: Never) {
        match block {}
    }

    fn write_set(
        &self,
        _: Permit<Self>,
        block: &Never,
        _: u32,
        _: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError> {
        match *block {}
    }

    fn clear_set(&self, _: Permit<Self>, block: &Never, _: u32, _: Option<&str>) {
        match *block {}
    }

    fn submit(
        &self,
        _: Permit<Self>,
        _: QueueId,
        _: &[&Never],
        _: &[QueueSerial],
        _: u64,
    ) -> Result<(), DeviceError> {
        none()
    }

    fn update_tiles(
        &self,
        _: Permit<Self>,
        _: QueueId,
        _: &[TileUpdate<'_, Self>],
        _: &[QueueSerial],
        _: u64,
    ) -> Result<(), DeviceError> {
        none()
    }

    fn completed(&self, _: QueueId) -> Result<u64, DeviceError> {
        none()
    }

    fn wait(&self, _: QueueSerial, _: Duration) -> Result<bool, DeviceError> {
        none()
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        Ok(self.0.budget())
    }

    fn status(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
