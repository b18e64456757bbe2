//! Every driver call fails once, and every driver call from one on fails.

use tenure_core::device::prelude::*;
use tenure_core::{DeviceError, Error, OutOfMemory};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Profile};

use super::scenario::{Program, Refusal};

const SHORTAGES: [FaultKind; 3] =
    [FaultKind::OutOfMemory, FaultKind::OutOfHostMemory, FaultKind::TooManyAllocations];

fn fallible_calls(device: &Device) -> u64 {
    let calls = device.calls();
    CallKind::ALL.iter().filter(|kind| kind.can_fail()).map(|kind| calls.made(*kind)).sum()
}

/// The number of calls of a run without failures; checks that nothing goes wrong.
fn undisturbed(profile: Profile) -> u64 {
    let mut program = Program::new(profile);
    let device = program.gpu.device().clone();
    program.run();
    assert!(program.refusals.is_empty(), "{profile:?}");
    let calls = fallible_calls(&device);
    program.verify();
    assert!(program.end().is_clean());
    device.check_clean().unwrap();
    calls
}

/// The numbers that explain a shortage; all of them are real.
fn check_error(device: &Device, error: &OutOfMemory, context: &str) {
    let OutOfMemory { name, size, alignment, class, budget, largest_free, answers, .. } = error;
    assert!(!name.is_empty() && *size > 0 && alignment.is_power_of_two(), "{context}: {error:?}");
    let properties = device.properties();
    let memory = properties.memory_types.get(usize::from(class.memory.0)).expect("the class's memory exists");
    let expected = device.budget().unwrap()[usize::from(memory.heap)];
    assert_eq!(budget.budget, expected.budget, "{context}");
    assert!(budget.budget > 0 && budget.usage <= budget.budget, "{context}: {budget:?}");
    assert!(!answers.is_empty(), "{context}");
    for answer in answers {
        assert!(answer.refusal.is_shortage(), "{context}: {answer:?}");
    }
    let text = error.to_string();
    for number in [*size, budget.budget, budget.usage, *largest_free] {
        assert!(text.contains(&number.to_string()), "{context}: {text}");
    }
    assert!(text.contains(name.as_str()) && text.contains(class.kind.as_str()), "{context}: {text}");
}

fn check_refusal(device: &Device, refusal: &Refusal, context: &str) {
    match &refusal.error {
        Error::OutOfMemory(error) => check_error(device, error, context),
        Error::Device { source, .. } => {
            let is_passed_on = !refusal.is_creation && source.is_shortage();
            assert!(is_passed_on, "{context}, {}: {source}", refusal.step);
        }
        error => panic!("{context}, {}: {error}", refusal.step),
    }
}

/// A run with `fault`; afterwards everything works again.
fn disturbed(profile: Profile, fault: Fault, may_refuse: bool, context: &str) {
    let mut program = Program::new(profile);
    let device = program.gpu.device().clone();
    device.faults().inject(fault);
    program.run();
    device.faults().clear();
    for refusal in &program.refusals {
        check_refusal(&device, refusal, context);
        assert!(
            may_refuse || !refusal.is_creation,
            "{context}: the fallback chain goes on after one refusal, but {}: {}",
            refusal.step,
            refusal.error
        );
    }
    program.verify();
    let report = program.end();
    assert!(report.is_clean(), "{context}: {report:?}");
    device.check_clean().unwrap_or_else(|findings| panic!("{context}: {findings}"));
}

fn every_call(profile: Profile) {
    let calls = undisturbed(profile);
    assert!(calls > 60, "{profile:?}: the scenario makes {calls} driver calls");
    for n in 1..=calls {
        for shortage in SHORTAGES {
            let context = format!("{profile:?}: {shortage:?} at call {n} of {calls}");
            disturbed(profile, Fault::nth(n, shortage), false, &context);
        }
        let context = format!("{profile:?}: call {n} of {calls} and all later ones");
        disturbed(profile, Fault::nth(n, FaultKind::OutOfMemory).onwards(), true, &context);
    }
}

#[test]
fn every_call_may_fail_on_d3d12_heap_tier_1() {
    every_call(Profile::D3D12_TIER1);
}

#[test]
fn every_call_may_fail_on_d3d12_heap_tier_2() {
    every_call(Profile::D3D12_TIER2);
}

#[test]
fn every_call_may_fail_on_vulkan_with_many_memory_types() {
    every_call(Profile::VULKAN_NVIDIA);
}

#[test]
fn every_call_may_fail_on_vulkan_with_one_memory_type() {
    every_call(Profile::VULKAN_LAVAPIPE);
}

/// If one kind of call always fails, the others still serve requests.
#[test]
fn each_kind_of_call_may_fail_permanently() {
    for profile in Profile::ALL {
        for kind in CallKind::ALL.iter().filter(|kind| kind.can_fail()) {
            let context = format!("{profile:?}: no {}", kind.name());
            // Ranges and placed resources have committed ones to fall back on.
            let is_heap = matches!(kind, CallKind::CreateHeap | CallKind::CreatePlaced);
            let fault = Fault::nth(1, FaultKind::OutOfMemory).of(*kind).onwards();
            disturbed(*profile, fault, !is_heap, &context);
        }
    }
}

/// A failure that is no shortage ends the fallback chain at once and is passed on.
#[test]
fn a_lost_device_ends_the_fallback_chain() {
    let program = Program::new(Profile::DISCRETE);
    let device = program.gpu.device().clone();
    device.faults().inject(Fault::nth(1, FaultKind::Removed("hung".into())).of(CallKind::CreateHeap));
    let desc = tenure_core::BufferDesc::new(64, tenure_core::Usage::VERTEX).name("rock");
    let error = program.gpu.create_buffer(&desc).err();
    let expected = DeviceError::Lost { reason: "hung".into() };
    assert_eq!(error, Some(Error::Device { name: "rock".into(), source: expected }));
    let committed = device.calls().made(CallKind::CreateCommitted);
    assert_eq!(committed, 0, "nothing else is tried");
    assert_eq!(program.end().lost.as_deref(), Some("hung"));
    device.check_clean().unwrap();
}
