//! A resource as a graph declares it.

use std::hash::{Hash, Hasher};

use crate::device::{BufferInfo, ResourceDesc, Usage, texture_key};
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
