//! Reading a descriptor in a shader.

use tenure_core::device::Device;

/// The location of a descriptor.
pub enum Through<'a, D: Device> {
    /// At an index of a shader-visible heap.
    Heap {
        /// The heap.
        heap: &'a D::DescriptorHeap,
        /// The index.
        index: u32,
    },
    /// In a set.
    Set {
        /// The set's layout.
        layout: &'a D::SetLayout,
        /// The block with the set.
        block: &'a D::SetPool,
        /// The number of the set in the block.
        set: u32,
        /// The binding's number.
        binding: u32,
        /// The element of the binding.
        element: u32,
    },
}

impl<D: Device> Clone for Through<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Through<'_, D> {}

/// The data that a shader reads, as four words of 32 bits.
pub enum Look<'a, D: Device> {
    /// The first four words of constants.
    Constants,
    /// The same, in a set's binding of `DynamicConstants`, which is bound with this offset.
    DynamicConstants {
        /// The offset from the begin of the view, in bytes.
        offset: u32,
    },
    /// The first four words of a raw buffer that is read.
    Buffer,
    /// The first four words of a raw buffer that could be written, too.
    StorageBuffer,
    /// The first element of a typed buffer of `R32Uint`, four times.
    TypedBuffer,
    /// The same of one that could be written, too.
    TypedStorageBuffer,
    /// Texel 0, 0 of the first mip and layer of a 2D view of an `R32Uint` texture, four times.
    Texture,
    /// The same of a view by which it could be written, too.
    StorageTexture,
    /// The value that the sampler reads in the middle of the first mip of a 2D view, found at `texture` in the
    /// same way, in the same set if it is in one, of an `Rgba8Unorm` texture: its channels, of 255.
    Sampler {
        /// The texture's descriptor.
        texture: Through<'a, D>,
    },
    /// The same, of a sampler and a texture that are one descriptor of a set.
    CombinedSampler,
}

/// A dispatch that reads through a descriptor and writes the result to a buffer.
pub struct Probe<'a, D: Device> {
    /// The location of the descriptor.
    pub through: Through<'a, D>,
    /// The kind of the descriptor.
    pub look: Look<'a, D>,
    /// A buffer in the state `UNORDERED_ACCESS`.
    pub out: &'a D::Resource,
    /// The offset in `out` of the four words; a multiple of 256.
    pub offset: u64,
}
