//! Examinations of simulated devices, healthy and failing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure::sim::{CallKind, Device, Fault, FaultKind, Profile};
use tenure_cli::doctor::{differences, examine_simulated, profile_code};

const STEPS: [&str; 11] = [
    "device",
    "placement",
    "sizes",
    "budgets",
    "allocations",
    "capacity",
    "mapping",
    "uploads",
    "tiles",
    "timestamps",
    "presentation",
];

struct Examined {
    json: String,
    found: Value,
    tables: String,
}

impl Examined {
    fn of(profile: Profile, share: f64, seconds: u64, change: impl Fn(&Device) + 'static) -> Self {
        let make = move |profile| {
            let device = Device::new(profile);
            change(&device);
            device
        };
        let found = examine_simulated(profile, share, Duration::from_secs(seconds), make).unwrap();
        Self { found: serde_json::from_str(&found.json).unwrap(), json: found.json, tables: found.tables }
    }

    fn healthy(profile: Profile) -> Self {
        Self::of(profile, 0.25, 20, |_| ())
    }

    fn with_fault(fault: Fault) -> Self {
        Self::of(Profile::VULKAN_NVIDIA, 0.25, 10, move |device| device.faults().inject(fault.clone()))
    }

    fn status(&self, step: &str) -> &str {
        self.found[step]["status"].as_str().unwrap()
    }

    fn rows(&self, step: &str) -> &[Value] {
        self.found[step]["result"].as_array().unwrap()
    }

    #[track_caller]
    fn assert_explained(&self) {
        for step in STEPS {
            let is_explained = self.found[step].get("error").is_some();
            assert_eq!(self.status(step) == "done", !is_explained, "{step}: {}", self.found[step]);
        }
        assert!(!self.tables.is_empty());
    }
}

fn number(row: &Value, field: &str) -> i64 {
    row[field].as_i64().unwrap()
}

#[test]
fn every_profile_is_healthy_and_equal_to_itself() {
    for profile in Profile::ALL {
        let examined = Examined::healthy(*profile);
        for step in STEPS {
            let may_skip = ["tiles", "presentation"].contains(&step);
            let status = examined.status(step);
            assert!(
                status == "done" || may_skip && status == "skipped",
                "{profile:?}: {}",
                examined.found[step]
            );
        }
        let sizes = &examined.found["sizes"]["result"];
        assert_eq!(
            (number(sizes, "compared"), number(sizes, "equal")),
            (2_000, 2_000),
            "{profile:?}: {sizes}"
        );
        for row in examined.rows("capacity") {
            let (taken, limit) = (number(row, "taken"), number(row, "limit"));
            assert!(taken > 0 && taken <= limit && row["refused"] == false, "{profile:?}: {row}");
        }
        for row in examined.rows("budgets") {
            let allocated = number(row, "allocated");
            assert!(allocated > 0 && number(row, "growth") >= allocated, "{profile:?}: {row}");
        }
        assert_eq!(differences(&examined.json).unwrap(), Vec::<String>::new(), "{profile:?}");
        assert!(examined.tables.contains("2000 of 2000 are equal"));
    }
}

#[test]
fn a_direct_write_needs_the_feature() {
    for (profile, is_direct) in [(Profile::VULKAN_LAVAPIPE, true), (Profile::D3D12_TIER1, false)] {
        let examined = Examined::healthy(profile);
        let textures = &examined.found["uploads"]["result"]["textures"];
        let rows = textures["rows"].as_array().unwrap();
        assert!(
            rows.len() >= 3 && rows.iter().all(|row| row["is_direct"] == is_direct),
            "{profile:?}: {textures}"
        );
        if !is_direct {
            assert_eq!(textures["staged_is_faster_from"], Value::Null);
        }
    }
}

/// A device that is lost, or out of memory, at each call in turn: the other steps continue.
#[test]
fn failures_at_each_call_end_one_step_only() {
    for kind in [FaultKind::Removed("hung".into()), FaultKind::OutOfMemory, FaultKind::OutOfHostMemory] {
        for call in [1, 2, 5, 13, 100] {
            let examined = Examined::with_fault(Fault::nth(call, kind.clone()));
            examined.assert_explained();
            assert_eq!(examined.status("sizes"), "done");
        }
    }
}

#[test]
fn a_device_that_refuses_all_memory_is_described() {
    let examined = Examined::with_fault(Fault::nth(1, FaultKind::OutOfMemory).onwards());
    assert_eq!((examined.status("device"), examined.status("timestamps")), ("done", "failed"));
    examined.assert_explained();
    for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
        let examined = Examined::with_fault(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
        assert_eq!(examined.status("sizes"), "done");
        let rows = examined.rows("capacity");
        let is_refused = |row: &Value| row["refused"] == true && number(row, "taken") == 0;
        assert_eq!(rows.iter().all(is_refused), call == CallKind::CreateHeap, "{rows:?}");
    }
}

#[test]
fn a_lost_device_fails_each_step() {
    let examined = Examined::of(Profile::VULKAN_NVIDIA, 0.25, 60, |device| device.faults().remove("hung"));
    for step in STEPS.into_iter().filter(|step| *step != "presentation") {
        assert_eq!(examined.status(step), "failed", "{}", examined.found[step]);
        assert!(examined.found[step]["error"].as_str().unwrap().contains("hung"));
    }
    let error = profile_code(&examined.json).unwrap_err().to_string();
    assert!(error.contains("the step `device` was not done on that device"), "{error}");
}

#[test]
fn time_and_memory_are_bounded() {
    let begun = Instant::now();
    let examined = Examined::of(Profile::DISCRETE, 0.25, 0, |_| ());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(STEPS.iter().all(|step| examined.status(step) == "skipped"));
    examined.assert_explained();
    let little = Examined::of(Profile::DISCRETE, 0.0, u64::MAX, |_| ());
    assert!(little.rows("capacity").iter().all(|row| number(row, "taken") == 0 && number(row, "limit") == 0));
    assert!(little.rows("allocations").is_empty() && little.rows("mapping").is_empty());
}

/// The code has the fields of the table, and no text of a hostile file becomes code.
#[test]
fn a_profile_is_valid_code() {
    let text = Examined::healthy(Profile::VULKAN_AMD_SMALL_BAR).json;
    let code = profile_code(&text).unwrap();
    for line in [
        "// - none",
        "    max_heap_size: 2147483648,",
        "    heaps: &[(8321499136, true), (17179869184, false), (268435456, true)],",
        "        split: false,",
        "    name: \"sim-0000-0000\",",
    ] {
        assert!(code.lines().any(|found| found == line), "{line}: {code}");
    }
    let table = include_str!("../../../tenure-sim/src/profile/table.rs");
    let (_, fields) = table.split_once("pub(crate) struct Table {\n").unwrap();
    let fields = fields.lines().take_while(|line| *line != "}");
    let fields = fields.filter_map(|line| line.strip_prefix("    pub(crate) ")?.split(':').next());
    let written = code.lines().filter_map(|line| line.strip_prefix("    ")?.split(':').next());
    let written = written.filter(|field| field.starts_with(|letter: char| letter.is_ascii_lowercase()));
    assert_eq!(written.collect::<Vec<_>>(), fields.collect::<Vec<_>>());
    let mut hostile: Value = serde_json::from_str(&text).unwrap();
    hostile["device"]["result"]["name"] = "\"; } fn main() {\n\u{2028}\u{202e}evil".into();
    hostile["device"]["result"]["heap_categories"][0] = "evil\n\u{202e}fn".into();
    let code = profile_code(&hostile.to_string()).unwrap();
    assert!(code.is_ascii() && !code.lines().any(|line| line.starts_with("evil")), "{code}");
    assert!(code.contains(r#"adapter: "Simulated \"; } fn main() {\n"#), "{code}");
}

fn edited(found: &Value, pointer: &str, value: Value) -> String {
    let mut edited = found.clone();
    *edited.pointer_mut(pointer).unwrap() = value;
    edited.to_string()
}

#[test]
fn other_files_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "not a result of `tenure doctor`"),
        ("[]", "not a result of `tenure doctor`"),
        ("{\"doctor\": 99}", "version 99 of the format; this program reads version 1"),
        ("{\"doctor\": 1}", "missing field `profile`"),
        ("{\"doctor\": 1, \"doctor\": 1}", "duplicate field `doctor`"),
        ("{\"doctor\": NaN}", "not a result of `tenure doctor`"),
    ] {
        let error = profile_code(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let found = Examined::of(Profile::VULKAN_LAVAPIPE, 0.0, 60, |_| ()).found;
    let text = found.to_string();
    assert!(profile_code(&text).is_ok());
    assert!(profile_code(&text[..text.len() / 2]).unwrap_err().to_string().contains("EOF"));
    for (pointer, value, reason) in [
        ("/profile", "voodoo".into(), "\"voodoo\" is not a simulated device"),
        ("/device/result", Value::Null, "the step `device` was not done on that device"),
        ("/device/result/device", "x = 0; evil()".into(), "unknown variant"),
        ("/device/result/queues/0/kind", "evil\nfn".into(), "unknown variant"),
        ("/device/result/queues/0/kind", "copy".into(), "no graphics queue in front"),
        ("/device/result/queues", json!([]), "no graphics queue in front"),
        ("/device/result/heaps", json!([]), "in memory heap 0, but there are 0"),
        ("/device/result/heaps/0/size", 0.into(), "a heap of no bytes"),
        ("/device/result/heaps/0/size", 1e300.into(), "expected u64"),
        ("/device/result/memory_types", json!([]), "0 memory types"),
        ("/device/result/memory_types/0/heap", 7.into(), "in memory heap 7, but there are 1"),
        ("/device/result/memory_types/0/flags/0", "X; evil()".into(), "unknown flags of a memory type"),
        ("/device/result/alignments/constant", 0.into(), "an alignment of 0 B for constants"),
        ("/device/result/alignments/heap", 48.into(), "must be a power of two"),
        ("/device/result/limits/texture_2d", u64::MAX.into(), "expected u32"),
        ("/device/result/limits/allocations", 0.into(), "no allocations"),
        ("/placement/result/image_types", 0b110.into(), "textures in memory types that do not exist"),
        ("/placement/result/image_alignment", (-1).into(), "expected u64"),
        ("/placement/result/descriptors/samplers", "evil()".into(), "expected u32"),
        ("/timestamps/result/clocks/0/bits", 65.into(), "timestamps of more than 64 bits"),
    ] {
        let error = profile_code(&edited(&found, pointer, value)).unwrap_err().to_string();
        assert!(error.contains(reason), "{pointer}: {error}");
    }
}
