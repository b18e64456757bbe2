//! Queues for the program's own use.

use tenure_core::QueueId;
use tenure_core::device::prelude::*;
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Adapter, CreateError, Device, adapters};

use crate::basics::{LONG, at};
use crate::harness::{Log, PERMIT, Vulkan, validated};

/// The program submits to a queue of its own while tenure submits to its own.
fn check_work(device: &Device) {
    for own in device.own_queues() {
        assert!((0..8).all(|queue| device.queue(QueueId(queue)) != Some(own.queue)), "it is not tenure's");
        assert!(device.queue_families().contains(&own.family), "which buffers are shared with");
        // SAFETY: only this thread uses the queue, and the arguments are valid.
        unsafe {
            device.raw().queue_submit(own.queue, &[vk::SubmitInfo::default()], vk::Fence::null()).unwrap();
            device.raw().queue_wait_idle(own.queue).unwrap();
        }
    }
    device.submit(PERMIT, QueueId(0), &[], &[], 1).unwrap();
    assert!(device.wait(at(1), LONG).unwrap());
}

/// Each family provides its remaining queues, and no more.
#[test]
fn each_family_provides_its_remaining_queues() {
    let alone = Vulkan::new(validated());
    let log = Log::default();
    let options = log.listen(validated());
    let adapter: Adapter = adapters(&options).unwrap().remove(0);
    let plain = adapter.create(&options).unwrap();
    assert!(plain.own_queues().is_empty());
    for (index, family) in (0_u32..).zip(adapter.queue_families()) {
        let is_tenures = plain.queue_families().contains(&index);
        let free = family.queues - u32::from(is_tenures);
        let create = |count: u32| {
            let priorities = vec![0.5; usize::try_from(count).unwrap()];
            adapter.create(&options.clone().own_queues(index, &priorities))
        };
        if free > 0 {
            let device = create(free).unwrap();
            assert_eq!(device.own_queues().len(), usize::try_from(free).unwrap());
            assert!(device.own_queues().iter().all(|own| own.family == index));
            check_work(&device);
        }
        let refused = create(free + 1).unwrap_err();
        let expected = format!("{} asked for, {free} of {} are not tenure's", free + 1, family.queues);
        assert!(refused.to_string().contains(&expected), "{refused}");
    }
    check_work(&plain);
    let families = u32::try_from(adapter.queue_families().count()).unwrap();
    let refused = adapter.create(&options.clone().own_queues(families, &[1.0])).unwrap_err();
    assert!(matches!(refused, CreateError::InvalidQueues { family, .. } if family == families), "{refused}");
    drop((plain, options, adapter));
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}
