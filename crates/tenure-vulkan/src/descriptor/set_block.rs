//! Blocks of descriptor sets.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{Allowed, BindingKind, CallRule, DeviceError, SetBinding, SetWrite, check};

use super::Described;
use super::Descriptors;
use super::kinds::vk_type;
use super::set_layout::SetLayout;
use super::slot::Written;
use super::writer::{BATCH, WriteTarget, Writer, write_nulls};

/// The most sets of a block.
const MOST_SETS: u32 = 1 << 16;

/// A descriptor pool with nothing but sets of one layout: a handle for
/// [`Device::destroy_set_block`](tenure_core::device::Device::destroy_set_block). Dropping it without
/// that leaks the pool.
pub struct SetBlock {
    owner: Arc<Descriptors>,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    bindings: Arc<[SetBinding]>,
}

impl Descriptors {
    pub(crate) fn create_set_block(
        self: &Arc<Self>,
        layout: &SetLayout,
        sets: u32,
    ) -> Result<SetBlock, DeviceError> {
        self.alive()?;
        self.check_same(layout.owner())?;
        check::count("sets", sets, MOST_SETS)?;
        let sizes = pool_sizes(layout.bindings(), sets)?;
        let layouts = vec![layout.raw(); usize::try_from(sets).unwrap_or(0)];
        let pool = vk::DescriptorPoolCreateInfo::default().pool_sizes(&sizes);
        let (pool, sets) = self.create_sets(pool, &layouts)?;
        Ok(SetBlock { owner: self.clone(), pool, sets, bindings: layout.shared_bindings().clone() })
    }
}

/// What a pool for so many sets has to hold.
fn pool_sizes(bindings: &[SetBinding], sets: u32) -> Result<Vec<vk::DescriptorPoolSize>, DeviceError> {
    let mut sizes = Vec::new();
    for kind in BindingKind::ALL {
        let of_kind = bindings.iter().filter(|binding| binding.kind == kind);
        let each: u64 = of_kind.map(|binding| u64::from(binding.count)).sum();
        let all = each.saturating_mul(u64::from(sets));
        let descriptor_count = u32::try_from(all).map_err(|_| {
            DeviceError::invalid_desc(
                "sets",
                sets,
                Allowed::Rule("fewer than 2^32 descriptors of a kind in all"),
            )
        })?;
        if descriptor_count > 0 {
            sizes.push(vk::DescriptorPoolSize { ty: vk_type(kind), descriptor_count });
        }
    }
    if sizes.is_empty() {
        // A pool is for something, even if its sets are not.
        sizes.push(vk::DescriptorPoolSize { ty: vk_type(BindingKind::Sampler), descriptor_count: 1 });
    }
    Ok(sizes)
}

impl SetBlock {
    /// A set to bind; `None` beyond the last. Do not free or write it.
    #[must_use]
    pub fn set(&self, index: u32) -> Option<vk::DescriptorSet> {
        self.sets.get(usize::try_from(index).ok()?).copied()
    }

    /// All sets.
    #[must_use]
    pub fn sets(&self) -> &[vk::DescriptorSet] {
        &self.sets
    }

    /// The pool that they are from.
    #[must_use]
    pub const fn pool(&self) -> vk::DescriptorPool {
        self.pool
    }

    fn check_device(&self, descriptors: &Descriptors) -> Result<(), DeviceError> {
        descriptors.check_same(&self.owner)
    }

    /// What to write where, when the layout has such a descriptor there.
    fn resolve(&self, write: &SetWrite<'_, impl Described>) -> Result<Written, DeviceError> {
        let binding = check::set_element(&self.bindings, write.binding, write.element)?;
        let written = self.owner.resolve(&write.source)?;
        if !binding.kind.takes(written.kind) {
            let rule = CallRule::BindingKind;
            return Err(DeviceError::invalid_call(rule, written.kind, binding.kind));
        }
        Ok(Written { kind: binding.kind, ..written })
    }

    /// Writes descriptors of a set.
    pub(crate) fn write(
        &self,
        descriptors: &Descriptors,
        set: u32,
        writes: &[SetWrite<'_, impl Described>],
    ) -> Result<(), DeviceError> {
        descriptors.alive()?;
        self.check_device(descriptors)?;
        let count = self.sets.len() as u64;
        let set =
            self.set(set).ok_or(DeviceError::invalid_call(CallRule::SetExists, u64::from(set), count))?;
        // All are looked at before any is written; a batch is written as a whole.
        if writes.len() > BATCH {
            for write in writes {
                self.resolve(write)?;
            }
        }
        let mut writer = Writer::new(descriptors);
        for write in writes {
            let written = self.resolve(write)?;
            let target = WriteTarget { set, binding: write.binding, element: write.element };
            // SAFETY: the set is alive, and its layout has such a descriptor there; by the contract
            // no other code uses the set, and what is written is alive.
            unsafe { writer.write(target, written) };
        }
        writer.finish();
        Ok(())
    }

    /// Makes the descriptors of a set null, where the device can.
    pub(crate) fn poison(&self, set: u32) {
        let Some(set) = self.set(set).filter(|_| self.owner.limits.contract.null) else {
            return;
        };
        for SetBinding { binding, kind, count } in self.bindings.iter().copied() {
            let target = WriteTarget { set, binding, element: 0 };
            // SAFETY: null descriptors are enabled; the set is alive, its layout has just these, and by
            // the contract nothing uses them.
            unsafe { write_nulls(&self.owner, target, kind, count) };
        }
    }

    pub(crate) fn destroy(self) {
        // SAFETY: the contract has the GPU done with the sets, which go with their pool.
        unsafe { self.owner.api.device.destroy_descriptor_pool(self.pool, None) };
    }
}

impl fmt::Debug for SetBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} sets", self.pool, self.sets.len())
    }
}
