//! The race check compared with the definition: two accesses race if they touch a common byte, one writes, and
//! neither submission is ordered before the other.

use std::time::Duration;

use proptest::prelude::*;
use tenure_core::device::*;
use tenure_sim::{Checks, Device, DeviceConfig, HazardKind, Lag, Profile};

use crate::common::*;

#[derive(Clone, Debug)]
enum Step {
    /// Waits for the newest submissions of these queues.
    Submit {
        queue: u8,
        start: u64,
        size: u64,
        write: bool,
        waits: [bool; 3],
    },
    Poll(u8),
    /// Waits on the CPU for all but the newest submissions of a queue.
    Wait(u8, u64),
}

/// Mostly each queue uses its own bytes, or waits: otherwise everything would race at once.
fn step() -> impl Strategy<Value = Step> {
    let own = (0_u8..3, 0_u64..900, 1_u64..20, any::<bool>()).prop_map(|(queue, start, size, write)| {
        Step::Submit { queue, start: u64::from(queue) * 1000 + start, size, write, waits: [false; 3] }
    });
    let shared = (0_u8..3, 0_u64..2900, 1_u64..90, any::<bool>())
        .prop_map(|(queue, start, size, write)| Step::Submit { queue, start, size, write, waits: [true; 3] });
    let any = (0_u8..3, 0_u64..2900, 1_u64..9, any::<bool>(), any::<[bool; 3]>())
        .prop_map(|(queue, start, size, write, waits)| Step::Submit { queue, start, size, write, waits });
    let cpu = prop_oneof![
        (0_u8..3).prop_map(Step::Poll),
        (0_u8..3, 0_u64..3).prop_map(|(queue, but)| Step::Wait(queue, but))
    ];
    prop_oneof![60 => own, 15 => shared, 1 => any, 20 => cpu]
}

/// One submission as the definition sees it.
struct Made {
    queue: usize,
    serial: u64,
    bytes: std::ops::Range<u64>,
    write: bool,
    /// Whether each earlier submission is ordered before it.
    after: Vec<bool>,
}

#[derive(Default)]
struct Oracle {
    made: Vec<Made>,
    observed: [u64; 3],
}

impl Oracle {
    fn submit(
        &mut self,
        queue: usize,
        serial: u64,
        bytes: std::ops::Range<u64>,
        write: bool,
        waits: &[QueueSerial],
    ) {
        let mut after = vec![false; self.made.len()];
        for (index, earlier) in self.made.iter().enumerate().rev() {
            let waited =
                waits.iter().any(|wait| wait.queue.index() == earlier.queue && wait.serial >= earlier.serial);
            let seen = self.observed[earlier.queue] >= earlier.serial;
            if earlier.queue == queue || waited || seen {
                after[index] = true;
            }
            if after[index] {
                for (before, is) in earlier.after.iter().enumerate() {
                    after[before] |= is;
                }
            }
        }
        self.made.push(Made { queue, serial, bytes, write, after });
    }

    fn races(&self) -> bool {
        self.made.iter().enumerate().any(|(index, later)| {
            self.made[..index].iter().zip(&later.after).any(|(earlier, ordered)| {
                let common = earlier.bytes.start < later.bytes.end && later.bytes.start < earlier.bytes.end;
                !ordered && common && (earlier.write || later.write)
            })
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_race_is_found_exactly_when_there_is_one(
        steps in prop::collection::vec(step(), 1..500), seed: u64, lag in prop_oneof![Just(0_u64), 0_u64..12],
    ) {
        let options = DeviceConfig::new(Profile::DISCRETE).seed(seed).lag(Lag::Random { max: lag }).checks(Checks::RACES);
        let device = Device::with_config(options);
        let rock = committed(&device, "rock", &buffer(4096, Usage::COPY_SRC | Usage::COPY_DST));
        let mut oracle = Oracle::default();
        let mut serials = [0; 3];
        for step in steps {
            match step {
                Step::Submit { queue, start, size, write, waits } => {
                    let newest = (0_u8..3).filter(|other| waits[usize::from(*other)] && *other != queue);
                    let waits: Vec<_> =
                        newest.map(|other| after(QueueId(other), serials[usize::from(other)])).collect();
                    let index = usize::from(queue);
                    serials[index] += 1;
                    let state = if write { State::COPY_DST } else { State::COPY_SRC };
                    submit(&device, QueueId(queue), serials[index], &waits, |list| {
                        list.use_buffer(&rock, start, size, state);
                    });
                    oracle.submit(index, serials[index], start..start + size, write, &waits);
                }
                Step::Poll(queue) => {
                    let seen = device.completed(QueueId(queue)).unwrap();
                    oracle.observed[usize::from(queue)] = seen;
                }
                Step::Wait(queue, but) => {
                    let index = usize::from(queue);
                    let serial = serials[index].saturating_sub(but);
                    prop_assert!(device.wait(after(QueueId(queue), serial), Duration::from_secs(9)).unwrap());
                    oracle.observed[index] = oracle.observed[index].max(serial);
                }
            }
        }
        let found = hazards(&device);
        prop_assert!(found.iter().all(|hazard| hazard.kind == HazardKind::QueueRace));
        prop_assert_eq!(!found.is_empty(), oracle.races(), "{:?}", found);
    }
}

const USES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

/// Many accesses to separate bytes, so that the history is cleaned up.
fn scatter(list: &mut tenure_sim::List, rock: &tenure_sim::Resource) {
    (0..300).for_each(|at| list.use_buffer(rock, 1000 + at * 8, 4, State::COPY_DST));
}

/// `graphics` was seen complete, but only after the copy queue's submission.
fn late_sight(scattered_by_the_late: bool) -> Vec<tenure_sim::Hazard> {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &buffer(4096, USES));
    submit(&device, GRAPHICS, 1, &[], |list| list.use_buffer(&rock, 0, 4, State::COPY_DST));
    submit(&device, COPY, 1, &[], |list| {
        if scattered_by_the_late {
            scatter(list, &rock);
        }
        list.use_buffer(&rock, 0, 4, State::COPY_DST);
    });
    assert!(device.complete(GRAPHICS, 1));
    assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
    if !scattered_by_the_late {
        submit(&device, GRAPHICS, 2, &[], |list| scatter(list, &rock));
        assert!(device.complete(GRAPHICS, 2));
    }
    hazards(&device)
}

#[test]
fn uses_unknown_to_a_pending_submission_are_remembered() {
    assert_one(&late_sight(false), HazardKind::QueueRace, &["rock"]);
    assert_one(&late_sight(true), HazardKind::QueueRace, &["rock"]);
}

#[test]
fn uses_awaited_by_a_pending_submission_are_remembered() {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &buffer(4096, USES));
    let touch = |queue, waits: &[QueueSerial]| {
        submit(&device, queue, 1, waits, |list| list.use_buffer(&rock, 0, 4, State::COPY_DST));
    };
    touch(COPY, &[]);
    submit(&device, GRAPHICS, 1, &[after(COPY, 1)], |_| {});
    touch(COMPUTE, &[after(GRAPHICS, 1)]);
    assert!(device.complete(COPY, 1));
    (2..200).for_each(|serial| submit(&device, GRAPHICS, serial, &[], |_| {}));
    assert!(device.complete(GRAPHICS, 199));
    assert_eq!(device.completed(GRAPHICS).unwrap(), 199);
    assert_clean(&hazards(&device));
}
