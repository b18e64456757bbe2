//! Descriptions that were asked for, with what they need.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::device::{Device, Requirements, ResourceDesc, texture_key};
use crate::gpu::Shared;
use crate::{Error, Name};

/// The number of a description. No other gets the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct KindId(pub(super) u64);

/// A description, and what the device says it needs.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) id: KindId,
    pub(super) desc: ResourceDesc,
    pub(super) needs: Requirements,
    /// Bytes; of the heap that it is placed in.
    pub(super) heap_alignment: u64,
}

/// Descriptions that were asked for; the device is asked once for each.
///
/// They stay while anything is made of them; the others go when there are many.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    by_hash: FxHashMap<u64, SmallVec<[Arc<Kind>; 1]>>,
    /// How many there are.
    count: usize,
    /// At so many it is time to see which of them are needed.
    crowd: usize,
    last: u64,
}

/// Fewer are not worth a look: a resolution adds one a resource.
const LEAST_CROWD: usize = 1024;

impl Kinds {
    /// # Errors
    /// The device's.
    pub(super) fn of<D: Device>(
        &mut self,
        shared: &Shared<D>,
        name: &Name,
        desc: &ResourceDesc,
    ) -> Result<Arc<Kind>, Error> {
        let hash = hash_of(desc);
        let same_hash = self.by_hash.get(&hash).map_or(&[][..], SmallVec::as_slice);
        if let Some(kind) = same_hash.iter().find(|kind| is_same(&kind.desc, desc)) {
            return Ok(kind.clone());
        }
        let needs = shared.requirements(name, desc)?;
        let heap_alignment = shared.device().properties().heap_alignment_for(desc, &needs);
        self.last += 1;
        let kind = Arc::new(Kind { id: KindId(self.last), desc: desc.clone(), needs, heap_alignment });
        self.by_hash.entry(hash).or_default().push(kind.clone());
        self.count += 1;
        if self.count >= self.crowd.max(LEAST_CROWD) {
            self.forget_unused();
        }
        Ok(kind)
    }

    fn forget_unused(&mut self) {
        self.by_hash.retain(|_, kinds| {
            kinds.retain(|kind| Arc::strong_count(kind) > 1);
            !kinds.is_empty()
        });
        self.count = self.by_hash.values().map(SmallVec::len).sum();
        self.crowd = 2 * self.count;
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
