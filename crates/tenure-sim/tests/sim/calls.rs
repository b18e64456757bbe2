//! Counters, costs, and reproducible runs.

use proptest::prelude::*;
use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{CallKind, Costs, Device, DeviceConfig, Lag, Profile};

use crate::common::*;

#[test]
fn calls_are_counted_with_the_costs_of_the_model() {
    let costs = Costs { create_committed: 1000, per_mib: 10, destroy_memory: 7, map: 3, ..Costs::default() };
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).costs(costs));
    let up = device.create_committed(&buffer(5 << 20, Usage::COPY_SRC), MemoryTypeId(1)).unwrap();
    device.map(&up).unwrap();
    assert!(device.create_committed(&buffer(0, Usage::COPY_SRC), MemoryTypeId(1)).is_err());
    device.destroy_resource(Permit::checked(), up);
    let calls = device.calls();
    assert_eq!((calls.made(CallKind::CreateCommitted), calls.failed(CallKind::CreateCommitted)), (2, 1));
    assert_eq!((calls.made(CallKind::Map), calls.made(CallKind::DestroyResource), calls.total()), (1, 1, 4));
    assert_eq!(calls.cost_ns, 1000 + 50 + 3 + 1000 + 7);
}

#[test]
fn the_call_log_is_kept_on_request() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).record_calls());
    device.create_committed(&buffer(100, Usage::VERTEX), MemoryTypeId(0)).unwrap();
    assert!(device.create_committed(&buffer(0, Usage::VERTEX), MemoryTypeId(0)).is_err());
    let log = device.call_log();
    assert_eq!(log[0], "create_committed(65536, 0): ok");
    assert!(log[1].contains("invalid description: size = 0"), "{}", log[1]);
    assert!(Device::new(Profile::DISCRETE).call_log().is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    Destroy(u8),
    Write(u8),
    Submit { queue: u8, src: u8, dst: u8, wait: bool },
    Poll(u8),
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u8>().prop_map(Step::Create),
        any::<u8>().prop_map(Step::Destroy),
        any::<u8>().prop_map(Step::Write),
        (0_u8..3, any::<u8>(), any::<u8>(), any::<bool>()).prop_map(|(queue, src, dst, wait)| Step::Submit {
            queue,
            src,
            dst,
            wait
        }),
        (0_u8..3).prop_map(Step::Poll),
        (0_u8..3).prop_map(Step::Wait),
    ]
}

/// Runs the steps, with any hazards, and returns all observable results.
fn history(profile: Profile, seed: u64, steps: &[Step]) -> Vec<String> {
    let options = DeviceConfig::new(profile).seed(seed).lag(Lag::Random { max: 6 }).record_calls();
    let device = Device::with_config(options);
    let queues = device.properties().queues.len() as u8;
    let mut live: Vec<tenure_sim::Resource> = Vec::new();
    let mut serials = [0_u64; 3];
    let mut seen = Vec::new();
    for step in steps {
        match *step {
            Step::Create(size) => {
                let desc = buffer(u64::from(size) + 64, Usage::COPY_SRC | Usage::COPY_DST);
                let created = device.create_committed(&desc, upload_type(&device, false)).unwrap();
                seen.push(format!("address {:?}", device.gpu_address(&created)));
                live.push(created);
            }
            Step::Destroy(which) if !live.is_empty() => {
                let index = usize::from(which) % live.len();
                device.destroy_resource(Permit::checked(), live.swap_remove(index));
            }
            Step::Write(which) if !live.is_empty() => {
                let mapping = device.map(&live[usize::from(which) % live.len()]).unwrap();
                mapping.write(u64::from(which % 32), &[which; 16]).unwrap();
                let mut out = [0; 64];
                mapping.read(0, &mut out).unwrap();
                seen.push(format!("{out:?}"));
            }
            Step::Submit { queue, src, dst, wait } if live.len() > 1 => {
                let queue = QueueId(queue % queues);
                let src = usize::from(src) % live.len();
                let dst = usize::from(dst) % live.len();
                if src == dst {
                    continue;
                }
                let list = record(&device, queue, |list| list.copy_buffer(&live[src], 0, &live[dst], 8, 40));
                let other = QueueId((queue.0 + 1) % queues);
                let waits = [after(other, serials[other.index()])];
                let waits = if wait && other != queue { &waits[..] } else { &[] };
                serials[queue.index()] += 1;
                device.submit(Permit::checked(), queue, &[&list], waits, serials[queue.index()]).unwrap();
            }
            Step::Poll(queue) => {
                let queue = QueueId(queue % queues);
                seen.push(format!("completed {}", device.completed(queue).unwrap()));
            }
            Step::Wait(queue) => {
                let queue = QueueId(queue % queues);
                finish(&device, queue, serials[queue.index()]);
            }
            _ => {}
        }
    }
    device.run_until_idle();
    seen.extend(device.hazards().iter().map(ToString::to_string));
    seen.extend(device.leaks().iter().map(ToString::to_string));
    seen.extend(device.call_log());
    seen.push(format!("{:?} at {}", device.calls(), device.now()));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_same_seed_and_calls_give_the_same_run(
        steps in prop::collection::vec(step(), 1..120), seed: u64, profile in 0..Profile::ALL.len(),
    ) {
        let profile = Profile::ALL[profile];
        prop_assert_eq!(history(profile, seed, &steps), history(profile, seed, &steps));
    }
}
