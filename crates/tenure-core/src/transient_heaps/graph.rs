//! A frame's passes and the resources they use: declared, analysed and planned.
//!
//! A [`Graph`] declares passes, their queues, and their uses of resources with states. [`PlanCache`] compiles it into a
//! [`Compiled`], once for equal graphs, with
//!
//! * the division of passes into recordings, and their waits ([`Batch`]);
//! * the acquires, uses and discards of each pass ([`PassPlan`]);
//! * the location of each resource ([`Placement`]): no two share bytes that may be in use at the same time, and the total is
//!   minimised.
//!
//! The crate `tenure-graph` implements all of it, with resources as an engine describes them; here they are [`TransientDesc`]s.
//! It depends only on the device's [`Properties`](crate::device::Properties) and the memory requirements reported by a
//! [`Memory`], so that it can be used with other executors than tenure's.
//!
//! ```
//! use tenure::device::prelude::*;
//! use tenure::transient::graph::{Memory, Need, PlanCache, PlanCacheConfig};
//! use tenure::{
//!     Format, Graph, Queue, State, TextureDesc, Usage, error::GraphError,
//!     transient::TransientDesc,
//! };
//!
//! /// Textures of four bytes a texel, in pages of 64 KiB.
//! struct Pages;
//!
//! impl Memory<TransientDesc> for Pages {
//!     type Error = GraphError;
//!     fn need(&mut self, resource: &TransientDesc) -> Result<Need, GraphError> {
//!         let TransientDesc::Texture(desc) = resource else { unreachable!("no buffers here") };
//!         let size = u64::from(desc.info.width) * u64::from(desc.info.height) * 4;
//!         Ok(Need { size: size.next_multiple_of(64 << 10), alignment: 64 << 10, heap_alignment: 64 << 10, class: 0 })
//!     }
//!     fn largest_heap(&mut self, _class: u32) -> u64 {
//!         1 << 30
//!     }
//! }
//!
//! let mut graph = Graph::new();
//! let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
//! let target = TextureDesc::d2(512, 512, Format::Rgba8Unorm, usage);
//! let [scene, bloom, lens] = ["scene", "bloom", "lens"].map(|name| graph.texture(target.clone().name(name)));
//! let (write, read) = (State::RENDER_TARGET, State::PIXEL_SHADER);
//! graph.pass(Queue::Graphics, "scene").uses(scene, write);
//! graph.pass(Queue::Graphics, "bloom").uses(scene, read).uses(bloom, write);
//! graph.pass(Queue::Graphics, "lens").uses(bloom, read).uses(lens, write);
//!
//! # let device = tenure::sim::Device::new(tenure::sim::Profile::DISCRETE);
//! let mut plans = PlanCache::new(PlanCacheConfig::default());
//! let found = plans.get_or_plan(&graph, device.properties(), &mut Pages)?;
//! assert_eq!(found.compiled.peak(), 2 << 20); // instead of 3 MiB: the lens takes the scene's bytes
//! assert!(found.compiled.is_proven());
//! assert_eq!(found.compiled.placement(scene), found.compiled.placement(lens));
//! # Ok::<(), GraphError>(())
//! ```

use std::hash::{Hash, Hasher};

use crate::device::{BufferInfo, DeviceError, ResourceDesc, TextureKey, Usage};
use crate::{BufferDesc, MemoryUse, Name, TextureDesc};

/// The passes of a frame, and the transient resources that they use; see [`tenure_graph::Graph`].
pub type Graph = tenure_graph::Graph<TransientDesc>;

/// Builder for the last declared pass of a graph; see [`tenure_graph::PassBuilder`].
pub type PassBuilder<'g> = tenure_graph::PassBuilder<'g, TransientDesc>;

/// A graph compiled for a device; see [`tenure_graph::Compiled`].
pub type Compiled = tenure_graph::Compiled<TransientDesc>;

/// A plan and its origin; see [`tenure_graph::Found`].
pub type Found = tenure_graph::Found<TransientDesc>;

/// A cache of the plans of the last graphs; see [`tenure_graph::PlanCache`].
pub type PlanCache = tenure_graph::PlanCache<TransientDesc>;

pub use crate::error::GraphError;
pub use tenure_graph::{
    Batch, HeapPlan, Memory, Need, Origin, PassId, PassPlan, PassUse, Placement, PlanCacheConfig, Resource,
    ResourceId, Target,
};

/// A declared resource of a graph.
///
/// Two are equal if their descriptions and names are; clear values are compared bit by bit, so that a description always equals
/// itself.
#[derive(Clone, Debug)]
pub enum TransientDesc {
    /// A texture.
    Texture(TextureDesc),
    /// A buffer.
    Buffer(BufferDesc),
}

impl TransientDesc {
    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        match self {
            Self::Texture(desc) => &desc.name,
            Self::Buffer(desc) => &desc.name,
        }
    }

    /// All its declared usages.
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

    /// The description for the device.
    #[must_use]
    pub fn to_resource_desc(&self) -> ResourceDesc {
        match self {
            Self::Texture(desc) => ResourceDesc::Texture(desc.info.clone()),
            Self::Buffer(desc) => ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage)),
        }
    }
}

/// The fields of a buffer's description that apply to a transient buffer. Its name and tag do not affect a plan. Allocation
/// flags, priority and eviction are properties of the heap, which no single resource determines.
fn buffer_key(desc: &BufferDesc) -> impl Hash + Eq {
    let BufferDesc { size, usage, memory, stride, alignment, own_resource, .. } = desc;
    (*size, *usage, *memory, *stride, *alignment, *own_resource)
}

impl PartialEq for TransientDesc {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (self, other) {
            (Self::Texture(one), Self::Texture(other)) => TextureKey(&one.info) == TextureKey(&other.info),
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
            Self::Texture(desc) => TextureKey(&desc.info).hash(state),
            Self::Buffer(desc) => buffer_key(desc).hash(state),
        }
        self.name().hash(state);
    }
}

impl From<TextureDesc> for TransientDesc {
    fn from(desc: TextureDesc) -> Self {
        Self::Texture(desc)
    }
}

impl From<BufferDesc> for TransientDesc {
    fn from(desc: BufferDesc) -> Self {
        Self::Buffer(desc)
    }
}

impl Resource for TransientDesc {
    type Texture = TextureDesc;
    type Buffer = BufferDesc;
    type CpuMemory = MemoryUse;

    fn name(&self) -> &Name {
        self.name()
    }

    fn usage(&self) -> Usage {
        self.usage()
    }

    fn is_texture(&self) -> bool {
        self.is_texture()
    }

    fn alignment(&self) -> u64 {
        match self {
            Self::Texture(_) => 1,
            Self::Buffer(desc) => desc.alignment,
        }
    }

    fn cpu_memory(&self) -> Option<MemoryUse> {
        match self {
            Self::Texture(_) => None,
            Self::Buffer(desc) => Some(desc.memory).filter(|memory| *memory != MemoryUse::GpuOnly),
        }
    }

    fn validate(&self) -> Result<(), DeviceError> {
        self.to_resource_desc().validate()
    }
}
