//! Which queues of a device are used.

use ash::vk;
use tenure_core::device::{MAX_QUEUES, QueueKind};

use crate::queue::Family;

const WORK: vk::QueueFlags = vk::QueueFlags::from_raw(
    vk::QueueFlags::GRAPHICS.as_raw() | vk::QueueFlags::COMPUTE.as_raw() | vk::QueueFlags::TRANSFER.as_raw(),
);

/// Graphics and compute; copies come with either.
const EVERYTHING: vk::QueueFlags =
    vk::QueueFlags::from_raw(vk::QueueFlags::GRAPHICS.as_raw() | vk::QueueFlags::COMPUTE.as_raw());

/// The kind of queue that a family has; `None` for one that cannot even copy.
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

/// The queues to use, by family, at most `most` of them: one that can do everything, then one that
/// only computes and copies, then one that only copies. `None` when nothing can do everything.
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

/// How much a family is for besides work and sparse binding.
fn extras(flags: vk::QueueFlags) -> u32 {
    let usual = WORK | vk::QueueFlags::SPARSE_BINDING | vk::QueueFlags::PROTECTED;
    (flags & !usual).as_raw().count_ones()
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
}
