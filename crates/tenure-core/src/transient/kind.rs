//! Descriptions that were asked for, with what they need.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::device::{Device, Requirements, ResourceDesc, texture_key};
use crate::gpu::Shared;
use crate::{Error, Name};

/// The number of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct KindId(pub(super) u32);

/// A description, and what the device says it needs.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) id: KindId,
    pub(super) desc: ResourceDesc,
    pub(super) needs: Requirements,
    /// Bytes; of the heap that it is placed in.
    pub(super) heap_alignment: u64,
}

/// Every description that was asked for; the device is asked once for each.
///
/// A program has few, and they are kept for good: a resolution adds one a resource.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    kinds: Vec<Arc<Kind>>,
    by_hash: FxHashMap<u64, Vec<u32>>,
}

impl Kinds {
    /// # Errors
    /// The device's.
    pub(super) fn of<D: Device>(
        &mut self,
        shared: &Shared<D>,
        name: &Name,
        desc: &ResourceDesc,
    ) -> Result<Arc<Kind>, Error> {
        let same_hash = self.by_hash.entry(hash_of(desc)).or_default();
        let known = same_hash.iter().filter_map(|id| self.kinds.get(*id as usize));
        if let Some(kind) = known.into_iter().find(|kind| is_same(&kind.desc, desc)) {
            return Ok(kind.clone());
        }
        let needs = shared.requirements(name, desc)?;
        let heap_alignment = shared.device().properties().heap_alignment_for(desc, &needs);
        let id = u32::try_from(self.kinds.len())
            .map_err(|_| Error::Contract { rule: "fewer than 2^32 descriptions", value: u64::MAX })?;
        let kind = Arc::new(Kind { id: KindId(id), desc: desc.clone(), needs, heap_alignment });
        same_hash.push(id);
        self.kinds.push(kind.clone());
        Ok(kind)
    }
}

fn hash_of(desc: &ResourceDesc) -> u64 {
    let mut hasher = FxHasher::default();
    match desc {
        ResourceDesc::Buffer(info) => info.hash(&mut hasher),
        ResourceDesc::Texture(info) => texture_key(info).hash(&mut hasher),
    }
    hasher.finish()
}

/// True for descriptions of which one resource serves as well as another. Clear values count by their
/// bits, so that one that is no number equals itself.
fn is_same(one: &ResourceDesc, other: &ResourceDesc) -> bool {
    match (one, other) {
        (ResourceDesc::Texture(one), ResourceDesc::Texture(other)) => texture_key(one) == texture_key(other),
        (ResourceDesc::Buffer(one), ResourceDesc::Buffer(other)) => one == other,
        _ => false,
    }
}
