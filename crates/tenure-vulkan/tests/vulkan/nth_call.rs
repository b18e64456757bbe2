//! Frames in which each call of the driver fails once.

use conformance::{Harness as _, refusal};
use tenure_core::{Config, Gpu};
use tenure_vulkan::DeviceConfig;
use tenure_vulkan::ash::vk;

use crate::disguise::Costume;
use crate::harness::Vulkan;

/// Fails each call in turn, until there are no more; returns their number.
fn refuse_each(costume: fn() -> Costume, result: vk::Result) -> u32 {
    for nth in 0.. {
        let vulkan = Vulkan::disguised(costume(), &DeviceConfig::default());
        let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let disguise = vulkan.disguise();
        let mut is_struck = false;
        let refused =
            refusal::run(&gpu, || disguise.fail_any(nth, result), || is_struck = disguise.forgive_any());
        if let Some(error) = &refused {
            assert!(is_struck, "call {nth}, {result}: {error}, and no call was refused");
        }
        let report = gpu.shutdown();
        assert!(report.is_clean(), "call {nth}, {result}, {refused:?}: {report:?}");
        drop(gpu);
        let problems = vulkan.problems();
        assert!(problems.is_empty(), "call {nth}, {result}, {refused:?}: {}", problems.join("\n"));
        if !is_struck {
            return nth;
        }
    }
    unreachable!("a frame has no end of calls")
}

#[test]
fn each_call_may_be_refused_once() {
    let calls = refuse_each(Costume::plain, vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    assert!(calls > 30, "{calls}");
}

/// On a card with several queues and memory that is not coherent.
#[test]
fn each_call_of_a_discrete_card_may_be_refused_once() {
    let calls = refuse_each(Costume::discrete, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    assert!(calls > 30, "{calls}");
}
