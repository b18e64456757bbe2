//! Descriptors in heaps.

use super::{MemoryDevice, RayDevice};
#[cfg(doc)]
use crate::DescriptorLimits;
use crate::{BufferView, DescriptorHeapDesc, DescriptorKind, DeviceError, Permit, SamplerInfo, TextureView};

/// A device with heaps of descriptors.
///
/// Any thread may call the methods at any time, under their individual conditions.
pub trait DescriptorDevice: RayDevice {
    /// Contiguous descriptors (`ID3D12DescriptorHeap`; on Vulkan the views themselves, or one large set that shaders index).
    type DescriptorHeap: Send + Sync + 'static;

    /// Creates a heap of empty descriptors.
    ///
    /// # Errors
    /// A shortage; [`DeviceError::Unsupported`] for a shader-visible heap on a device without;
    /// [`DeviceError::InvalidDesc`] for a count beyond [`DescriptorLimits`];
    /// [`DeviceError::Lost`].
    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<Self::DescriptorHeap, DeviceError>;

    /// Destroys a heap of descriptors, with all descriptors in it.
    fn destroy_descriptor_heap(&self, permit: Permit<Self>, heap: Self::DescriptorHeap);

    /// Creates a descriptor at an empty index of a heap that is not shader-visible. No other thread may write or read the same
    /// index meanwhile. The descriptor does not keep the resource alive.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`] or [`DeviceError::InvalidCall`] for views that the API does not allow,
    /// [`DeviceError::Unsupported`], [`DeviceError::Lost`]; the index stays empty then.
    fn write_descriptor(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// Writes descriptors of a shader-visible heap from index `first` on. No other thread may write the same indices meanwhile,
    /// and no work in flight may read them. Does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`], [`DeviceError::Unsupported`], [`DeviceError::Lost`].
    fn fill_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError>;

    /// Empties descriptors. In a heap that is not shader-visible they are destroyed. In a shader-visible heap, `freed_by` is
    /// given if later uses are to be detected: the indices are then filled with null descriptors, on devices that support them.
    fn clear_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    );
}

/// The contents of a descriptor, created in a heap that is not shader-visible.
pub enum Descriptor<'a, D: MemoryDevice> {
    /// A view of a buffer.
    Buffer {
        /// The buffer.
        resource: &'a D::Resource,
        /// Range and access.
        view: BufferView,
    },
    /// A view of a texture.
    Texture {
        /// The texture.
        resource: &'a D::Resource,
        /// Subresources and use.
        view: TextureView,
    },
    /// A sampler.
    Sampler(SamplerInfo),
}

impl<D: MemoryDevice> Descriptor<'_, D> {
    /// The kind of heap for it.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        match self {
            Self::Buffer { .. } => DescriptorKind::Resource,
            Self::Texture { view, .. } => view.access.kind(),
            Self::Sampler(_) => DescriptorKind::Sampler,
        }
    }
}

/// The source of a shader-visible descriptor.
pub enum DescriptorSource<'a, D: DescriptorDevice> {
    /// A descriptor of a heap that is not shader-visible.
    Copy {
        /// The heap.
        heap: &'a D::DescriptorHeap,
        /// The descriptor's index in the heap.
        index: u32,
    },
    /// A texture view combined with a sampler, each a descriptor of a heap that is not shader-visible; for sets only.
    Combined {
        /// The heap of the view.
        views: &'a D::DescriptorHeap,
        /// The view's index in its heap.
        view: u32,
        /// The heap of the sampler.
        samplers: &'a D::DescriptorHeap,
        /// The sampler's index in its heap.
        sampler: u32,
    },
    /// An acceleration structure to trace rays through; on Vulkan for sets only.
    Structure(&'a D::AccelerationStructure),
    /// Constants in a buffer; the offset must be aligned for constants, and on Direct3D 12 the size, too.
    Constants {
        /// The buffer.
        resource: &'a D::Resource,
        /// Offset in bytes.
        offset: u64,
        /// Size in bytes.
        size: u64,
    },
}
