//! Levels of memory pressure.

use std::fmt;

use crate::config::PressureConfig;
use crate::device::HeapBudget;

/// Level of a memory heap's usage, relative to the budget of the operating system or the program's
/// cap. The limits are in [`PressureConfig`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Pressure {
    /// Sufficient memory is available, or the budget is unknown.
    #[default]
    Normal,
    /// Little memory is left: postpone loading, and release resources that are not needed soon.
    High,
    /// Almost no memory is left, or the budget is exceeded, so that the operating system pages memory out:
    /// release everything that can be loaded again.
    Critical,
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        })
    }
}

impl Pressure {
    /// The level after `self`. A level ends only when the usage is some percent below its beginning, so that it
    /// does not change with each allocation.
    pub fn after(self, now: HeapBudget, config: &PressureConfig) -> Self {
        let HeapBudget { budget, usage } = now;
        if budget == 0 {
            return Self::Normal;
        }
        let reaches = |percent: u32| u128::from(usage) * 100 >= u128::from(budget) * u128::from(percent);
        let holds = |level: Self, percent: u32| {
            reaches(if self >= level { percent.saturating_sub(config.hysteresis) } else { percent })
        };
        if holds(Self::Critical, config.critical) {
            Self::Critical
        } else if holds(Self::High, config.high) {
            Self::High
        } else {
            Self::Normal
        }
    }
}

/// The level of each memory heap at the end of the last frame.
#[derive(Clone, Debug, Default)]
pub struct Levels(Vec<Pressure>);

impl Levels {
    /// The level of one heap.
    pub fn of(&self, heap: usize) -> Pressure {
        self.0.get(heap).copied().unwrap_or_default()
    }

    /// Updates the levels from the current budgets; returns the heaps whose level changed, with the old and the
    /// new level.
    pub fn update(
        &mut self,
        budgets: &[HeapBudget],
        config: &PressureConfig,
    ) -> Vec<(usize, Pressure, Pressure)> {
        self.0.resize(budgets.len(), Pressure::Normal);
        let mut changes = Vec::new();
        for (heap, (level, budget)) in self.0.iter_mut().zip(budgets).enumerate() {
            let (before, now) = (*level, level.after(*budget, config));
            *level = now;
            if before != now {
                changes.push((heap, before, now));
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::{Levels, Pressure};
    use crate::config::PressureConfig;
    use crate::device::HeapBudget;

    /// The successive levels for these usages, with a budget of 100.
    fn levels(usages: impl IntoIterator<Item = u64>) -> Vec<Pressure> {
        let mut level = Pressure::Normal;
        let mut next = |usage| {
            level = level.after(HeapBudget { budget: 100, usage }, &PressureConfig::default());
            level
        };
        usages.into_iter().map(&mut next).collect()
    }

    #[test]
    fn a_level_is_left_below_where_it_begins() {
        use Pressure::{Critical, High, Normal};
        assert_eq!(levels([84, 85, 84, 80, 79, 84]), [Normal, High, High, High, Normal, Normal]);
        assert_eq!(levels([95, 94, 90, 89, 94, 95]), [Critical, Critical, Critical, High, High, Critical]);
        assert_eq!(levels([300, 0]), [Critical, Normal]);
        // A program that loads and unloads around a limit gets one notification.
        let around: Vec<u64> = (0..100).map(|step| 85 - step % 4).collect();
        assert_eq!(levels(around), [High; 100]);
    }

    #[test]
    fn no_budget_is_no_pressure() {
        let config = PressureConfig::default();
        for usage in [0, 1, u64::MAX] {
            let unknown = HeapBudget { budget: 0, usage };
            assert_eq!(Pressure::Critical.after(unknown, &config), Pressure::Normal);
        }
        let all = HeapBudget { budget: u64::MAX, usage: u64::MAX };
        assert_eq!(Pressure::Normal.after(all, &config), Pressure::Critical);
    }

    #[test]
    fn each_heap_has_a_level_of_its_own() {
        let config = PressureConfig::default();
        let heap = |usage| HeapBudget { budget: 100, usage };
        let mut levels = Levels::default();
        assert_eq!(
            levels.update(&[heap(10), heap(99)], &config),
            [(1, Pressure::Normal, Pressure::Critical)]
        );
        assert_eq!(levels.update(&[heap(10), heap(99)], &config), []);
        assert_eq!(
            (levels.of(0), levels.of(1), levels.of(2)),
            (Pressure::Normal, Pressure::Critical, Pressure::Normal)
        );
    }
}
