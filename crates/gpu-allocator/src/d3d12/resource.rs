//! Resources created together with their memory.

use tenure_heap::{HeapDeviceError as _, run_caught};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT, D3D12_CLEAR_VALUE, D3D12_HEAP_FLAG_NONE, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES,
    D3D12_MIP_REGION, D3D12_RESOURCE_ALLOCATION_INFO, D3D12_RESOURCE_DESC, D3D12_RESOURCE_DESC1,
    D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_STATES,
    ID3D12Device, ID3D12Device10, ID3D12Resource,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;
use windows::core::Error;

use super::heaps::{GPU_ONLY, heap_properties, order};
use super::{
    Allocation, AllocationCreateDesc, Allocator, ID3D12DeviceVersion, ResourceCreateDesc,
    ResourceStateOrBarrierLayout, ResourceType,
};
use crate::{AllocationError, MemoryLocation, Result};

/// Statistics of committed resources.
#[derive(Debug)]
pub struct CommittedAllocationStatistics {
    /// The number of live resources.
    pub num_allocations: usize,
    /// Their total bytes.
    pub total_size: u64,
}

/// A resource with its memory, freed by [`Allocator::free_resource`].
#[derive(Debug)]
pub struct Resource {
    name: String,
    /// Its memory, unless it is committed.
    pub allocation: Option<Allocation>,
    resource: Option<ID3D12Resource>,
    /// The access by CPU and GPU.
    pub memory_location: MemoryLocation,
    /// Bytes.
    pub size: u64,
    /// The bytes in the statistics of committed resources.
    committed: Option<u64>,
}

impl Resource {
    /// The Direct3D resource.
    ///
    /// # Panics
    /// Never: only [`Allocator::free_resource`] takes it out, and consumes the `Resource`.
    pub fn resource(&self) -> &ID3D12Resource {
        let Some(resource) = &self.resource else { unreachable!("freeing consumes the resource") };
        resource
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if self.resource.is_some() {
            run_caught(|| {
                log::warn!(
                    "`{}` was dropped without `Allocator::free_resource`: its memory leaks",
                    self.name
                );
            });
        }
    }
}

/// The call that creates a resource, by its initial state or layout and the device's version.
enum Way<'a> {
    State(&'a ID3D12Device, D3D12_RESOURCE_STATES),
    Layout(&'a ID3D12Device10, D3D12_BARRIER_LAYOUT, Option<&'a [DXGI_FORMAT]>),
}

/// # Errors
/// The original's errors, but before anything is created.
fn way<'a>(device: &'a ID3D12DeviceVersion, desc: &ResourceCreateDesc<'a>) -> Result<Way<'a>> {
    use ResourceStateOrBarrierLayout::{BarrierLayout, ResourceState};
    let formats = desc.castable_formats;
    match (device, desc.initial_state_or_layout) {
        (_, ResourceState(_)) if !formats.is_empty() => {
            Err(AllocationError::CastableFormatsRequiresEnhancedBarriers)
        }
        (device, ResourceState(state)) => Ok(Way::State(device, state)),
        (ID3D12DeviceVersion::Device12(device), BarrierLayout(layout)) => {
            Ok(Way::Layout(device.into(), layout, Some(formats)))
        }
        (_, BarrierLayout(_)) if !formats.is_empty() => {
            Err(AllocationError::CastableFormatsRequiresAtLeastDevice12)
        }
        (ID3D12DeviceVersion::Device10(device), BarrierLayout(layout)) => {
            Ok(Way::Layout(device, layout, None))
        }
        (ID3D12DeviceVersion::Device(_), BarrierLayout(_)) => {
            Err(AllocationError::BarrierLayoutNeedsDevice10)
        }
    }
}

fn desc1(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
    }
}

/// The requirements of a resource.
fn needs(device: &ID3D12DeviceVersion, desc: &ResourceCreateDesc<'_>) -> D3D12_RESOURCE_ALLOCATION_INFO {
    let ID3D12DeviceVersion::Device12(device) = device else {
        // SAFETY: a query about a description that outlives the call.
        return unsafe { device.GetResourceAllocationInfo(0, core::slice::from_ref(desc.resource_desc)) };
    };
    let raw = desc1(desc.resource_desc);
    let count = u32::try_from(desc.castable_formats.len()).unwrap_or(0);
    let formats = desc.castable_formats.as_ptr();
    let (count, formats) = (&raw const count, &raw const formats);
    let is_castable = !desc.castable_formats.is_empty();
    // SAFETY: one description with one list of formats; both outlive the call.
    unsafe {
        device.GetResourceAllocationInfo3(
            0,
            1,
            &raw const raw,
            is_castable.then_some(count),
            is_castable.then_some(formats),
            None,
        )
    }
}

fn pointer(clear: Option<&D3D12_CLEAR_VALUE>) -> Option<*const D3D12_CLEAR_VALUE> {
    clear.map(|value| -> *const _ { value })
}

impl Allocator {
    /// Creates a resource, to be freed by [`free_resource`](Self::free_resource).
    ///
    /// Known driver faults are avoided: see the [crate's documentation](crate). A placed resource may therefore
    /// become committed ([`Resource::allocation`] is then `None`), and an array may have additional layers, which
    /// must not be used.
    ///
    /// # Errors
    /// Those of [`allocate`](Self::allocate), and for an initial layout or castable formats that the device does not
    /// support. Nothing is created then.
    pub fn create_resource(&mut self, desc: &ResourceCreateDesc<'_>) -> Result<Resource> {
        // Checked before anything is created.
        way(&self.device, desc)?;
        let treated = self.engine.device().faults().treat(desc.resource_desc);
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        let is_target = (treated.desc.Flags & targets).0 != 0;
        // The runtime refuses clear values of others. The original passes none for placed resources.
        let clear_value = desc.clear_value.filter(|_| is_target && treated.takes_clear_value());
        let desc = &ResourceCreateDesc { resource_desc: &treated.desc, clear_value, ..*desc };
        let info = needs(&self.device, desc);
        match *desc.resource_type {
            ResourceType::Committed { heap_properties, heap_flags } => {
                self.create_committed(desc, &info, heap_properties, treated.heap_flags(heap_flags))
            }
            ResourceType::Placed if treated.is_committed() => self.create_alone(desc, &info),
            ResourceType::Placed => self.create_placed(desc, &info),
        }
    }

    /// Commits a resource that must not be placed, in the first memory type that accepts it.
    fn create_alone(
        &mut self,
        desc: &ResourceCreateDesc<'_>,
        info: &D3D12_RESOURCE_ALLOCATION_INFO,
    ) -> Result<Resource> {
        // Windows' and Wine's results for a description that the runtime does not accept.
        if matches!(info.SizeInBytes, 0 | u64::MAX) {
            return Err(AllocationError::InvalidAllocationCreateDesc);
        }
        for memory in order(desc.memory_location) {
            match self.create_committed(desc, info, &heap_properties(*memory), D3D12_HEAP_FLAG_NONE) {
                Err(AllocationError::OutOfMemory) => {}
                answer => return answer,
            }
        }
        Err(AllocationError::OutOfMemory)
    }

    fn create_committed(
        &mut self,
        desc: &ResourceCreateDesc<'_>,
        info: &D3D12_RESOURCE_ALLOCATION_INFO,
        heap_properties: &D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
    ) -> Result<Resource> {
        let clear = pointer(desc.clear_value);
        let mut made: Option<ID3D12Resource> = None;
        let answer = match way(&self.device, desc)? {
            // SAFETY: all pointers are to data that outlives the call.
            Way::State(device, state) => unsafe {
                let raw: *const D3D12_RESOURCE_DESC = desc.resource_desc;
                device.CreateCommittedResource(heap_properties, heap_flags, raw, state, clear, &mut made)
            },
            Way::Layout(device, layout, formats) => {
                let raw = desc1(desc.resource_desc);
                // SAFETY: as above.
                unsafe {
                    device.CreateCommittedResource3(
                        heap_properties,
                        heap_flags,
                        &raw const raw,
                        layout,
                        clear,
                        None,
                        formats,
                        &mut made,
                    )
                }
            }
        };
        let size = info.SizeInBytes;
        let resource = self.made("creating a committed resource", answer, made, size)?;
        self.committed.num_allocations += 1;
        self.committed.total_size = self.committed.total_size.saturating_add(size);
        Ok(Resource {
            name: desc.name.to_owned(),
            allocation: None,
            resource: Some(resource),
            memory_location: desc.memory_location,
            size,
            committed: Some(size),
        })
    }

    fn create_placed(
        &mut self,
        desc: &ResourceCreateDesc<'_>,
        info: &D3D12_RESOURCE_ALLOCATION_INFO,
    ) -> Result<Resource> {
        let allocation = self.allocate(&AllocationCreateDesc {
            name: desc.name,
            location: desc.memory_location,
            size: info.SizeInBytes,
            alignment: info.Alignment,
            resource_category: desc.resource_category,
        })?;
        match self.place(desc, &allocation) {
            Ok(resource) => Ok(Resource {
                name: desc.name.to_owned(),
                resource: Some(resource),
                memory_location: desc.memory_location,
                size: allocation.size(),
                allocation: Some(allocation),
                committed: None,
            }),
            Err(error) => {
                self.free(allocation)?;
                Err(error)
            }
        }
    }

    fn place(&self, desc: &ResourceCreateDesc<'_>, allocation: &Allocation) -> Result<ID3D12Resource> {
        let clear = pointer(desc.clear_value);
        // SAFETY: the resource is placed in the allocation's range, and released before it.
        let (heap, offset) = (unsafe { allocation.heap() }, allocation.offset());
        let mut made: Option<ID3D12Resource> = None;
        let answer = match way(&self.device, desc)? {
            // SAFETY: all pointers are to data that outlives the call.
            Way::State(device, state) => unsafe {
                let raw: *const D3D12_RESOURCE_DESC = desc.resource_desc;
                device.CreatePlacedResource(heap, offset, raw, state, clear, &mut made)
            },
            Way::Layout(device, layout, formats) => {
                let raw = desc1(desc.resource_desc);
                // SAFETY: as above.
                unsafe {
                    device.CreatePlacedResource2(
                        heap,
                        offset,
                        &raw const raw,
                        layout,
                        clear,
                        formats,
                        &mut made,
                    )
                }
            }
        };
        self.made("creating a placed resource", answer, made, allocation.size())
    }

    /// The created object, or the error.
    fn made(
        &self,
        call: &'static str,
        answer: Result<(), Error>,
        made: Option<ID3D12Resource>,
        size: u64,
    ) -> Result<ID3D12Resource> {
        let refusal = |error| {
            let meaning = self.engine.device().refusal(call, &error, size, GPU_ONLY);
            if meaning.is_shortage() {
                AllocationError::OutOfMemory
            } else {
                AllocationError::Internal(meaning.to_string())
            }
        };
        answer.map_err(refusal)?;
        made.ok_or_else(|| AllocationError::Internal(format!("{call}: the driver made none")))
    }

    /// Releases a resource and frees its memory.
    ///
    /// # Errors
    /// As [`free`](Self::free).
    pub fn free_resource(&mut self, mut resource: Resource) -> Result<()> {
        // The resource is released before its memory.
        drop(resource.resource.take());
        if let Some(size) = resource.committed {
            self.committed.num_allocations = self.committed.num_allocations.saturating_sub(1);
            self.committed.total_size = self.committed.total_size.saturating_sub(size);
        }
        resource.allocation.take().map_or(Ok(()), |allocation| self.free(allocation))
    }
}
