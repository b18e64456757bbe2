//! The layers really watch: the basis of the other tests.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{Barrier, prelude::*};
use tenure_core::{State, Subresource};
use tenure_vulkan::Severity;

use crate::basics::{mapped, run};
use crate::harness::{Vulkan, validated};

fn copies(barrier_between: bool) -> Vec<String> {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let (one, two) = (mapped(&device, 256), mapped(&device, 256));
    run(&device, 1, |list| {
        list.copy_buffer(&one, 0, &two, 0, 256);
        if barrier_between {
            list.barriers(&[Barrier::Transition {
                resource: &two,
                subresource: Subresource::All,
                before: State::COPY_DST,
                after: State::COPY_DST,
                transfer: None,
            }]);
        }
        list.copy_buffer(&one, 0, &two, 0, 256);
    });
    device.destroy_resource(PERMIT, one);
    device.destroy_resource(PERMIT, two);
    drop(device);
    vulkan.problems()
}

/// A missing barrier is a problem, and the barrier cures it.
#[test]
fn a_missing_barrier_is_found() {
    let missing = copies(false);
    assert!(missing.iter().any(|problem| problem.contains("SYNC-HAZARD-WRITE")), "{missing:?}");
    assert_eq!(copies(true), Vec::<String>::new());
}

/// Messages below errors arrive as well, so that advice on memory would.
#[test]
fn advice_arrives() {
    let mut validation = validated().validation;
    validation.best_practices = true;
    let vulkan = Vulkan::new(validated().validation(validation));
    let device = vulkan.device();
    // So small an allocation is advised against.
    let small = mapped(&device, 16);
    device.destroy_resource(PERMIT, small);
    drop(device);
    vulkan.close();
    let messages = vulkan.log().take();
    let advised = messages.iter().any(|message| {
        message.severity == Severity::Warning && message.id.to_lowercase().contains("bestpractices")
    });
    assert!(advised, "{messages:?}");
    assert!(messages.iter().any(crate::harness::is_problem), "it counts: {messages:?}");
}
