//! A resource as a graph declares it.

use std::hash::{Hash, Hasher};

use crate::device::{BufferInfo, ClearValue, ResourceDesc, TextureInfo, Usage};
use crate::{BufferDesc, Name, TextureDesc};

/// A resource as a graph declares it.
///
/// Equal if all of it is equal, the name included; clear values are compared bit by bit, so that
/// a description always equals itself.
#[derive(Clone, Debug)]
pub enum TransientDesc {
    /// A texture.
    Texture(TextureDesc),
    /// A buffer.
    Buffer(BufferDesc),
}

impl TransientDesc {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        match self {
            Self::Texture(desc) => &desc.name,
            Self::Buffer(desc) => &desc.name,
        }
    }

    /// Everything it may be used as.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        match self {
            Self::Texture(desc) => desc.info.usage,
            Self::Buffer(desc) => desc.usage,
        }
    }

    /// True for a texture.
    #[must_use]
    pub const fn is_texture(&self) -> bool {
        matches!(self, Self::Texture(_))
    }

    /// What a device is asked to create.
    #[must_use]
    pub fn to_resource_desc(&self) -> ResourceDesc {
        match self {
            Self::Texture(desc) => ResourceDesc::Texture(desc.info.clone()),
            Self::Buffer(desc) => ResourceDesc::Buffer(BufferInfo { size: desc.size, usage: desc.usage }),
        }
    }

    /// Bytes that it asks to be aligned to beyond what the device asks.
    pub(super) const fn alignment(&self) -> u64 {
        match self {
            Self::Texture(_) => 1,
            Self::Buffer(desc) => desc.alignment,
        }
    }
}

/// A clear value as numbers that are equal if all bits are.
fn clear_bits(clear: Option<ClearValue>) -> [u32; 5] {
    match clear {
        None => [0; 5],
        Some(ClearValue::Color([red, green, blue, alpha])) => {
            [1, red.to_bits(), green.to_bits(), blue.to_bits(), alpha.to_bits()]
        }
        Some(ClearValue::DepthStencil(depth, stencil)) => [2, depth.to_bits(), u32::from(stencil), 0, 0],
    }
}

/// All that is numbers in a texture's description. Naming each field makes sure that none is forgotten.
pub(in crate::transient) fn texture_key(info: &TextureInfo) -> impl Hash + Eq + '_ {
    let TextureInfo {
        dimension,
        width,
        height,
        depth_or_layers,
        mips,
        samples,
        format,
        usage,
        clear,
        view_formats,
    } = info;
    let extent = [*width, *height, *depth_or_layers, *mips, *samples];
    (*dimension, extent, *format, *usage, clear_bits(*clear), view_formats)
}

/// All of a buffer's description but the name.
fn buffer_key(desc: &BufferDesc) -> impl Hash + Eq {
    let BufferDesc { size, usage, memory, stride, alignment, own_resource, name: _ } = desc;
    (*size, *usage, *memory, *stride, *alignment, *own_resource)
}

impl PartialEq for TransientDesc {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (self, other) {
            (Self::Texture(one), Self::Texture(other)) => texture_key(&one.info) == texture_key(&other.info),
            (Self::Buffer(one), Self::Buffer(other)) => buffer_key(one) == buffer_key(other),
            _ => false,
        };
        is_same && self.name() == other.name()
    }
}

impl Eq for TransientDesc {}

impl Hash for TransientDesc {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Texture(desc) => texture_key(&desc.info).hash(state),
            Self::Buffer(desc) => buffer_key(desc).hash(state),
        }
        self.name().hash(state);
    }
}
