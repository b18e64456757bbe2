//! Buffers and textures.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenure_core::device::{
    Allowed, BufferInfo, CallRule, DeviceError, Dimension, MemoryTypeId, ResourceDesc, TextureInfo, Usage,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_CUSTOM,
    D3D12_HEAP_TYPE_GPU_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_UPLOAD,
    D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_DIMENSION_TEXTURE3D,
    D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_RESOURCE_FLAGS, ID3D12Device, ID3D12Resource,
};
use windows::core::Interface;

use crate::Device;
use crate::device::format::{to_dxgi_format, typeless};
use crate::device::inner::Inner;
use crate::device::memory::heap::HeapCore;
use crate::device::memory::requirements::{GPU_ONLY, GPU_UPLOAD, READBACK, UPLOAD};
use crate::device::resource::reserved::Tiling;
use crate::device::swapchain::chain::Chain;

/// The memory of a resource.
pub(crate) enum Memory {
    /// Its own.
    Committed,
    /// A range of a heap, which it keeps.
    Placed(Arc<HeapCore>),
    /// The mappings of its tiles.
    Reserved(Tiling),
    /// The program's.
    Adopted,
    /// A swap chain's. The buffer keeps the chain, and is released before it.
    Presented(#[expect(dead_code, reason = "it is kept, not used")] Arc<Chain>),
}

impl Memory {
    /// True when the device did not create it.
    pub(crate) const fn is_adopted(&self) -> bool {
        matches!(self, Self::Adopted | Self::Presented(_))
    }
}

/// A buffer or a texture: an `ID3D12Resource`.
pub struct Resource {
    /// Declared before its memory: a placed resource is released before its heap.
    pub(crate) raw: ID3D12Resource,
    pub(crate) memory: Memory,
    pub(crate) desc: ResourceDesc,
    /// The type of its heap; `DEFAULT` for a reserved resource.
    pub(crate) memory_type: MemoryTypeId,
    /// GPU address of a buffer; 0: none.
    pub(crate) address: u64,
    /// Declared last: the device outlives all of its objects.
    pub(crate) device: Arc<Inner>,
}

impl Resource {
    pub(crate) fn new(
        device: &Arc<Inner>,
        raw: ID3D12Resource,
        desc: ResourceDesc,
        memory_type: MemoryTypeId,
        memory: Memory,
    ) -> Self {
        let address = match &desc {
            // SAFETY: the interface is alive, and buffers have an address.
            ResourceDesc::Buffer(_) => unsafe { raw.GetGPUVirtualAddress() },
            ResourceDesc::Texture(_) => 0,
        };
        if let Memory::Placed(heap) = &memory {
            heap.enter();
        }
        if !memory.is_adopted() {
            device.counters.resources.fetch_add(1, Ordering::Relaxed);
        }
        Self { raw, memory, desc, memory_type, address, device: Arc::clone(device) }
    }

    /// Wraps a resource of the program, for use with tenure, or for adoption (`Gpu::adopt_buffer`,
    /// `Gpu::adopt_texture`). `desc` describes it.
    ///
    /// The wrapper holds its own reference and releases it when it is destroyed: the program may keep or release
    /// its own.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if the resource is another device's, [`DeviceError::InvalidDesc`] if it does
    /// not match `desc`.
    ///
    /// ```no_run
    /// use tenure_core::device::{BufferInfo, ResourceDesc, Usage};
    /// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Resource;
    /// use tenure_d3d12::{Device, Resource};
    ///
    /// fn wrap(device: &Device, own: ID3D12Resource) -> Result<Resource, Box<dyn std::error::Error>> {
    ///     let desc = ResourceDesc::Buffer(BufferInfo::new(4096, Usage::VERTEX));
    ///     Ok(Resource::from_raw(device, own, desc)?)
    /// }
    /// ```
    pub fn from_raw(device: &Device, raw: ID3D12Resource, desc: ResourceDesc) -> Result<Self, DeviceError> {
        match &desc {
            ResourceDesc::Buffer(_) => desc.validate()?,
            // Images of a swap chain are presented, and cannot be created.
            ResourceDesc::Texture(info) => info.validate()?,
        }
        let mut owner: Option<ID3D12Device> = None;
        // SAFETY: the pointer is to a local that outlives the call.
        let answer = unsafe { raw.GetDevice(&raw mut owner) };
        if answer.is_err() || owner.is_none_or(|owner| !is_same(&owner, &device.inner.raw)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        match &desc {
            ResourceDesc::Buffer(info) => check_buffer(&raw, info)?,
            ResourceDesc::Texture(info) => check_texture(&raw, info)?,
        }
        let memory_type = memory_type(&raw);
        Ok(Self::new(&device.inner, raw, desc, memory_type, Memory::Adopted))
    }

    /// Wraps a buffer of one of tenure's swap chains.
    pub(crate) fn from_chain(
        device: &Device,
        chain: &Arc<Chain>,
        raw: ID3D12Resource,
        info: TextureInfo,
    ) -> Result<Self, DeviceError> {
        let mut wrapped = Self::from_raw(device, raw, ResourceDesc::Texture(info))?;
        wrapped.memory = Memory::Presented(Arc::clone(chain));
        Ok(wrapped)
    }

    /// The resource itself.
    #[must_use]
    pub const fn raw(&self) -> &ID3D12Resource {
        &self.raw
    }

    /// The description it was created with.
    #[must_use]
    pub const fn desc(&self) -> &ResourceDesc {
        &self.desc
    }

    /// The heap, if it is placed.
    pub(crate) const fn heap(&self) -> Option<&Arc<HeapCore>> {
        match &self.memory {
            Memory::Placed(heap) => Some(heap),
            _ => None,
        }
    }

    /// The texture description.
    pub(crate) fn texture(&self) -> Result<&TextureInfo, DeviceError> {
        match &self.desc {
            ResourceDesc::Texture(info) => Ok(info),
            ResourceDesc::Buffer(_) => Err(DeviceError::broken_rule(CallRule::IsTexture)),
        }
    }

    /// The buffer description.
    pub(crate) fn buffer(&self) -> Result<&BufferInfo, DeviceError> {
        match &self.desc {
            ResourceDesc::Buffer(info) => Ok(info),
            ResourceDesc::Texture(_) => Err(DeviceError::broken_rule(CallRule::IsBuffer)),
        }
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if let Some(heap) = self.heap() {
            heap.remove_resource();
        }
        if !self.memory.is_adopted() {
            self.device.counters.resources.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resource").field("desc", &self.desc).finish_non_exhaustive()
    }
}

/// True when both are interfaces of one object.
pub(crate) fn is_same<A: Interface, B: Interface>(one: &A, other: &B) -> bool {
    let identity = |interface: windows::core::Result<windows::core::IUnknown>| {
        interface.ok().map(|unknown| unknown.as_raw())
    };
    // The identity of a COM object is the pointer to its `IUnknown`.
    let one = identity(one.cast());
    one.is_some() && one == identity(other.cast())
}

/// Checks the usages that require flags at creation.
fn check_flags(usage: Usage, flags: D3D12_RESOURCE_FLAGS) -> Result<(), DeviceError> {
    for (needs, flag) in [
        (Usage::RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
        (Usage::DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
        (Usage::UNORDERED_ACCESS, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS),
    ] {
        if usage.contains(needs) && !flags.contains(flag) {
            return Err(DeviceError::invalid_desc(
                "usage",
                usage,
                Allowed::Rule("uses whose D3D12_RESOURCE_FLAGS the resource has"),
            ));
        }
    }
    Ok(())
}

fn check_buffer(raw: &ID3D12Resource, info: &BufferInfo) -> Result<(), DeviceError> {
    // SAFETY: the interface is alive; the description is returned by value.
    let own = unsafe { raw.GetDesc() };
    if own.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
        return Err(DeviceError::invalid_desc(
            "dimension",
            own.Dimension.0.cast_unsigned(),
            Allowed::Rule("the D3D12_RESOURCE_DIMENSION of the description"),
        ));
    }
    check_flags(info.usage, own.Flags)?;
    if info.size > own.Width {
        return Err(DeviceError::invalid_desc("size", info.size, Allowed::AtMost(own.Width)));
    }
    Ok(())
}

fn check_texture(raw: &ID3D12Resource, info: &TextureInfo) -> Result<(), DeviceError> {
    // SAFETY: the interface is alive; the description is returned by value.
    let own = unsafe { raw.GetDesc() };
    let dimension = match info.dimension {
        Dimension::D3 => D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        _ => D3D12_RESOURCE_DIMENSION_TEXTURE2D,
    };
    if own.Dimension != dimension {
        return Err(DeviceError::invalid_desc(
            "dimension",
            own.Dimension.0.cast_unsigned(),
            Allowed::Rule("the D3D12_RESOURCE_DIMENSION of the description"),
        ));
    }
    check_flags(info.usage, own.Flags)?;
    if own.Format != to_dxgi_format(info.format) && own.Format != typeless(info.format) {
        return Err(DeviceError::invalid_desc(
            "format",
            own.Format.0.cast_unsigned(),
            Allowed::Rule("the DXGI_FORMAT of the description, or its typeless one"),
        ));
    }
    for (field, value, own) in [
        ("width", info.width, own.Width),
        ("height", info.height, u64::from(own.Height)),
        ("depth_or_layers", info.depth_or_layers, u64::from(own.DepthOrArraySize)),
        ("mips", info.mips, u64::from(own.MipLevels)),
        ("samples", info.samples, u64::from(own.SampleDesc.Count)),
    ] {
        if u64::from(value) != own {
            return Err(DeviceError::invalid_desc(field, value, Allowed::Exactly(own)));
        }
    }
    Ok(())
}

/// The heap type of a resource that the program created.
fn memory_type(raw: &ID3D12Resource) -> MemoryTypeId {
    let mut heap = D3D12_HEAP_PROPERTIES::default();
    let mut flags = D3D12_HEAP_FLAGS::default();
    // SAFETY: both pointers are to locals that outlive the call. It fails for reserved resources, which only the
    // GPU accesses.
    if unsafe { raw.GetHeapProperties(Some(&raw mut heap), Some(&raw mut flags)) }.is_err() {
        return GPU_ONLY;
    }
    match heap.Type {
        D3D12_HEAP_TYPE_UPLOAD => UPLOAD,
        D3D12_HEAP_TYPE_READBACK => READBACK,
        D3D12_HEAP_TYPE_GPU_UPLOAD => GPU_UPLOAD,
        // Mapped, and without a fixed state, as GPU upload heaps are.
        D3D12_HEAP_TYPE_CUSTOM if heap.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE => GPU_UPLOAD,
        _ => GPU_ONLY,
    }
}
