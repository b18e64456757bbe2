//! Access to the API handles of views, samplers and sets.

use ash::vk;
use tenure_core::{DescriptorSet, DescriptorTable, Descriptors, Sampler, Set, View};

use crate::device::Device;

/// The API handles of a [`View`] of a texture or of a buffer. Do not destroy them; they stay valid until the view
/// is dropped and the commands recorded with it are complete.
///
/// ```
/// use ash::vk;
/// use tenure_core::View;
/// use tenure_vulkan::{Device, RawView};
///
/// fn attachment<'a>(target: &View<Device>) -> vk::RenderingAttachmentInfo<'a> {
///     vk::RenderingAttachmentInfo::default().image_view(target.image_view())
/// }
/// ```
pub trait RawView {
    /// The image view; `VK_NULL_HANDLE` for a view of a buffer.
    fn image_view(&self) -> vk::ImageView;

    /// The buffer view; `VK_NULL_HANDLE` for a view of a texture, and of bytes, which Vulkan has no object
    /// for.
    fn buffer_view(&self) -> vk::BufferView;

    /// The bytes in view; no buffer for a view of a texture, and for a typed one.
    fn buffer_info(&self) -> vk::DescriptorBufferInfo;
}

impl RawView for View<Device> {
    fn image_view(&self) -> vk::ImageView {
        self.heap().image_view(self.index()).unwrap_or_default()
    }

    fn buffer_view(&self) -> vk::BufferView {
        self.heap().buffer_view(self.index()).unwrap_or_default()
    }

    fn buffer_info(&self) -> vk::DescriptorBufferInfo {
        self.heap().buffer(self.index()).unwrap_or_default()
    }
}

/// The API handle of objects with exactly one: a [`Sampler`], a set, and the set that shaders index for a table.
/// Do not destroy, free or write it; it stays alive until its owner is dropped and the commands recorded with it
/// are complete.
pub trait RawHandle {
    /// The type.
    type Raw;

    /// The handle.
    fn raw(&self) -> Self::Raw;
}

impl RawHandle for Sampler<Device> {
    type Raw = vk::Sampler;

    fn raw(&self) -> vk::Sampler {
        self.heap().sampler(self.index()).unwrap_or_default()
    }
}

impl RawHandle for DescriptorSet<Device> {
    type Raw = vk::DescriptorSet;

    fn raw(&self) -> vk::DescriptorSet {
        self.block().set(self.index()).unwrap_or_default()
    }
}

impl RawHandle for Set<'_, Device> {
    type Raw = vk::DescriptorSet;

    fn raw(&self) -> vk::DescriptorSet {
        self.block().set(self.index()).unwrap_or_default()
    }
}

impl RawHandle for DescriptorTable<Device> {
    type Raw = vk::DescriptorSet;

    /// The set of the heap: the table begins at [`first`](DescriptorTable::first). None with
    /// [descriptor buffers](crate#descriptor-buffers).
    fn raw(&self) -> vk::DescriptorSet {
        self.heap().set().unwrap_or_default()
    }
}

impl RawHandle for Descriptors<'_, Device> {
    type Raw = vk::DescriptorSet;

    /// The set of the heap: they begin at [`first`](Descriptors::first). None with
    /// [descriptor buffers](crate#descriptor-buffers).
    fn raw(&self) -> vk::DescriptorSet {
        self.heap().set().unwrap_or_default()
    }
}
