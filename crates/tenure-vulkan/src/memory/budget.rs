//! How much memory the OS grants.

use ash::vk;
use tenure_core::device::{DeviceError, HeapBudget};

use crate::setup::OptionalFeatures;
use crate::shared::Shared;

impl Shared {
    pub(crate) fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.alive()?;
        let properties = &self.tables.properties;
        let counted = self.memory.budgets(properties);
        if !self.api.uses(OptionalFeatures::MEMORY_BUDGET) {
            return Ok(counted);
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the extension is enabled, the physical device one of the instance's.
        unsafe {
            self.api.instance.get_physical_device_memory_properties2(self.api.physical, &mut memory);
        }
        let reported = budget.heap_budget.into_iter().zip(budget.heap_usage);
        let budgets = counted.into_iter().zip(reported).map(|(counted, (budget, usage))| {
            // A driver that names none has not looked.
            if budget == 0 { counted } else { HeapBudget { budget, usage } }
        });
        Ok(budgets.collect())
    }
}
