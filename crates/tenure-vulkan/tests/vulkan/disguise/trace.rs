//! Submissions, and the semaphores that order them.

use std::collections::HashMap;

use tenure_vulkan::ash::vk;

/// A batch as it was handed to a queue.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) family: u32,
    /// It changes tile mappings.
    pub(crate) binds: bool,
    pub(crate) waits: Vec<(vk::Semaphore, u64)>,
    pub(crate) signals: Vec<(vk::Semaphore, u64)>,
}

impl Batch {
    /// True when it waits for something that `earlier` signals.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        self.waits.iter().any(|(semaphore, value)| {
            earlier.signals.iter().any(|(signalled, at)| semaphore == signalled && at >= value)
        })
    }
}

/// Every semaphore that is waited for was signalled before, binary ones once for each wait. Returns
/// the families waited for, by batch.
pub(crate) fn check(trace: &[Batch]) -> Vec<Vec<u32>> {
    let mut signalled: HashMap<vk::Semaphore, (u64, u32)> = HashMap::new();
    let mut families = Vec::new();
    for batch in trace {
        let mut waited = Vec::new();
        for (semaphore, value) in &batch.waits {
            let (at, family) = signalled.get(semaphore).copied().expect("signalled before");
            assert!(at >= *value, "{batch:?} waits for what is not submitted");
            if *value == 0 {
                // Binary: the wait takes the signal away.
                signalled.remove(semaphore);
            }
            waited.push(family);
        }
        waited.sort_unstable();
        families.push(waited);
        for (semaphore, value) in &batch.signals {
            let before = signalled.insert(*semaphore, (*value, batch.family));
            let rises = before.is_none_or(|(before, _)| before < *value);
            assert!(rises, "{batch:?} signals again what nobody waited for");
        }
    }
    families
}
