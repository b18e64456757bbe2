//! The properties of a device, as `tenure devices` shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure::device::{
    Device, Features, HeapBudget, HeapCategory, MemoryFlags, MemoryHeap, MemoryType, Properties,
    QueueProperties, ResourceDesc, StateModel,
};
use tenure::{Format, TextureDesc, Usage, device::QueueKind, error::DeviceError, resource::BufferInfo, sim};

use crate::adapter_properties::About;

/// A device with its properties; serialised as one JSON object. Sizes and alignments are in bytes.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// `vulkan`, `d3d12` or `sim`.
    pub(super) device: &'static str,
    /// The value of `--adapter` or `--profile` that selects it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) version: String,
    pub(super) driver: String,
    pub(super) vendor_id: u32,
    pub(super) device_id: u32,
    pub(super) heaps: Vec<Heap>,
    pub(super) memory_types: Vec<Type>,
    /// Whether CPU and GPU share one memory.
    pub(super) uma: bool,
    pub(super) queues: Vec<Queue>,
    /// `promotion` or `explicit`.
    pub(super) state_model: &'static str,
    /// The categories of resources that need separate heaps; only `any` if one heap can hold all of them.
    pub(super) heap_categories: Vec<&'static str>,
    pub(super) features: BTreeMap<String, bool>,
    pub(super) alignments: BTreeMap<&'static str, u64>,
    pub(super) limits: BTreeMap<&'static str, u64>,
    /// The optional features of the API, and the workarounds, that tenure uses.
    pub(super) uses: Vec<String>,
}

/// A memory heap of the device.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Heap {
    pub(super) size: u64,
    pub(super) device_local: bool,
    pub(super) budget: u64,
    pub(super) usage: u64,
}

/// A memory type.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Type {
    pub(super) heap: u8,
    pub(super) flags: Vec<String>,
}

/// A queue.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Queue {
    pub(super) kind: &'static str,
    pub(super) family: u32,
}

impl Found {
    /// Queries a device.
    pub(crate) fn new<D: Device>(id: String, about: About, device: &D) -> Result<Self, DeviceError> {
        let properties = device.properties();
        let About { kind, version, driver, vendor, device: device_id, uses } = about;
        let budgets = device.budget()?;
        Ok(Self {
            device: properties.backend,
            id,
            name: properties.name.clone(),
            kind,
            version,
            driver,
            vendor_id: vendor,
            device_id,
            heaps: properties.memory_heaps.iter().zip(budgets).map(heap).collect(),
            memory_types: properties.memory_types.iter().map(memory_type).collect(),
            uma: properties.uma,
            queues: properties.queues.iter().map(queue).collect(),
            state_model: match properties.state_model {
                StateModel::Promotion => "promotion",
                StateModel::Explicit => "explicit",
            },
            heap_categories: heap_categories(device)?,
            features: features(properties.features),
            alignments: alignments(properties),
            limits: limits(properties),
            uses,
        })
    }
}

impl Found {
    /// The simulated device similar to this one.
    pub(crate) fn like(&self) -> sim::Profile {
        if self.device != "d3d12" {
            return vulkan_profile(self.vendor_id, self.memory_types.len());
        }
        let has = |feature: &str| self.features.get(feature).copied().unwrap_or(false);
        match (self.uma, has("gpu_upload"), self.state_model, &self.heap_categories[..]) {
            (true, ..) => sim::Profile::D3D12_UMA,
            (_, _, "explicit", _) => sim::Profile::D3D12_ENHANCED,
            (_, true, ..) => sim::Profile::D3D12_REBAR,
            (_, _, _, ["any"]) => sim::Profile::D3D12_TIER2,
            _ => sim::Profile::D3D12_TIER1,
        }
    }
}

/// The simulated Vulkan device similar to one of this vendor with that number of memory types.
pub(crate) fn vulkan_profile(vendor: u32, memory_types: usize) -> sim::Profile {
    match vendor {
        0x10de => sim::Profile::VULKAN_NVIDIA,
        0x1002 => sim::Profile::VULKAN_AMD_SMALL_BAR,
        0x8086 => sim::Profile::VULKAN_INTEL,
        // Arm, Qualcomm, Imagination.
        0x13b5 | 0x5143 | 0x1010 => sim::Profile::VULKAN_MOBILE,
        _ if memory_types == 1 => sim::Profile::VULKAN_LAVAPIPE,
        _ => sim::Profile::VULKAN_INTEL,
    }
}

fn heap((heap, budget): (&MemoryHeap, HeapBudget)) -> Heap {
    let MemoryHeap { size, device_local } = *heap;
    Heap { size, device_local, budget: budget.budget, usage: budget.usage }
}

fn memory_type(memory_type: &MemoryType) -> Type {
    let flags = memory_type.flags.iter_names().map(|(name, _): (_, MemoryFlags)| name.to_lowercase());
    Type { heap: memory_type.heap, flags: flags.collect() }
}

fn queue(queue: &QueueProperties) -> Queue {
    let kind = match queue.kind {
        QueueKind::Graphics => "graphics",
        QueueKind::Compute => "compute",
        QueueKind::Copy => "copy",
    };
    Queue { kind, family: queue.family }
}

fn features(offered: Features) -> BTreeMap<String, bool> {
    let every = Features::all();
    every.iter_names().map(|(name, feature)| (name.to_lowercase(), offered.contains(feature))).collect()
}

/// The distinct heap categories of a buffer, a render target and a sampled texture.
fn heap_categories<D: Device>(device: &D) -> Result<Vec<&'static str>, DeviceError> {
    let buffer = BufferInfo::new(1 << 16, Usage::VERTEX | Usage::COPY_DST);
    let texture = |usage| ResourceDesc::Texture(TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage).info);
    let (target, other) = (texture(Usage::RENDER_TARGET), texture(Usage::SHADER_READ));
    let mut categories = Vec::new();
    for resource in [ResourceDesc::Buffer(buffer), target, other] {
        let category = match device.requirements(&resource)?.category {
            HeapCategory::Any => "any",
            HeapCategory::Buffers => "buffers",
            HeapCategory::Targets => "targets",
            HeapCategory::Textures => "textures",
        };
        if !categories.contains(&category) {
            categories.push(category);
        }
    }
    Ok(categories)
}

fn alignments(properties: &Properties) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("acceleration_structure", properties.acceleration_structure_alignment),
        ("constant", properties.constant_alignment),
        ("copy_offset", properties.copy_offset_alignment),
        ("copy_pitch", properties.copy_pitch_alignment),
        ("heap", properties.heap_alignment),
        ("msaa_heap", properties.msaa_heap_alignment),
        ("non_coherent_atom", properties.non_coherent_atom),
        ("storage", properties.storage_alignment),
        ("tile", properties.tile_size),
    ])
}

fn limits(properties: &Properties) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("allocations", properties.max_allocations),
        ("buffer_bytes", properties.max_buffer_size),
        ("heap_bytes", properties.max_heap_size),
        ("texture_2d", properties.max_texture_2d.into()),
        ("texture_3d", properties.max_texture_3d.into()),
        ("texture_layers", properties.max_layers.into()),
    ])
}
