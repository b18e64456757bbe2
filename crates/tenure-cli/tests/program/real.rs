//! Replays with the counters and byte checks for real devices, on simulated devices.

use std::sync::{Arc, Mutex};

use tenure::sim::{CallKind, Fault, FaultKind, Profile};
use tenure::{config::Strategy, sim};
use tenure_cli::replay::{
    DriverTime, Hazards, Job, NoDevice, Open, Opened, Outcome, Real, ReplayError, Settings, Simulated,
    Target, Verdict, Watch,
};
use tenure_trace::{Trace, Workload, generate};

const STRATEGIES: [Strategy; 3] = [Strategy::Committed, Strategy::Placed, Strategy::Pooled];

/// Opens simulated devices as if they could neither count nor check.
struct Unchecked {
    profile: Profile,
    fault: Option<Fault>,
    complaint: Option<&'static str>,
    /// Keeps the hazards alive, like a device that was not destroyed.
    held: Mutex<Option<Arc<Hazards>>>,
    opened: Mutex<Vec<sim::Device>>,
}

impl Unchecked {
    fn new(profile: Profile) -> Self {
        Self { profile, fault: None, complaint: None, held: Mutex::new(None), opened: Mutex::default() }
    }
}

impl Open for Unchecked {
    type Device = sim::Device;

    fn open(&self, hazards: &Arc<Hazards>) -> Result<Opened<sim::Device>, NoDevice> {
        let options = sim::DeviceConfig::new(self.profile).lag(sim::Lag::Random { max: 9 });
        let device = sim::Device::with_config(options);
        if let Some(fault) = &self.fault {
            device.faults().inject(fault.clone());
        }
        if let Some(complaint) = self.complaint {
            hazards.report(complaint);
        }
        if let Some(held) = &mut *self.held.lock().unwrap() {
            *held = Arc::clone(hazards);
        }
        self.opened.lock().unwrap().push(device.clone());
        Ok(Opened::new(device, Watch::Validation))
    }
}

fn trace() -> Trace {
    Trace::from_events(generate(Workload::Voxel, 11, 6000)).unwrap()
}

fn replay(target: &dyn Target, trace: &Trace, strategy: Strategy) -> Result<Outcome, ReplayError> {
    let program = target.prepare(trace).unwrap();
    let (summary, settings) = (&trace.summary, &Settings::default());
    target.replay(&Job { name: "voxel", summary, program: &program, strategy, settings, progress: &|_| {} })
}

#[test]
fn the_outcome_equals_the_simulated_device_s() {
    let trace = trace();
    for profile in [Profile::D3D12_TIER1, Profile::VULKAN_MOBILE] {
        for strategy in STRATEGIES {
            let unchecked = Real(Unchecked::new(profile));
            let outcome = replay(&unchecked, &trace, strategy).unwrap();
            assert_eq!(outcome.verdict(), Verdict::Clean, "{:#?}", outcome.findings);
            assert_eq!((outcome.device, outcome.watch), ("sim", Watch::Validation));
            assert_eq!(outcome.driver_time, DriverTime::Measured);
            assert_eq!(outcome.driver_creates, outcome.driver_destroys);
            assert_eq!(outcome.stats_peak_reserved_bytes, outcome.peak_reserved_bytes);
            if strategy == Strategy::Committed {
                assert_eq!(outcome.driver_allocations, trace.summary.allocs);
            }
            let its_own = replay(&Simulated { profile }, &trace, strategy).unwrap();
            assert_eq!((outcome.ops, outcome.peak_live_bytes), (its_own.ops, its_own.peak_live_bytes));
            assert_eq!(outcome.reads_checked, its_own.reads_checked);
            assert!(outcome.reads_checked > 8 * outcome.frames / 2, "{}", outcome.reads_checked);
            for device in &*unchecked.0.opened.lock().unwrap() {
                device.check_clean().unwrap();
            }
        }
    }
}

#[test]
fn messages_of_the_layer_are_hazards() {
    let unchecked = Real(Unchecked { complaint: Some("VUID-1: wrong"), ..Unchecked::new(Profile::DISCRETE) });
    let outcome = replay(&unchecked, &trace(), Strategy::Pooled).unwrap();
    assert_eq!((outcome.hazards, outcome.verdict()), (1, Verdict::Faulty));
    assert_eq!(outcome.findings, ["hazard: VUID-1: wrong"]);
}

#[test]
fn a_device_with_a_reference_is_a_leak() {
    let unchecked =
        Real(Unchecked { held: Mutex::new(Some(Arc::default())), ..Unchecked::new(Profile::DISCRETE) });
    let outcome = replay(&unchecked, &trace(), Strategy::Pooled).unwrap();
    assert_eq!((outcome.leaks, outcome.verdict()), (1, Verdict::Faulty));
    assert_eq!(outcome.findings, ["leak: devices never destroyed: 1"]);
}

#[test]
fn out_of_memory_is_a_failed_creation() {
    let fault = Fault::nth(20, FaultKind::OutOfMemory).of(CallKind::CreateCommitted).onwards();
    let unchecked = Real(Unchecked { fault: Some(fault), ..Unchecked::new(Profile::DISCRETE) });
    let outcome = replay(&unchecked, &trace(), Strategy::Committed).unwrap();
    assert!(outcome.failed > 0 && outcome.leaks == 0 && outcome.hazards == 0, "{outcome:?}");
    assert!(outcome.findings[0].contains("out of memory"), "{:?}", outcome.findings);
}

#[test]
fn a_lost_device_ends_the_replay_at_any_call() {
    for nth in [1, 2, 3, 5, 10, 50, 150] {
        let fault = Fault::nth(nth, FaultKind::Removed("pulled out".to_owned()));
        let unchecked = Real(Unchecked {
            fault: Some(fault),
            complaint: Some("told so"),
            ..Unchecked::new(Profile::DISCRETE)
        });
        let broken = replay(&unchecked, &trace(), Strategy::Pooled).unwrap_err();
        let ReplayError::Broken { source, hazards } = broken else { panic!("{broken}") };
        assert!(source.is_device_lost() && source.to_string().contains("pulled out"), "{source}");
        assert_eq!(hazards, ["told so"]);
    }
}

#[test]
fn any_single_shortage_is_survived_or_reported() {
    for nth in 1..=120 {
        let fault = Fault::nth(nth, FaultKind::OutOfHostMemory);
        let unchecked = Real(Unchecked { fault: Some(fault), ..Unchecked::new(Profile::D3D12_TIER2) });
        match replay(&unchecked, &trace(), Strategy::Pooled) {
            Ok(outcome) => assert_eq!((outcome.leaks, outcome.hazards), (0, 0), "{:?}", outcome.findings),
            Err(ReplayError::Broken { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        for device in &*unchecked.0.opened.lock().unwrap() {
            device.check_clean().unwrap();
        }
    }
}
