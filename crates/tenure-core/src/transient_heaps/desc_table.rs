//! Resource descriptions that were requested, with the device's memory requirements.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::context::Context;
use crate::device::{Api, Device, HeapCategory, Requirements, ResourceDesc, TextureKey, Usage};
use crate::{Error, Name};

/// Identifies a description; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DescriptionId(pub(crate) u64);

/// The resources that may share a heap. On Direct3D 12 acceleration structures share bytes only with each other: the DXR
/// specification forbids other buffers at their addresses while both exist, and a heap caches its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tenants {
    pub(crate) category: HeapCategory,
    pub(crate) are_structures: bool,
}

impl Tenants {
    fn of(desc: &ResourceDesc, needs: &Requirements, api: Api) -> Self {
        let is_structure = desc.usage().contains(Usage::ACCELERATION_STRUCTURE);
        Self { category: needs.category, are_structures: is_structure && api == Api::Direct3D12 }
    }
}

/// A resource description and its memory requirements.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) id: DescriptionId,
    pub(crate) desc: ResourceDesc,
    pub(crate) needs: Requirements,
    pub(crate) tenants: Tenants,
    /// True for lazily allocated memory: it is allocated at the first store, so it is not shared.
    pub(crate) is_memoryless: bool,
    /// Alignment of its heap in bytes.
    pub(crate) heap_alignment: u64,
}

/// The requested descriptions; the device is queried once for the requirements of each.
///
/// A description is kept while resources refer to it; unused ones are removed when there are many.
#[derive(Debug, Default)]
pub(crate) struct ResourceDescTable {
    by_hash: FxHashMap<u64, SmallVec<[Arc<Description>; 1]>>,
    /// The number of descriptions.
    count: usize,
    /// The number of descriptions at which unused ones are removed next.
    next_sweep: usize,
    last: u64,
}

/// Minimum number of descriptions for a sweep: each new window size adds one per resource.
const MIN_SWEEP: usize = 1024;

impl ResourceDescTable {
    /// Whether there has never been a description.
    pub(crate) const fn is_unused(&self) -> bool {
        self.last == 0
    }

    /// The entry of a description, added if it is new.
    ///
    /// # Errors
    /// The errors of the device.
    pub(crate) fn get_or_add<D: Device>(
        &mut self,
        context: &Context<D>,
        name: &Name,
        desc: &ResourceDesc,
    ) -> Result<Arc<Description>, Error> {
        let hash = hash_of(desc);
        let same_hash = self.by_hash.get(&hash).map_or(&[][..], SmallVec::as_slice);
        if let Some(description) = same_hash.iter().find(|description| is_same(&description.desc, desc)) {
            return Ok(description.clone());
        }
        let mut needs = context.requirements(name, desc)?;
        let is_memoryless = context.pools.is_memoryless(desc, needs.memory_types);
        needs.requires_dedicated |= is_memoryless;
        let heap_alignment = context.device().properties().heap_alignment_for(desc, &needs);
        let tenants = Tenants::of(desc, &needs, context.device().properties().api);
        self.last += 1;
        let (id, desc) = (DescriptionId(self.last), desc.clone());
        let description = Arc::new(Description { id, desc, needs, tenants, is_memoryless, heap_alignment });
        self.by_hash.entry(hash).or_default().push(description.clone());
        self.count += 1;
        if self.count >= self.next_sweep.max(MIN_SWEEP) {
            self.forget_unused();
        }
        Ok(description)
    }

    fn forget_unused(&mut self) {
        self.by_hash.retain(|_, descriptions| {
            descriptions.retain(|description| Arc::strong_count(description) > 1);
            !descriptions.is_empty()
        });
        self.count = self.by_hash.values().map(SmallVec::len).sum();
        self.next_sweep = 2 * self.count;
    }
}

fn hash_of(desc: &ResourceDesc) -> u64 {
    let mut hasher = FxHasher::default();
    match desc {
        ResourceDesc::Buffer(info) => info.hash(&mut hasher),
        ResourceDesc::Texture(info) => TextureKey(info).hash(&mut hasher),
    }
    hasher.finish()
}

/// True for descriptions whose resources are interchangeable. Clear values are compared by their bits, so that
/// NaN equals itself.
fn is_same(one: &ResourceDesc, other: &ResourceDesc) -> bool {
    match (one, other) {
        (ResourceDesc::Texture(one), ResourceDesc::Texture(other)) => TextureKey(one) == TextureKey(other),
        (ResourceDesc::Buffer(one), ResourceDesc::Buffer(other)) => one == other,
        _ => false,
    }
}
