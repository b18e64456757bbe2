//! The suite on the simulated device, for every hardware profile, under a random lag and with all
//! of its checks.

#[path = "support/probe.rs"]
mod probe;

use conformance::{Effort, Harness, Probe};
use tenure_core::device::{DescriptorLimits, prelude::*};
use tenure_core::{Config, Gpu};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, List, Profile};

struct Sim(Device, Effort);

/// Calls that make an API object.
const MAKING: [CallKind; 9] = [
    CallKind::CreateHeap,
    CallKind::CreateCommitted,
    CallKind::CreatePlaced,
    CallKind::CreateReserved,
    CallKind::CreateList,
    CallKind::CreateDescriptorHeap,
    CallKind::WriteDescriptor,
    CallKind::CreateSetLayout,
    CallKind::CreateSetPool,
];

impl Sim {
    fn new(profile: Profile) -> Self {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Random { max: 6 }).seed(3));
        // A thousand steady frames are enough on one profile.
        if profile == Profile::VULKAN_NVIDIA {
            return Self(device, Effort { operations: 6000, ..Effort::default() });
        }
        Self::in_brief(device)
    }

    fn in_brief(device: Device) -> Self {
        Self(device, Effort { frames: 200, operations: 2000, ..Effort::default() })
    }
}

impl Harness for Sim {
    type Device = Device;

    fn device(&self) -> Device {
        self.0.clone()
    }

    fn hold(&self) -> bool {
        self.0.faults().delay_fences(u64::MAX);
        true
    }

    fn settle(&self) {
        self.0.faults().delay_fences(0);
        assert!(self.0.run_until_idle(), "a submission waits for a point that no submission reaches");
    }

    fn probe(&self, list: &List, probe: &Probe<'_, Device>) {
        let Probe { through, look, out, offset } = probe;
        probe::record(list, through, look, out, *offset);
    }

    fn driver_objects(&self) -> Option<u64> {
        let calls = self.0.calls();
        Some(MAKING.iter().map(|kind| calls.made(*kind)).sum())
    }

    fn problems(&self) -> Vec<String> {
        self.0.check_clean().err().iter().map(ToString::to_string).collect()
    }

    fn effort(&self) -> Effort {
        self.1
    }
}

macro_rules! profiles {
    ($($name:ident: $profile:ident,)*) => {
        $(
            mod $name {
                conformance::suite!(super::Sim::new(tenure_sim::Profile::$profile));
            }
        )*

        #[test]
        fn every_profile_is_here() {
            assert_eq!(Profile::ALL, [$(Profile::$profile,)*]);
        }
    };
}

profiles! {
    d3d12_tier1: D3D12_TIER1,
    d3d12_tier2: D3D12_TIER2,
    d3d12_rebar: D3D12_REBAR,
    d3d12_uma: D3D12_UMA,
    d3d12_enhanced: D3D12_ENHANCED,
    vulkan_nvidia: VULKAN_NVIDIA,
    vulkan_amd_small_bar: VULKAN_AMD_SMALL_BAR,
    vulkan_intel: VULKAN_INTEL,
    vulkan_mobile: VULKAN_MOBILE,
    vulkan_lavapipe: VULKAN_LAVAPIPE,
}

/// Vulkan with descriptor buffers: heaps that lists are told of, as on Direct3D 12, and no sets.
mod vulkan_descriptor_buffers {
    conformance::suite!(super::without_sets());
}

fn without_sets() -> Sim {
    let profile = Profile::VULKAN_NVIDIA;
    let limits = Device::new(profile).properties().descriptors;
    let options = DeviceConfig::new(profile).descriptors(DescriptorLimits { sets: false, ..limits });
    Sim::in_brief(Device::with_config(options.lag(Lag::Random { max: 6 }).seed(3)))
}

/// Frames in which each call of the driver fails once, on every kind of hardware.
#[test]
fn each_call_may_be_refused_once() {
    for profile in Profile::ALL {
        for kind in [FaultKind::OutOfMemory, FaultKind::OutOfHostMemory] {
            // Where there is a second way, a refusal is no error.
            let answers = (1..200).map_while(|nth| is_refused(*profile, nth, &kind));
            let refused = answers.filter(|is_refused| *is_refused).count();
            assert!(refused > 10, "{profile:?}: {refused}");
        }
    }
}

/// Whether the frame could not do without this call; `None` if it has fewer calls.
fn is_refused(profile: Profile, nth: u64, kind: &FaultKind) -> Option<bool> {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(2)));
    let gpu = Gpu::new(device.clone(), Config::default()).expect("the default configuration is valid");
    let faults = device.faults();
    let refuse = || faults.inject(Fault::nth(nth, kind.clone()));
    let refused = conformance::refusal::run(&gpu, refuse, || faults.clear());
    assert!(gpu.shutdown().is_clean(), "{profile:?}, call {nth}: {refused:?}");
    drop(gpu);
    device
        .check_clean()
        .unwrap_or_else(|findings| panic!("{profile:?}, call {nth}, {refused:?}: {findings}"));
    let calls = device.calls();
    let has_failed = CallKind::ALL.iter().any(|kind| calls.failed(*kind) > 0);
    has_failed.then_some(refused.is_some())
}
