//! The choice of tenure's queues of a device, and the program's own queues.

use ash::vk;
use tenure_core::device::{MAX_QUEUES, QueueKind};

use crate::error::CreateError;
use crate::instance::OwnQueues;
use crate::queue::Family;

const WORK: vk::QueueFlags = vk::QueueFlags::from_raw(
    vk::QueueFlags::GRAPHICS.as_raw() | vk::QueueFlags::COMPUTE.as_raw() | vk::QueueFlags::TRANSFER.as_raw(),
);

/// Graphics and compute; copies come with either.
const EVERYTHING: vk::QueueFlags =
    vk::QueueFlags::from_raw(vk::QueueFlags::GRAPHICS.as_raw() | vk::QueueFlags::COMPUTE.as_raw());

/// The kind of queue of a family; `None` if it does not even support copies.
pub(crate) fn kind(flags: vk::QueueFlags) -> Option<QueueKind> {
    if flags.contains(EVERYTHING) {
        Some(QueueKind::Graphics)
    } else if flags.contains(vk::QueueFlags::COMPUTE) {
        Some(QueueKind::Compute)
    } else if flags.intersects(WORK) {
        Some(QueueKind::Copy)
    } else {
        None
    }
}

/// The queues to use, by family, at most `most` of them: one with all capabilities, then one for compute and
/// copies, then one for copies only. `None` if no queue has all capabilities.
pub(crate) fn choose(families: &[Family], most: usize) -> Option<Vec<(QueueKind, u32)>> {
    let find = |accepts: &dyn Fn(vk::QueueFlags) -> bool| {
        (0_u32..)
            .zip(families)
            .filter(|(_, family)| family.queues > 0 && accepts(family.flags))
            // A family for video that also copies is the last choice.
            .min_by_key(|(index, family)| (extras(family.flags), *index))
            .map(|(index, _)| index)
    };
    let only = |flags: vk::QueueFlags, wanted: vk::QueueFlags, but: vk::QueueFlags| {
        flags.contains(wanted) && !flags.intersects(but)
    };
    let graphics = find(&|flags| flags.contains(EVERYTHING))?;
    let compute = find(&|flags| only(flags, vk::QueueFlags::COMPUTE, vk::QueueFlags::GRAPHICS));
    let copy = find(&|flags| only(flags, vk::QueueFlags::TRANSFER, EVERYTHING));
    let chosen =
        [(QueueKind::Graphics, Some(graphics)), (QueueKind::Compute, compute), (QueueKind::Copy, copy)];
    let chosen = chosen.into_iter().filter_map(|(kind, family)| Some((kind, family?)));
    Some(chosen.take(most.clamp(1, MAX_QUEUES)).collect())
}

/// The number of capabilities of a family besides work and sparse binding.
fn extras(flags: vk::QueueFlags) -> u32 {
    let usual = WORK | vk::QueueFlags::SPARSE_BINDING | vk::QueueFlags::PROTECTED;
    (flags & !usual).as_raw().count_ones()
}

/// A family of queues of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueFamily {
    /// The capabilities of its queues.
    pub flags: vk::QueueFlags,
    /// Their number. Tenure uses the first of one to three families, by
    /// [`DeviceConfig::max_queues`](crate::DeviceConfig::max_queues).
    pub queues: u32,
}

/// The queues to create of a family, tenure's first.
#[derive(Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) family: u32,
    pub(super) priorities: Vec<f32>,
    /// The first that is the program's.
    first_own: u32,
}

impl Planned {
    /// The numbers of the program's queues.
    pub(super) fn own(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let end = u32::try_from(self.priorities.len()).unwrap_or(u32::MAX);
        (self.first_own..end).map(|index| (self.family, index))
    }
}

/// The queues to create of each family: tenure's chosen ones, and the program's.
pub(super) fn plan(
    families: &[Family],
    chosen: &[(QueueKind, u32)],
    own: &[OwnQueues],
) -> Result<Vec<Planned>, CreateError> {
    let tenures = chosen.iter().map(|(_, family)| *family);
    let mut plan: Vec<Planned> =
        tenures.map(|family| Planned { family, priorities: vec![1.0], first_own: 1 }).collect();
    for (index, asked) in own.iter().enumerate() {
        let is_tenures = chosen.iter().any(|(_, family)| *family == asked.family);
        check(families, asked, is_tenures)?;
        if own.iter().take(index).any(|other| other.family == asked.family) {
            return refused("each family is named once", asked.family, "named twice".to_owned());
        }
        match plan.iter_mut().find(|planned| planned.family == asked.family) {
            Some(planned) => planned.priorities.extend_from_slice(&asked.priorities),
            None => plan.push(Planned {
                family: asked.family,
                priorities: asked.priorities.clone(),
                first_own: 0,
            }),
        }
    }
    Ok(plan)
}

fn check(families: &[Family], asked: &OwnQueues, is_tenures: bool) -> Result<(), CreateError> {
    let family = usize::try_from(asked.family).ok().and_then(|family| families.get(family));
    let Some(family) = family else {
        let found = format!("the device has {} families", families.len());
        return refused("the family exists", asked.family, found);
    };
    let count = asked.priorities.len();
    let free = family.queues.saturating_sub(u32::from(is_tenures));
    if count == 0 || usize::try_from(free).is_ok_and(|free| count > free) {
        let found = format!("{count} asked for, {free} of {} are not tenure's", family.queues);
        return refused("there are as many queues as asked for, and one at least", asked.family, found);
    }
    match asked.priorities.iter().find(|priority| !(0.0..=1.0).contains(*priority)) {
        None => Ok(()),
        Some(priority) => refused("priorities are 0 to 1", asked.family, format!("{priority}")),
    }
}

fn refused<T>(rule: &'static str, family: u32, found: String) -> Result<T, CreateError> {
    Err(CreateError::InvalidQueues { rule, family, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u32 = 1;
    const C: u32 = 2;
    const T: u32 = 4;
    const S: u32 = 8;
    const DECODE: u32 = 0x20;

    fn families(flags: &[u32]) -> Vec<Family> {
        let family = |flags: &u32| Family {
            flags: vk::QueueFlags::from_raw(*flags),
            queues: 1,
            transfer_granularity: [1; 3],
            timestamp_bits: 0,
        };
        flags.iter().map(family).collect()
    }

    #[test]
    fn one_queue_of_each_kind_is_chosen() {
        use QueueKind::{Compute, Copy, Graphics};
        let all = |flags: &[u32]| choose(&families(flags), 8);
        // NVIDIA: everything, copies, compute, video decoding (which copies too).
        let nvidia = [G | C | T | S, T | S, C | T | S, T | S | DECODE];
        assert_eq!(all(&nvidia), Some(vec![(Graphics, 0), (Compute, 2), (Copy, 1)]));
        let video_first = [T | DECODE, G | C | T, T];
        assert_eq!(all(&video_first), Some(vec![(Graphics, 1), (Copy, 2)]));
        assert_eq!(all(&[G | C | T]), Some(vec![(Graphics, 0)]));
        assert_eq!(all(&[G | T, C | T, G | C]), Some(vec![(Graphics, 2), (Compute, 1)]));
        assert_eq!(all(&[C | T, T]), None);
        assert_eq!(choose(&families(&nvidia), 2), Some(vec![(Graphics, 0), (Compute, 2)]));
        assert_eq!(choose(&families(&nvidia), 0), Some(vec![(Graphics, 0)]));
        let mut empty = families(&nvidia);
        empty[2].queues = 0;
        assert_eq!(choose(&empty, 8), Some(vec![(Graphics, 0), (Copy, 1)]));
    }

    #[test]
    fn kinds_follow_the_flags() {
        let kind = |flags| kind(vk::QueueFlags::from_raw(flags));
        assert_eq!(kind(G | C), Some(QueueKind::Graphics));
        assert_eq!(kind(C), Some(QueueKind::Compute));
        assert_eq!(kind(G), Some(QueueKind::Copy), "graphics without compute cannot do everything");
        assert_eq!(kind(T), Some(QueueKind::Copy));
        assert_eq!(kind(S | DECODE), None);
    }

    /// All capabilities, copies only, and compute.
    fn three_families() -> [Family; 3] {
        let family = |flags, queues| Family {
            flags: vk::QueueFlags::from_raw(flags),
            queues,
            transfer_granularity: [1; 3],
            timestamp_bits: 0,
        };
        [family(7, 16), family(4, 2), family(6, 1)]
    }

    const CHOSEN: [(QueueKind, u32); 2] = [(QueueKind::Graphics, 0), (QueueKind::Compute, 2)];

    fn planned(own: &[(u32, &[f32])]) -> Result<Vec<Planned>, CreateError> {
        let own = own
            .iter()
            .map(|(family, priorities)| OwnQueues { family: *family, priorities: priorities.to_vec() });
        plan(&three_families(), &CHOSEN, &own.collect::<Vec<_>>())
    }

    #[test]
    fn own_queues_are_behind_tenures() {
        let own = |plan: &[Planned]| plan.iter().flat_map(Planned::own).collect::<Vec<_>>();
        let alone = planned(&[]).unwrap();
        assert_eq!((alone.len(), own(&alone)), (2, vec![]));
        let plan = planned(&[(0, &[0.5, 0.25]), (1, &[1.0, 0.0])]).unwrap();
        let priorities: Vec<_> = plan.iter().map(|each| (each.family, each.priorities.as_slice())).collect();
        let expected: [(u32, &[f32]); 3] = [(0, &[1.0, 0.5, 0.25]), (2, &[1.0]), (1, &[1.0, 0.0])];
        assert_eq!(priorities, expected);
        assert_eq!(own(&plan), [(0, 1), (0, 2), (1, 0), (1, 1)], "a family of the program alone from 0");
        assert_eq!(own(&planned(&[(0, &[1.0; 15])]).unwrap()).len(), 15);
    }

    #[test]
    fn counts_and_priorities_are_checked() {
        let message = |own: &[(u32, &[f32])]| planned(own).unwrap_err().to_string();
        let found = message(&[(0, &[1.0; 16])]);
        assert!(found.contains("family 0") && found.contains("16 asked for, 15 of 16"), "{found}");
        assert!(message(&[(2, &[1.0])]).contains("1 asked for, 0 of 1"));
        assert!(message(&[(1, &[1.0; 3])]).contains("3 asked for, 2 of 2"));
        assert!(message(&[(1, &[])]).contains("0 asked for"));
        assert!(message(&[(3, &[1.0])]).contains("3 families"));
        assert!(message(&[(u32::MAX, &[1.0])]).contains("family 4294967295"));
        assert!(message(&[(1, &[0.5, 1.5])]).contains("1.5"));
        assert!(message(&[(1, &[f32::NAN])]).contains("NaN"));
        assert!(message(&[(1, &[-0.5])]).contains("-0.5"));
        assert!(message(&[(1, &[1.0]), (1, &[1.0])]).contains("named twice"));
    }
}
