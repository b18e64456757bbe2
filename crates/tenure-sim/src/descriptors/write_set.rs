//! Creation, writing and clearing of descriptor sets.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{Allowed, BindingKind, CallRule, DeviceError, Features, SetBinding, SetWrite};

use crate::clock::Clock;
use crate::descriptors::Described;
use crate::descriptors::content::Slot;
use crate::descriptors::heap::{MOST_SLOTS, empty_slots};
use crate::descriptors::set::{LayoutState, Set, SetLayout, SetPool, SetPoolState};
use crate::descriptors::write::slot_of;
use crate::hazard::{Checks, HazardKind};
use crate::object::ObjectKind;
use crate::shared::Shared;

impl Shared {
    pub(crate) fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<SetLayout, DeviceError> {
        if !self.properties.descriptors.sets {
            return Err(DeviceError::Unsupported { feature: "descriptor sets" });
        }
        let traces = bindings.iter().any(|binding| binding.kind == BindingKind::AccelerationStructure);
        if traces && !self.properties.features.contains(Features::ACCELERATION_STRUCTURES) {
            return Err(DeviceError::Unsupported { feature: "acceleration structures" });
        }
        let layout = LayoutState::new(bindings, || self.register.create(ObjectKind::SetLayout))?;
        Ok(SetLayout { state: Arc::new(layout) })
    }

    pub(crate) fn destroy_set_layout(&self, layout: &SetLayout) {
        let state = &layout.state;
        let blocks = state.blocks.lock();
        if let Some(first) = blocks.values().next() {
            let detail = format!("{} blocks of it are left", blocks.len());
            let kind = HazardKind::LayoutDestroyedFirst;
            self.report(Checks::LIFETIME, kind, &[&state.label, first], detail, "destroy_set_layout");
        }
        self.register.destroy(&state.label);
    }

    pub(crate) fn create_set_pool(&self, layout: &SetLayout, count: u32) -> Result<SetPool, DeviceError> {
        if count == 0 {
            return Err(DeviceError::invalid_desc("sets", 0_u32, Allowed::AtLeast(1)));
        }
        let layout = &layout.state;
        let sets = Mutex::new(new_sets(count, layout.total)?);
        let label = self.register.create(ObjectKind::SetPool);
        layout.blocks.lock().insert(label.id, Arc::clone(&label));
        let state = SetPoolState { label, layout: Arc::clone(layout), count, sets };
        Ok(SetPool { state: Arc::new(state) })
    }

    pub(crate) fn destroy_set_pool(&self, block: &SetPool) {
        let state = &block.state;
        let sets = state.sets.lock();
        let observed = self.observed.load();
        let used = sets
            .iter()
            .zip(0_u32..)
            .find_map(|(set, index)| Some((index, set.reads.first_after(&observed)?)));
        drop(sets);
        if let Some((index, read)) = used {
            let uses = format!("reads set {index}");
            self.report_use(
                Checks::DESCRIPTORS,
                HazardKind::DestroyedInUse,
                &state.label,
                uses,
                read,
                "destroy_set_pool",
            );
        }
        state.layout.blocks.lock().remove(&state.label.id);
        self.register.destroy(&state.label);
    }

    pub(crate) fn write_set(
        &self,
        block: &SetPool,
        set: u32,
        writes: &[SetWrite<'_, impl Described>],
    ) -> Result<(), DeviceError> {
        let state = &block.state;
        state.check_set(set)?;
        for write in writes {
            let (_, wanted) = state.layout.find(write.binding, write.element)?;
            let given = self.check_source(&write.source)?;
            if !wanted.takes(given) {
                return Err(DeviceError::invalid_call(CallRule::BindingKind, given, wanted));
            }
        }
        self.change_set(state, set, "write_set", |set| {
            for write in writes {
                let Ok((place, _)) = state.layout.find(write.binding, write.element) else { continue };
                if let Some(slot) = set.slots.get_mut(place as usize) {
                    *slot = slot_of(&write.source);
                }
            }
        });
        Ok(())
    }

    pub(crate) fn clear_set(&self, block: &SetPool, set: u32, freed_by: Option<&str>) {
        let state = &block.state;
        if state.check_set(set).is_err() {
            let detail = format!("set {set} is cleared, which it does not have");
            let kind = HazardKind::InvalidUse;
            return self.report(Checks::DESCRIPTORS, kind, &[&state.label], detail, "clear_set");
        }
        let left = Slot::cleared(freed_by);
        self.change_set(state, set, "clear_set", |set| set.slots.fill(left));
    }

    /// Changes a set, which work in flight must not read.
    fn change_set(&self, block: &SetPoolState, set: u32, call: &'static str, change: impl FnOnce(&mut Set)) {
        let mut sets = block.sets.lock();
        let Some(state) = sets.get_mut(set as usize) else { return };
        change(state);
        state.version += 1;
        let read = state.reads.first_after(&self.observed.load());
        drop(sets);
        if let Some(read) = read {
            let uses = format!("reads set {set}");
            self.report_use(Checks::DESCRIPTORS, HazardKind::DescriptorInUse, &block.label, uses, read, call);
        }
    }
}

fn new_sets(sets: u32, total: u32) -> Result<Vec<Set>, DeviceError> {
    if u64::from(sets).max(u64::from(sets) * u64::from(total)) > MOST_SLOTS {
        return Err(DeviceError::OutOfHostMemory { what: "descriptors" });
    }
    (0..sets)
        .map(|_| Ok(Set { slots: empty_slots(u64::from(total))?, version: 0, reads: Clock::default() }))
        .collect()
}
