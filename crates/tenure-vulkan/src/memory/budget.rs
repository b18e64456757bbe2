//! How much memory the OS grants.

use ash::vk;
use tenure_core::device::{DeviceError, HeapBudget};

use super::Memories;
use crate::features::OptionalFeatures;

impl Memories {
    pub(crate) fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.alive()?;
        let properties = &self.tables.properties;
        let counted = self.count.budgets(properties);
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
        let reported = reported.map(|(budget, usage)| HeapBudget { budget, usage });
        let heaps = properties.memory_heaps.iter().map(|heap| heap.size);
        let budgets = heaps.zip(counted).zip(reported);
        Ok(budgets.map(|((size, counted), reported)| believed(reported, counted, size)).collect())
    }
}

/// The driver's report on a heap of `size` bytes, made plausible. Intel's for Windows grants more than there is
/// (ggml-org/llama.cpp#29277). RADV's usage falls below 0 when imported memory is freed (gfx-rs/wgpu#9742), and then is next to
/// 2^64.
fn believed(reported: HeapBudget, counted: HeapBudget, size: u64) -> HeapBudget {
    // A driver that names no budget has not looked.
    if reported.budget == 0 {
        return counted;
    }
    let is_negative = reported.usage > u64::MAX / 2;
    let usage = if is_negative { counted.usage } else { reported.usage };
    HeapBudget { budget: reported.budget.min(size), usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_not_believed() {
        let counted = HeapBudget { budget: 800, usage: 70 };
        let believed = |budget, usage| {
            let HeapBudget { budget, usage } = believed(HeapBudget { budget, usage }, counted, 1000);
            (budget, usage)
        };
        assert_eq!(believed(900, 80), (900, 80));
        assert_eq!(believed(1300, 80), (1000, 80), "no more than there is");
        assert_eq!(believed(u64::MAX - 40, 80), (1000, 80));
        assert_eq!(believed(0, 80), (800, 70), "the driver has not looked");
        assert_eq!(believed(900, 0_u64.wrapping_sub(30)), (900, 70), "below 0");
        assert_eq!(believed(900, 1100), (900, 1100), "more than there is was paged out");
    }
}
