//! The program on a real device: Direct3D 12 on Windows and Wine, otherwise Vulkan with its validation layer. The
//! tests fail if there is none.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tenure_cli::doctor::profile_code;
use tenure_trace::Workload;

const DEVICE: &str = if cfg!(windows) { "d3d12" } else { "vulkan" };
const STRATEGIES: [&str; 3] = ["committed", "placed", "pooled"];

fn run_with(args: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(args).envs(variables.iter().copied());
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    // A program that stops early closes its input.
    let _closed = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn run(args: &[&str]) -> Output {
    run_with(args, &[], b"")
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn recordings() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    assert!(files.len() >= 9);
    files.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

fn recording(name: &str) -> String {
    recordings().into_iter().find(|path| path.contains(name)).unwrap()
}

/// Replays with status 0, as JSON objects.
#[track_caller]
fn replay(file: &str, more: &[&str]) -> Vec<Value> {
    let output = run(&[&["replay", file, "--json"], more].concat());
    assert_eq!(status(&output), 0, "{file} {more:?}: {}", stderr(&output));
    objects(&output)
}

fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap()
}

#[track_caller]
fn assert_clean(object: &Value) {
    assert_eq!(object["device"], DEVICE);
    for field in ["failed", "leaks", "hazards"] {
        assert_eq!(object[field], 0, "{field} of {object}");
    }
    assert_eq!(object["driver_time"], "measured");
    assert!(number(object, "driver_cost_ns") > 0);
    assert_eq!(object["driver_creates"], object["driver_destroys"], "{object}");
    // tenure's statistics of driver memory match the driver calls.
    assert_eq!(object["stats_peak_reserved_bytes"], object["peak_reserved_bytes"], "{object}");
    assert!(number(object, "peak_reserved_bytes") >= number(object, "peak_live_bytes"), "{object}");
}

#[test]
fn the_device_is_listed_with_its_properties() {
    let output = run(&["devices", "--json"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let objects = objects(&output);
    let device = objects.iter().find(|object| object["device"] == DEVICE).unwrap();
    assert_eq!(device["id"], "0");
    assert!(!device["name"].as_str().unwrap().is_empty());
    assert!(!device["driver"].as_str().unwrap().is_empty());
    assert!(number(&device["heaps"][0], "size") > 1 << 28);
    assert!(number(&device["heaps"][0], "budget") > 1 << 28);
    assert!(!device["memory_types"].as_array().unwrap().is_empty());
    assert_eq!(device["queues"][0]["kind"], "graphics");
    assert!(number(&device["alignments"], "constant").is_power_of_two());
    assert!(number(&device["limits"], "texture_2d") >= 4096);

    let table = String::from_utf8(run(&["devices"]).stdout).unwrap();
    for wanted in [&format!("{DEVICE} 0"), device["name"].as_str().unwrap(), "0: graphics, family"] {
        assert!(table.contains(wanted), "{wanted} in {table}");
    }
}

#[test]
fn every_recording_replays_clean_by_every_strategy() {
    // Wine lacks Direct3D 12's debug layer.
    let validation = if cfg!(windows) { "auto" } else { "on" };
    let mut reads_checked = 0;
    for file in recordings() {
        let real = replay(&file, &["--device", DEVICE, "--validation", validation]);
        let simulated = replay(&file, &[]);
        let strategies: Vec<_> = real.iter().map(|object| object["strategy"].as_str().unwrap()).collect();
        assert_eq!(strategies, STRATEGIES);
        for (real, simulated) in real.iter().zip(&simulated) {
            assert_clean(real);
            if !cfg!(windows) {
                assert_eq!(real["watch"], "validation");
            }
            reads_checked += number(real, "reads_checked");
            for field in ["ops", "frames", "peak_live_bytes", "peak_live_allocations", "reads_checked"] {
                assert_eq!(real[field], simulated[field], "{field} of {file}");
            }
        }
        let [committed, _, tenure] = &real[..] else { panic!("{real:?}") };
        for field in ["driver_allocations", "driver_creates"] {
            assert_eq!(committed[field], simulated[0][field], "{field} of {file}");
        }
        assert_eq!(committed["reserved_at_end_bytes"], 0);
        // The exact numbers depend on the device's latency.
        for field in ["driver_allocations", "steady_state_driver_allocations"] {
            assert!(number(tenure, field) * 5 <= number(committed, field), "{field} of {file}: {real:?}");
        }
    }
    // One recording has no upload that outlives its frame, and so no checked reads.
    assert!(reads_checked > 50_000, "{reads_checked}");
}

#[test]
fn recordings_replay_clean_close_behind_and_far_ahead() {
    for more in [&["--frames-in-flight", "1"][..], &["--frames-in-flight", "8", "--uploads", "buddy"]] {
        for seed in ["1", "2"] {
            let more = [more, &["--seed", seed, "--device", DEVICE]].concat();
            replay(&recording("egui"), &more).iter().for_each(assert_clean);
        }
    }
}

#[test]
fn synthetic_recordings_replay_clean() {
    for workload in Workload::ALL {
        let generated = run(&["gen", workload.name(), "--ops", "6000"]);
        let output = run_with(&["replay", "-", "--json", "--device", DEVICE], &[], &generated.stdout);
        assert_eq!(status(&output), 0, "{workload}: {}", stderr(&output));
        objects(&output).iter().for_each(assert_clean);
    }
}

#[test]
fn impossible_allocations_fail_and_the_replay_continues() {
    let text = "op,id,size,align,kind,frame\n\
                alloc,1,10000000000000,4,gpu_only+linear,0\n\
                alloc,2,10000000000000,4,cpu_to_gpu+linear,0\n\
                alloc,3,10000000000000,4,gpu_only+optimal,0\n\
                alloc,4,1000,4,gpu_only+linear,0\n\
                frame,,,,,1\n\
                free,1,10000000000000,,,1\n\
                free,4,1000,,,1\n";
    let output = run_with(&["replay", "-", "--json", "--device", DEVICE], &[], text.as_bytes());
    assert_eq!(status(&output), 1);
    let objects = objects(&output);
    assert_eq!(objects.len(), STRATEGIES.len());
    for object in objects {
        assert_eq!(["failed", "leaks", "hazards"].map(|field| number(&object, field)), [3, 0, 0], "{object}");
        assert_eq!(object["driver_creates"], object["driver_destroys"]);
    }
    assert_eq!(stderr(&output).matches("failed: ").count(), 9, "{}", stderr(&output));
}

#[test]
fn an_adapter_is_chosen_by_number_or_name() {
    let file = recording("water");
    let listed = objects(&run(&["devices", "--json"]));
    let listed = listed.iter().find(|object| object["device"] == DEVICE).unwrap();
    let name = listed["name"].as_str().unwrap();
    for pick in ["0", name] {
        let objects = replay(&file, &["--device", DEVICE, "--adapter", pick, "--strategy", "pooled"]);
        assert_eq!((objects.len(), &objects[0]["profile"]), (1, &listed["name"]));
    }
    for pick in ["99", "no such name"] {
        let output = run(&["replay", &file, "--device", DEVICE, "--adapter", pick]);
        assert_eq!((status(&output), output.stdout.len()), (2, 0));
        let text = stderr(&output);
        assert!(text.starts_with(&format!("{DEVICE}: no such device")) && text.contains(name), "{text}");
    }
}

#[test]
fn without_validation_only_bytes_are_checked() {
    let objects = replay(&recording("water"), &["--device", DEVICE, "--validation", "off"]);
    for object in &objects {
        assert_clean(object);
        assert_eq!(object["watch"], "replay");
    }
}

/// No step fails or runs out of time. Wine and Windows lack sparse tiles or surfaces without a window.
#[test]
fn the_device_is_examined() {
    let output = run(&["doctor", "--device", DEVICE, "--seconds", "30", "--json"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let [found] = &objects(&output)[..] else { panic!("one object") };
    for (step, found) in found.as_object().unwrap().iter().filter(|(_, found)| found["status"].is_string()) {
        let may_skip = cfg!(windows) && ["tiles", "presentation"].contains(&step.as_str());
        let is_skipped = found["status"] == "skipped" && found["error"] != "no time was left";
        assert!(found["status"] == "done" || may_skip && is_skipped, "{step}: {found}");
    }
    assert_eq!(found["sizes"]["result"]["compared"], 2_000);
    assert!(number(&found["capacity"]["result"][0], "taken") > 0);
    assert!(number(&found["mapping"]["result"][0], "read_bytes_per_second") > 1 << 20);
    assert!(profile_code(&found.to_string()).unwrap().contains("Table = Table {"));
}

#[cfg(not(windows))]
mod layer {
    use super::{DEVICE, objects, recording, run_with, status, stderr};

    const FILE: &str = "water";

    #[test]
    fn messages_of_the_layer_are_hazards() {
        // The layer's advice on small allocations, which is off by default.
        let on = [("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT")];
        let file = recording(FILE);
        let args = ["replay", &file, "--json", "--device", DEVICE, "--strategy", "committed"];
        let output = run_with(&args, &on, b"");
        assert_eq!(status(&output), 1);
        assert!(objects(&output)[0]["hazards"].as_u64().unwrap() > 0);
        let text = stderr(&output);
        assert!(text.contains("committed: hazard: ") && text.contains("small-allocation"), "{text}");
    }

    #[test]
    fn a_missing_layer_is_an_error_only_if_requested() {
        let nowhere = [("VK_LAYER_PATH", "/no such folder")];
        let file = recording(FILE);
        let args = ["replay", &file, "--json", "--device", DEVICE, "--strategy", "pooled"];
        let output = run_with(&args, &nowhere, b"");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert_eq!(objects(&output)[0]["watch"], "replay");
        let output = run_with(&[&args[..], &["--validation", "on"]].concat(), &nowhere, b"");
        assert_eq!((status(&output), output.stdout.len()), (2, 0));
        assert!(stderr(&output).contains("is not installed"), "{}", stderr(&output));
    }
}
