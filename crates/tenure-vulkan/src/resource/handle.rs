//! Buffers and textures.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{BufferInfo, CallRule, DeviceError, ResourceDesc, State, TextureInfo};

use super::Resources;
use super::object::{Object, Plan};
use crate::chain::Chain;
use crate::loaded::Loaded;
use crate::memory::HandleTypes;
use crate::memory::{Mapping, Memory};
use crate::sparse::Sparse;
use crate::stages::image_layout;

/// The memory of a resource.
pub(crate) enum Backing {
    /// In dedicated memory, usually at its start.
    Committed { memory: Arc<Memory>, offset: u64 },
    /// At an offset of a heap, or of memory that the program frees.
    Placed { memory: Arc<Memory>, offset: u64 },
    /// Wherever its tiles are mapped to.
    Reserved(Box<Sparse>),
    /// The presentation engine has them.
    Swapchain(#[expect(dead_code, reason = "keeps the image alive")] Arc<Chain>),
    /// Unknown: not given by the program.
    Unknown,
}

/// A buffer or texture: a handle for
/// [`Device::destroy_resource`](tenure_core::device::MemoryDevice::destroy_resource). Dropping it
/// without that leaks the API object and its memory.
pub struct Resource {
    pub(crate) owner: Arc<Resources>,
    pub(crate) object: Object,
    pub(crate) desc: ResourceDesc,
    pub(crate) backing: Backing,
    pub(crate) address: Option<u64>,
    pub(crate) usage: VkUsage,
    /// tenure destroys the object.
    pub(crate) is_ours: bool,
}

/// The usage that an object was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VkUsage {
    Buffer(vk::BufferUsageFlags),
    Image(vk::ImageUsageFlags, vk::Format, vk::ImageCreateFlags),
}

impl Plan<'_> {
    pub(crate) const fn usage(&self) -> VkUsage {
        match self {
            Self::Buffer { usage, .. } => VkUsage::Buffer(*usage),
            Self::Image { plan, .. } => VkUsage::Image(plan.usage, plan.format, plan.flags),
        }
    }

    pub(crate) const fn external(&self) -> HandleTypes {
        match self {
            Self::Buffer { external, .. } => *external,
            Self::Image { plan, .. } => plan.external,
        }
    }
}

impl Resource {
    /// The buffer; `None` for a texture. Do not destroy it.
    #[must_use]
    pub const fn buffer(&self) -> Option<vk::Buffer> {
        match self.object {
            Object::Buffer(buffer) => Some(buffer),
            Object::Image(_) => None,
        }
    }

    /// The image; `None` for a buffer. Do not destroy it.
    #[must_use]
    pub const fn image(&self) -> Option<vk::Image> {
        match self.object {
            Object::Buffer(_) => None,
            Object::Image(image) => Some(image),
        }
    }

    /// The memory it is bound to, and its offset there; `None` for a reserved resource, and an adopted one whose
    /// memory is unknown.
    #[must_use]
    pub fn memory(&self) -> Option<(vk::DeviceMemory, u64)> {
        self.place().map(|(memory, offset)| (memory.handle, offset))
    }

    /// The usage of the buffer; `None` for a texture.
    #[must_use]
    pub const fn buffer_usage(&self) -> Option<vk::BufferUsageFlags> {
        match self.usage {
            VkUsage::Buffer(usage) => Some(usage),
            VkUsage::Image(..) => None,
        }
    }

    /// The usage of the image; `None` for a buffer.
    #[must_use]
    pub const fn image_usage(&self) -> Option<vk::ImageUsageFlags> {
        match self.usage {
            VkUsage::Buffer(_) => None,
            VkUsage::Image(usage, ..) => Some(usage),
        }
    }

    /// The format of the image; `None` for a buffer.
    #[must_use]
    pub const fn format(&self) -> Option<vk::Format> {
        match self.usage {
            VkUsage::Buffer(_) => None,
            VkUsage::Image(_, format, _) => Some(format),
        }
    }

    /// The flags that the image was created with; `None` for a buffer.
    #[must_use]
    pub const fn image_flags(&self) -> Option<vk::ImageCreateFlags> {
        match self.usage {
            VkUsage::Buffer(_) => None,
            VkUsage::Image(.., flags) => Some(flags),
        }
    }

    /// The layout of the image in a state; `UNDEFINED` for a buffer.
    #[must_use]
    pub const fn layout_in(&self, state: State) -> vk::ImageLayout {
        match self.object {
            Object::Buffer(_) => vk::ImageLayout::UNDEFINED,
            Object::Image(_) => image_layout(state, self.desc.usage()),
        }
    }

    /// The description it was created with.
    #[must_use]
    pub const fn desc(&self) -> &ResourceDesc {
        &self.desc
    }

    /// An image of a swap chain. It keeps the chain alive.
    pub(crate) fn of_swapchain(
        resources: &Arc<Resources>,
        chain: &Arc<Chain>,
        image: vk::Image,
        (info, usage, format): (TextureInfo, vk::ImageUsageFlags, vk::Format),
    ) -> Self {
        Self {
            owner: resources.clone(),
            object: Object::Image(image),
            desc: ResourceDesc::Texture(info),
            backing: Backing::Swapchain(chain.clone()),
            address: None,
            usage: VkUsage::Image(usage, format, vk::ImageCreateFlags::empty()),
            is_ours: false,
        }
    }

    /// Checks the owner, because handles are invalid on other devices.
    pub(crate) fn check_device(&self, loaded: &Loaded) -> Result<(), DeviceError> {
        loaded.check_same(&self.owner)
    }

    pub(crate) fn place(&self) -> Option<(&Arc<Memory>, u64)> {
        match &self.backing {
            Backing::Committed { memory, offset } | Backing::Placed { memory, offset } => {
                Some((memory, *offset))
            }
            Backing::Reserved(_) | Backing::Swapchain(_) | Backing::Unknown => None,
        }
    }

    pub(crate) fn as_buffer(&self) -> Result<(vk::Buffer, &BufferInfo), DeviceError> {
        match (self.object, &self.desc) {
            (Object::Buffer(buffer), ResourceDesc::Buffer(info)) => Ok((buffer, info)),
            _ => Err(DeviceError::broken_rule(CallRule::IsBuffer)),
        }
    }

    pub(crate) fn as_image(&self) -> Result<(vk::Image, &TextureInfo), DeviceError> {
        match (self.object, &self.desc) {
            (Object::Image(image), ResourceDesc::Texture(info)) => Ok((image, info)),
            _ => Err(DeviceError::broken_rule(CallRule::IsTexture)),
        }
    }

    pub(crate) fn map(&self) -> Result<Mapping, DeviceError> {
        self.owner.alive()?;
        let (_, info) = self.as_buffer()?;
        match self.place() {
            Some((memory, offset)) => Mapping::new(memory, offset, info.size),
            None => Err(DeviceError::broken_rule("only buffers with known memory are mapped")),
        }
    }

    pub(crate) fn destroy(self) {
        if self.is_ours {
            self.owner.destroy_object(self.object);
        }
        match self.backing {
            Backing::Committed { memory, .. } => memory.destroy(),
            Backing::Reserved(sparse) => self.owner.release_sparse(sparse.bytes),
            Backing::Placed { .. } | Backing::Swapchain(_) | Backing::Unknown => {}
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.object)
    }
}
