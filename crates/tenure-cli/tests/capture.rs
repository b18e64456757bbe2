//! `tenure capture` on real programs, on a Vulkan device with its validation layer. The tests fail if either is
//! missing.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::tempdir;
use tenure_trace::read_all;

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";
const LAYER: &str = "VK_LAYER_TENURE_capture";
/// A program that runs for a few frames and uses the layers of the environment.
const CUBE: [&str; 3] = ["vkcube", "--c", "20"];

fn tenure() -> &'static str {
    env!("CARGO_BIN_EXE_tenure")
}

/// The library of the layer, as built for this test.
fn library() -> String {
    Path::new(tenure()).with_file_name("deps/libtenure_capture.so").to_str().unwrap().to_owned()
}

fn recording(name: &str) -> String {
    format!("{}/../../traces/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"))
}

/// Captures a program with additional arguments and variables.
fn capture(more: &[&str], variables: &[(&str, &str)], program: &[&str]) -> Output {
    let mut command = Command::new(tenure());
    command.args(["capture", "--layer", &library(), "--json"]).args(more).arg("--").args(program);
    command.envs(variables.iter().copied()).output().unwrap()
}

/// Everything that a program printed.
fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The JSON objects that a program printed.
fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The figures of a program that succeeded without messages from the validation layer.
#[track_caller]
fn figures(output: &Output) -> Value {
    let text = text(output);
    assert!(output.status.success(), "{:?}: {text}", output.status);
    assert!(!text.contains("Validation") && !text.contains("VUID"), "{text}");
    objects(output).pop().unwrap()
}

fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap()
}

#[test]
fn own_figures_are_tenure_s_to_the_byte() {
    // The replay's readback buffer is not in its own count: 256 bytes per frame in flight.
    const OF_HARNESS: u64 = 3 * 256;
    for strategy in ["pooled", "placed", "committed"] {
        let file = recording("egui_demo_app");
        let replay =
            ["replay", &file, "--device", "vulkan", "--validation", "off", "--json", "--strategy", strategy];
        let folder = tempdir().unwrap();
        let written = folder.path().join("replay.csv");
        let program = [&[tenure()][..], &replay].concat();
        let output = capture(&["--out", written.to_str().unwrap()], &[], &program);
        let [replay, captured] = &objects(&output)[..] else { panic!("{}", text(&output)) };
        let own = &captured["own"];
        assert_eq!(number(own, "allocations"), number(replay, "driver_allocations") + 1, "{strategy}");
        let (own_peak, counted) =
            (number(own, "peak_bytes") - OF_HARNESS, number(replay, "peak_reserved_bytes"));
        if strategy == "committed" {
            // Tenure counts buffers in multiples of 64 bytes; the driver allocates their exact sizes.
            let least = counted - 64 * number(own, "peak_blocks");
            assert!((least..=counted).contains(&own_peak), "{own_peak} of {counted}");
        } else {
            assert_eq!(own_peak, counted, "{strategy}");
        }
        let types = own["types"].as_array().unwrap();
        let reserved: u64 = types.iter().map(|found| number(found, "reserved_bytes")).sum();
        assert_eq!(reserved, number(own, "peak_bytes"), "{strategy}");
        // The recording has the same figures.
        let summary = read_all(fs::File::open(&written).unwrap(), "replay").unwrap().summary;
        assert_eq!(summary.peak_block_bytes, number(own, "peak_bytes"), "{strategy}");
        assert_eq!(
            (summary.blocks, summary.peak_blocks),
            (number(own, "allocations"), number(own, "peak_blocks"))
        );
        assert_eq!(summary.live_at_end, [], "{strategy}");
    }
}

#[test]
fn no_messages_above_the_validation_layer() {
    let variables = [("VK_INSTANCE_LAYERS", VALIDATION), ("VK_LOADER_DEBUG", "layer")];
    let output = capture(&[], &variables, &CUBE);
    let inserted: Vec<_> = text(&output).lines().filter_map(inserted).collect();
    assert_eq!(inserted, [VALIDATION, LAYER], "the nearest to the driver first: {}", text(&output));
    // Without the loader's messages.
    let found = figures(&capture(&[], &variables[..1], &CUBE));
    assert_eq!((number(&found, "frames"), number(&found["own"], "allocations")), (20, 5));
}

/// The layer in a loader message about insertion into a device.
fn inserted(line: &str) -> Option<&'static str> {
    let named = line.split("Inserted device layer \"").nth(1)?;
    [VALIDATION, LAYER].into_iter().find(|layer| named.starts_with(layer))
}

#[test]
fn no_messages_below_the_validation_layer_which_wraps_handles() {
    let folder = tempdir().unwrap();
    let layer = json!({
        "name": LAYER,
        "type": "GLOBAL",
        "library_path": library(),
        "api_version": "1.4.0",
        "implementation_version": "1",
        "description": "",
    });
    let manifest = json!({ "file_format_version": "1.1.2", "layer": layer });
    fs::write(folder.path().join("layer.json"), manifest.to_string()).unwrap();
    let [program, arguments @ ..] = CUBE;
    let mut command = Command::new(program);
    command.args(arguments).env("VK_ADD_LAYER_PATH", folder.path()).env("TENURE_CAPTURE", folder.path());
    command.env("VK_INSTANCE_LAYERS", format!("{VALIDATION}:{LAYER}"));
    let output = command.output().unwrap();
    let text = text(&output);
    assert!(output.status.success() && !text.contains("Validation") && !text.contains("VUID"), "{text}");
    let logs = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    let logs: Vec<_> = logs.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    let [log] = &logs[..] else { panic!("{logs:?}") };
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().filter(|line| line.split(' ').nth(2) == Some("B")).count(), 5, "{log}");
}

#[test]
fn programs_see_the_memory_of_a_card_and_run() {
    let types = |card: &str| {
        let output = capture(&["--as", card], &[], &[tenure(), "devices", "--json"]);
        objects(&output)[0]["memory_types"].as_array().unwrap().len()
    };
    let file = recording("wgpu-ex-water");
    for (card, count) in [("nvidia", 5), ("amd", 8), ("intel", 2), ("mobile", 3)] {
        assert_eq!(types(card), count, "{card}");
        let variables = [("VK_INSTANCE_LAYERS", VALIDATION)];
        figures(&capture(&["--as", card], &variables, &CUBE));
        // tenure on this card with the validation layer: no failure and no hazard.
        let replay = [tenure(), "replay", &file, "--device", "vulkan", "--validation", "on", "--json"];
        let output = capture(&["--as", card], &[], &replay);
        assert!(output.status.success(), "{card}: {}", text(&output));
        assert_eq!(objects(&output).len(), 4, "three strategies, and the capture");
    }
}

#[test]
fn a_program_that_is_killed_leaves_its_recording() {
    let output = capture(&[], &[], &["sh", "-c", "vkcube >&2 & sleep 2; kill -9 $!; exit 5"]);
    assert_eq!(output.status.code(), Some(5));
    let found = objects(&output).pop().unwrap();
    assert_eq!(number(&found["own"], "peak_blocks"), 5);
    assert!(number(&found, "frames") > 1);
}

/// The rules of the API that a validation layer reports as broken.
fn broken_rules(output: &Output) -> BTreeSet<String> {
    let text = text(output);
    let rules = text.split("VUID-").skip(1);
    rules
        .map(|rest| rest.split(|it: char| !it.is_alphanumeric() && it != '-').next().unwrap().to_owned())
        .collect()
}

/// Runs an endless program for some seconds, longer if it has too few frames, and returns its figures. It may
/// break rules of the API, but the layer must not break more.
#[track_caller]
fn figures_of_endless(program: &str, variables: &[(&str, &str)], frames: u64) -> Value {
    let variables = [variables, &[("VK_INSTANCE_LAYERS", VALIDATION)]].concat();
    let mut last = String::new();
    for seconds in [3, 12, 48] {
        let script = format!("timeout {seconds} {program} >&2; exit 0");
        let output = capture(&[], &variables, &["sh", "-c", &script]);
        last = text(&output);
        let Some(found) = objects(&output).pop().filter(|found| number(found, "frames") >= frames) else {
            continue;
        };
        let mut alone = Command::new("sh");
        let alone = alone.args(["-c", &script]).envs(variables.iter().copied()).output().unwrap();
        let added: Vec<_> = broken_rules(&output).difference(&broken_rules(&alone)).cloned().collect();
        assert!(added.is_empty(), "{added:?}: {}", text(&output));
        let [peak, blocks, resources] =
            ["peak_bytes", "allocations", "resources"].map(|field| number(&found["own"], field));
        println!(
            "{program}: {} frames, {blocks} blocks, {peak} bytes, {resources} resources",
            found["frames"]
        );
        return found;
    }
    panic!("{program} has fewer than {frames} frames in 48 s: {last}");
}

#[test]
fn programs_on_opengl_run_through_zink() {
    let found =
        figures_of_endless("glxgears", &[("LIBGL_ALWAYS_SOFTWARE", "1"), ("GALLIUM_DRIVER", "zink")], 11);
    assert!(number(&found["own"], "resources") > 5, "{found}");
    assert!(number(&found["own"], "aliases") > 0, "Zink binds several buffers to the same bytes: {found}");
}

#[test]
fn a_program_on_gtk_runs() {
    let found = figures_of_endless("gtk4-demo --run=fishbowl", &[("GSK_RENDERER", "vulkan")], 2);
    assert!(number(&found["own"], "resources") > 5, "{found}");
}

/// The driver's time in nanoseconds to create and destroy a committed resource: the minimum of several runs.
fn time_of_a_resource(is_captured: bool) -> u64 {
    let file = recording("bevy-3d_scene");
    let replay =
        ["replay", &file, "--device", "vulkan", "--validation", "off", "--json", "--strategy", "committed"];
    let runs = (0..3).map(|_| {
        let output = match is_captured {
            true => capture(&[], &[], &[&[tenure()][..], &replay].concat()),
            false => Command::new(tenure()).args(replay).output().unwrap(),
        };
        let replay = &objects(&output)[0];
        number(replay, "driver_cost_ns") / number(replay, "driver_creates")
    });
    runs.min().unwrap()
}

#[test]
fn a_resource_costs_some_microseconds() {
    let [without, with] = [false, true].map(time_of_a_resource);
    println!("a committed resource takes {without} ns of the driver's time, and {with} ns with the layer");
    // The limit leaves room for a build without optimisation on a busy machine.
    assert!(with < without + 30_000, "{with} ns, {without} ns without the layer");
}
