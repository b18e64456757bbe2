//! `tenure doctor` and `tenure profile`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_cli::doctor::differences;

use crate::running::{objects, run, status, stderr, stdout, tenure};

const SIM: [&str; 7] = ["doctor", "--device", "sim", "--profile", "vulkan-lavapipe", "--seconds", "20"];

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Violations of the published schema, for the parts of JSON Schema that it uses. Unknown members are violations,
/// too.
fn breaches(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let reference = schema["$ref"].as_str().map(|path| root.pointer(path.trim_start_matches('#')).unwrap());
    let schema = reference.unwrap_or(schema);
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let fits = choices.iter().any(|choice| breaches(root, choice, value, place).is_empty());
        return if fits { Vec::new() } else { vec![format!("{place}: {value} is none of {choices:?}")] };
    }
    let mut found = Vec::new();
    let kinds = &schema["type"];
    let mut all = kinds.as_array().map_or_else(|| vec![kinds], |all| all.iter().collect()).into_iter();
    if !all.any(|kind| is_of(kind.as_str().unwrap(), value)) {
        found.push(format!("{place}: {value} is no {kinds}"));
    }
    let choices = schema["enum"].as_array().map_or(&[][..], |choices| choices);
    let constant = schema.get("const").into_iter();
    let mut choices = choices.iter().chain(constant).peekable();
    if choices.peek().is_some() && !choices.any(|choice| choice == value) {
        found.push(format!("{place}: {value}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(breaches(root, &schema["items"], item, &format!("{place}[{index}]")));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter(|_| value.is_object()) {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{place}: {name} is missing"));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]) {
            Value::Null => found.push(format!("{place}: {name} is unknown")),
            schema => found.extend(breaches(root, schema, value, &format!("{place}.{name}"))),
        }
    }
    found
}

fn invalid(examination: &Value) -> Vec<String> {
    let schema = read(&in_repository("schemas/doctor.schema.json"));
    breaches(&schema, &schema, examination, "examination")
}

#[track_caller]
fn assert_valid(examination: &Value) {
    assert_eq!(invalid(examination), Vec::<String>::new());
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_file_has_the_published_format() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    // A longer file is replaced completely.
    fs::write(&file, vec![b'x'; 1 << 20]).unwrap();
    let output = run(&[&SIM[..], &["--out", file.to_str().unwrap()]].concat());
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    let text = stdout(&output);
    assert!(text.contains("2000 of 2000 are equal") && text.contains("Written to "), "{text}");
    assert_valid(&read(&file));
    let printed = run(&[&SIM[..], &["--json"]].concat());
    assert_eq!((status(&printed), stderr(&printed)), (0, String::new()));
    let [examination] = &objects(&printed)[..] else { panic!("one object") };
    assert_valid(examination);
    let mut wrong = examination.clone();
    wrong["sizes"]["result"]["compared"] = "many".into();
    wrong["host"] = "mine".into();
    let found = invalid(&wrong);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/card.json");
    for file in [missing.as_path(), folder.path()] {
        let begun = Instant::now();
        let output = run(&[&SIM[..], &["--out", file.to_str().unwrap()]].concat());
        assert_eq!((status(&output), stdout(&output)), (2, String::new()));
        assert!(stderr(&output).starts_with(file.to_str().unwrap()), "{}", stderr(&output));
        assert!(begun.elapsed() < Duration::from_secs(5), "nothing was measured");
    }
    let output = run(&[&SIM[..], &["--out", "-"]].concat());
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--out needs a file"), "{}", stderr(&output));
}

/// The link stays, and its target is written.
#[cfg(unix)]
#[test]
fn a_link_to_a_new_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let [link, file] = ["link.json", "card.json"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink("card.json", &link).unwrap();
    let output = run(&[&SIM[..], &["--out", link.to_str().unwrap()]].concat());
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    assert!(link.is_symlink());
    assert_valid(&read(&file));
}

/// The results are shown even if the disk is full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_after_the_tables() {
    let output = run(&[&SIM[..], &["--out", "/dev/full"]].concat());
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("2000 of 2000 are equal") && !stdout(&output).contains("Written to"));
    assert!(stderr(&output).starts_with("/dev/full: "), "{}", stderr(&output));
}

/// The file is written even if the reader closed standard output, or the program has none.
#[cfg(unix)]
#[test]
fn a_closed_output_loses_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    let arguments = [&SIM[..], &["--out", file.to_str().unwrap()]].concat();
    let mut child = tenure(&arguments)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    assert_valid(&read(&file));
    fs::remove_file(&file).unwrap();
    let shell = format!("exec {} {} >&-", env!("CARGO_BIN_EXE_tenure"), arguments.join(" "));
    let ended = std::process::Command::new("sh").args(["-c", &shell]).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_valid(&read(&file));
}

#[test]
fn wrong_arguments_are_refused() {
    for (arguments, reason) in [
        (&["doctor", "--profile", "vulkan-nvidia"][..], "--profile is for the simulated device"),
        (&["doctor", "--device", "sim", "--adapter", "0"], "--adapter is for real devices"),
        (&["doctor", "--share", "1.5"], "a number from 0 to 1"),
        (&["doctor", "--share", "NaN"], "a number from 0 to 1"),
        (&["doctor", "--share", "-1"], "a number from 0 to 1"),
        (&["doctor", "--seconds", "0"], "0 is not in 1..=3600"),
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_missing_device_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    let output = tenure(&["doctor", "--out", file.to_str().unwrap()])
        .env("VK_DRIVER_FILES", "")
        .env("VK_ICD_FILENAMES", "/nowhere.json")
        .output()
        .unwrap();
    assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("vulkan: "), "{}", stderr(&output));
    assert!(!file.exists(), "an empty file is left");
}

#[test]
fn only_results_become_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    let name = file.to_str().unwrap();
    let output = run(&[&SIM[..], &["--out", name]].concat());
    assert_eq!(status(&output), 0);
    let output = run(&["profile", name]);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    assert!(stdout(&output).contains("Table = Table {"), "{}", stdout(&output));
    for (bytes, reason) in [(&b"{}"[..], "not a result of"), (b"\xff\xfe", "UTF-8"), (b"", "not a result of")]
    {
        fs::write(&file, bytes).unwrap();
        let output = run(&["profile", name]);
        assert_eq!((status(&output), stdout(&output)), (2, String::new()));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
    let output = run(&["profile", folder.path().to_str().unwrap()]);
    assert_eq!(status(&output), 2);
}

/// An endless file is read up to a limit.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_is_refused() {
    let output = run(&["profile", "/dev/zero"]);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
}

/// The simulated devices match the examined ones, except for the differences in [`KNOWN`].
#[test]
fn profiles_match_the_kept_files() {
    let mut files = 0;
    for entry in fs::read_dir(in_repository("docs/devices")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).unwrap();
        assert_valid(&serde_json::from_str(&text).unwrap());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let known = KNOWN.iter().filter(|(file, _)| *file == name).map(|(_, line)| (*line).to_owned());
        assert_eq!(differences(&text).unwrap(), known.collect::<Vec<_>>(), "{name}");
    }
    assert!(files >= 1);
}

/// File and difference.
const KNOWN: &[(&str, &str)] = &[
    ("lavapipe", "device.alignments.constant: 16, simulated 64"),
    ("lavapipe", "device.alignments.copy_pitch: 128, simulated 1"),
    ("lavapipe", "device.alignments.heap: 256, simulated 64"),
    ("lavapipe", "device.alignments.msaa_heap: 65536, simulated 64"),
    ("lavapipe", "device.alignments.storage: 16, simulated 64"),
    ("lavapipe", "device.features.not_zeroed: true, simulated false"),
    ("lavapipe", "device.features.unmapped_tiles: false, simulated true"),
    ("lavapipe", "placement.descriptors.visible_resources: 875000, simulated 1000000"),
    ("lavapipe", "placement.descriptors.visible_samplers: 875000, simulated 1000000"),
];
