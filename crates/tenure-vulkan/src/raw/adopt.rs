//! Resources created by an engine, for use by tenure.

use core::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{
    BufferInfo, DeviceError, MemoryTypeId, ResourceDesc, SetBinding, TextureInfo, Usage,
};

use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::memory::{Address, Memory};
use crate::resource::{Backing, Object, Resource, Resources, VkUsage};

/// The owner of an adopted object, which destroys it and frees its memory if that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// tenure, when the resource is destroyed.
    Tenure,
    /// The program that created it, after tenure's resource is destroyed.
    Caller,
}

/// The memory of an adopted resource.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RawMemory {
    /// The allocation.
    pub memory: vk::DeviceMemory,
    /// The size in bytes.
    pub size: u64,
    /// The offset of the resource in the memory.
    pub offset: u64,
    /// The memory type.
    pub memory_type: MemoryTypeId,
    /// The mapped address of byte 0 of the allocation, if all of it is mapped.
    pub mapped: Option<NonNull<u8>>,
}

tenure_core::setters!(RawMemory { size: u64, offset: u64, memory_type: MemoryTypeId, mapped: Option<NonNull<u8>> });

impl RawMemory {
    /// An allocation of `size` bytes that is not mapped, with the resource at offset 0.
    #[must_use]
    pub const fn new(memory: vk::DeviceMemory, size: u64, memory_type: MemoryTypeId) -> Self {
        Self { memory, size, offset: 0, memory_type, mapped: None }
    }
}

/// A buffer created by the program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RawBuffer {
    /// The buffer, bound to its memory.
    pub buffer: vk::Buffer,
    /// The size, and its usage for tenure.
    pub info: BufferInfo,
    /// The usage it was created with. With `SHADER_DEVICE_ADDRESS` it has a GPU address if the device uses them;
    /// otherwise it has none.
    pub usage: vk::BufferUsageFlags,
    /// The memory, if tenure maps or frees it: see [`Resource::from_raw_buffer`].
    pub memory: Option<RawMemory>,
    /// The owner, which destroys it.
    pub ownership: Ownership,
}

tenure_core::setters!(RawBuffer { info: BufferInfo, usage: vk::BufferUsageFlags, memory: Option<RawMemory> });

impl RawBuffer {
    /// A buffer, without its memory.
    #[must_use]
    pub const fn new(
        buffer: vk::Buffer,
        info: BufferInfo,
        usage: vk::BufferUsageFlags,
        ownership: Ownership,
    ) -> Self {
        Self { buffer, info, usage, memory: None, ownership }
    }
}

/// An image created by the program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RawImage {
    /// The image, bound to its memory, with optimal tiling.
    pub image: vk::Image,
    /// The shape, and its usage for tenure.
    pub info: TextureInfo,
    /// The usage it was created with.
    pub usage: vk::ImageUsageFlags,
    /// The format it was created with.
    pub format: vk::Format,
    /// The flags it was created with.
    pub flags: vk::ImageCreateFlags,
    /// The memory, if tenure is to free it.
    pub memory: Option<RawMemory>,
    /// The owner, which destroys it.
    pub ownership: Ownership,
}

tenure_core::setters!(RawImage { flags: vk::ImageCreateFlags, memory: Option<RawMemory> });

impl RawImage {
    /// An image without flags, and without its memory.
    #[must_use]
    pub const fn new(
        image: vk::Image,
        info: TextureInfo,
        format: vk::Format,
        usage: vk::ImageUsageFlags,
        ownership: Ownership,
    ) -> Self {
        let flags = vk::ImageCreateFlags::empty();
        Self { image, info, usage, format, flags, memory: None, ownership }
    }
}

impl Resource {
    /// Adopts a buffer, for [`Gpu::adopt_buffer`](tenure_core::Gpu::adopt_buffer).
    ///
    /// Mapping it uses the address in `memory`; without one, memory that is tenure's is mapped by
    /// tenure, and memory of the caller's is not: `InvalidCall`, as without `memory`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] for a description no buffer has, [`DeviceError::MissingUsage`] for copies that the buffer was
    /// not created for, [`DeviceError::InvalidCall`] when it does not lie within its memory, or the memory type does not exist,
    /// [`DeviceError::Unsupported`] for one shared across drivers without
    /// [`QUEUE_FAMILY_FOREIGN`](crate::OptionalFeatures::QUEUE_FAMILY_FOREIGN). Then nothing is destroyed.
    ///
    /// # Safety
    /// The buffer and the memory are of `device`, and the description is correct; the address stays valid. They
    /// stay valid until tenure has destroyed the resource and dropped its mappings; then, with
    /// [`Ownership::Tenure`], tenure destroys and frees them, and the memory contains nothing else. If `device`
    /// uses queues of several families, the buffer was created with concurrent sharing among
    /// [`Device::queue_families`].
    pub unsafe fn from_raw_buffer(device: &Device, raw: RawBuffer) -> Result<Self, DeviceError> {
        let RawBuffer { buffer, info, usage, memory, ownership } = raw;
        let owner = device.resources();
        let least = info.size;
        let desc = ResourceDesc::Buffer(info);
        desc.validate()?;
        owner.check_peers(desc.usage())?;
        let is_src = usage.contains(vk::BufferUsageFlags::TRANSFER_SRC);
        check_copies(desc.usage(), is_src, usage.contains(vk::BufferUsageFlags::TRANSFER_DST))?;
        let object = Object::Buffer(buffer);
        let backing = backing(owner, memory, ownership, least)?;
        let has_address = usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        Ok(Self {
            address: has_address.then(|| owner.address_of(object)).flatten(),
            owner: owner.clone(),
            object,
            desc,
            backing,
            usage: VkUsage::Buffer(usage),
            is_ours: ownership == Ownership::Tenure,
        })
    }

    /// Adopts an image, for [`Gpu::adopt_texture`](tenure_core::Gpu::adopt_texture).
    ///
    /// # Errors
    /// As [`from_raw_buffer`](Self::from_raw_buffer).
    ///
    /// # Safety
    /// As [`from_raw_buffer`](Self::from_raw_buffer), except that images are created with exclusive
    /// sharing, unless `info` has [`Usage::ALL_QUEUES`](tenure_core::device::Usage::ALL_QUEUES). Without it,
    /// [`Usage::EXCLUSIVE`](tenure_core::device::Usage::EXCLUSIVE) is added. The description of the adoption needs the same flags:
    /// without them the manager treats an image that is only sampled and copied as shared by all queue families.
    pub unsafe fn from_raw_image(device: &Device, raw: RawImage) -> Result<Self, DeviceError> {
        let RawImage { image, mut info, usage, format, flags, memory, ownership } = raw;
        let owner = device.resources();
        info.validate()?;
        if !info.usage.contains(Usage::ALL_QUEUES) {
            info.usage |= Usage::EXCLUSIVE;
        }
        owner.check_peers(info.usage)?;
        let is_src = usage.contains(vk::ImageUsageFlags::TRANSFER_SRC);
        check_copies(info.usage, is_src, usage.contains(vk::ImageUsageFlags::TRANSFER_DST))?;
        let desc = ResourceDesc::Texture(info);
        let object = Object::Image(image);
        let least = owner.needs_of(object).memory.size;
        Ok(Self {
            owner: owner.clone(),
            object,
            desc,
            backing: backing(owner, memory, ownership, least)?,
            address: None,
            usage: VkUsage::Image(usage, format, flags),
            is_ours: ownership == Ownership::Tenure,
        })
    }
}

impl SetLayout {
    /// Adopts a layout created by the program, for tenure's pools of sets.
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] for bindings that no layout has, [`DeviceError::Unsupported`] with
    /// [descriptor buffers](crate#descriptor-buffers); then nothing is destroyed.
    ///
    /// # Safety
    /// The layout is of `device`, was made without flags, and has exactly these bindings; immutable samplers in
    /// it belong to bindings that are
    /// [`BindingKind::CombinedSampler`](tenure_core::device::BindingKind::CombinedSampler), or
    /// [`BindingKind::Sampler`](tenure_core::device::BindingKind::Sampler) and are never written. It stays valid
    /// until tenure's layout is destroyed; then, with [`Ownership::Tenure`], tenure destroys it.
    pub unsafe fn from_raw(
        device: &Device,
        layout: vk::DescriptorSetLayout,
        bindings: &[SetBinding],
        ownership: Ownership,
    ) -> Result<Self, DeviceError> {
        Self::adopted(device.descriptors(), layout, bindings, ownership == Ownership::Tenure)
    }
}

/// Copies are recorded by the manager itself, so their usages are checked.
fn check_copies(described: Usage, is_src: bool, is_dst: bool) -> Result<(), DeviceError> {
    let needs = described & (Usage::COPY_SRC | Usage::COPY_DST);
    let copies = [(Usage::COPY_SRC, is_src), (Usage::COPY_DST, is_dst)];
    let has = copies.into_iter().filter(|(_, has)| *has).fold(Usage::empty(), |all, (usage, _)| all | usage);
    if has.contains(needs) { Ok(()) } else { Err(DeviceError::MissingUsage { needs, has }) }
}

/// `least`: bytes that it takes from its offset on.
fn backing(
    owner: &Arc<Resources>,
    memory: Option<RawMemory>,
    ownership: Ownership,
    least: u64,
) -> Result<Backing, DeviceError> {
    let Some(RawMemory { memory, size, offset, memory_type, mapped }) = memory else {
        return Ok(Backing::Unknown);
    };
    owner.memory_flags(memory_type)?;
    let end = offset.checked_add(least);
    if end.is_none_or(|end| end > size) {
        return Err(DeviceError::invalid_call(
            "the resource is inside its memory",
            end.unwrap_or(u64::MAX),
            size,
        ));
    }
    let is_ours = ownership == Ownership::Tenure;
    let memory = Memory::adopt(&owner.memory, memory, size, memory_type, is_ours, mapped.map(Address::new));
    let memory = Arc::new(memory);
    Ok(if is_ours { Backing::Committed { memory, offset } } else { Backing::Placed { memory, offset } })
}
