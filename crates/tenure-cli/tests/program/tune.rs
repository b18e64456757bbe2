//! `tenure tune`.

use std::fs;

use serde_json::Value;

use crate::running::{FAILING, TINY, objects, recording, run, status, stderr, stdout};

fn tuned(arguments: &[&str]) -> Value {
    let output = run(&[&["tune", "--json"], arguments].concat());
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    objects(&output).remove(0)
}

#[test]
fn the_same_is_recommended_in_every_run_within_the_limit() {
    let arguments = [&recording(), "--runs", "30", "--seed", "4", "--seed", "7", "--seed", "4"];
    let arguments: Vec<&str> = arguments.iter().map(|argument| argument.as_ref()).collect();
    let (first, second) = (tuned(&arguments), tuned(&arguments));
    assert_eq!(first, second);
    assert_eq!(first["seeds"], serde_json::json!([4, 7]));
    assert!(first["runs"].as_u64().unwrap() <= 30, "{first}");
    assert_eq!(first["stopped_by"], "runs");
    assert_eq!(first["default"].as_array().unwrap().len(), 2, "a replay with each seed");
}

#[test]
fn the_default_equals_the_measurements_of_a_replay() {
    let found = tuned(&[&recording(), "--runs", "1", "--seed", "3"]);
    let outcome =
        &objects(&run(&["replay", &recording(), "--json", "--strategy", "pooled", "--seed", "3"]))[0];
    for field in ["peak_reserved_bytes", "mean_reserved_bytes", "driver_allocations", "driver_cost_ns"] {
        assert_eq!(found["default"][0][field], outcome[field], "{field}");
    }
    assert_eq!((&found["configurations"], &found["is_default_best"]), (&0.into(), &true.into()));
    let words = stdout(&run(&["tune", &recording(), "--runs", "1"]));
    assert!(words.contains("No configuration was tried"), "{words}");
}

#[test]
fn recommended_options_are_better_with_another_seed_too() {
    let arguments = [&recording(), "--goal", "time"];
    let arguments: Vec<&str> = arguments.iter().map(|argument| argument.as_ref()).collect();
    let found = tuned(&arguments);
    assert_eq!(found["is_default_best"], false, "{found}");
    assert!(found["score"].as_f64().unwrap() < 0.99, "{found}");
    assert_eq!(found["check"]["seed"], 2);
    assert!(found["check"]["score"].as_f64().unwrap() < 0.99, "{found}");
    assert!(!found["changes"].as_object().unwrap().is_empty());
    let code = found["code"].as_str().unwrap();
    assert!(
        code.starts_with("use tenure::{Config, config::{")
            && code.contains("let config = Config::default()\n    ."),
        "{code}"
    );
    let words = stdout(&run(&[&["tune"], &arguments[..]].concat()));
    for wanted in
        ["the seeds 0 and 1", "2 (check)", "peak reserved (MiB)", "driver time, modelled (ms)", code]
    {
        assert!(words.contains(wanted), "{wanted} in {words}");
    }
}

#[test]
fn the_default_is_best_for_an_empty_recording() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty\u{1b}[31m.csv");
    fs::write(&file, "op,id,size,align,kind,frame\n").unwrap();
    let file = file.to_str().unwrap();
    let found = tuned(&[file]);
    assert_eq!((&found["is_default_best"], &found["stopped_by"]), (&true.into(), &"done".into()));
    assert_eq!((&found["recommended"], &found["changes"]), (&found["default"], &serde_json::json!({})));
    let output = run(&["tune", file]);
    assert_eq!(status(&output), 0);
    let words = stdout(&output);
    assert!(words.contains("The default is best") && !words.contains('\u{1b}'), "{words}");
}

#[test]
fn a_time_limit_ends_the_search() {
    let found = tuned(&[&recording(), "--seconds", "0"]);
    assert_eq!((&found["stopped_by"], &found["configurations"]), (&"time".into(), &0.into()));
}

#[test]
fn failures_of_the_default_are_status_1_and_damage_is_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    let path = file.to_str().unwrap().to_owned();
    fs::write(&file, "op,id,size,align,kind,frame\nalloc,5,17592186044416,64,gpu_only+linear,0\n").unwrap();
    assert_eq!(status(&run(&["tune", &path, "--runs", "5"])), 1);
    fs::write(&file, &TINY[..TINY.len() - 12]).unwrap();
    let output = run(&["tune", &path]);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).starts_with(&path), "{}", stderr(&output));
    for arguments in
        [&["--runs", "0"][..], &["--seed", "x"], &["--goal", "none"], &["--frames-in-flight", "17"]]
    {
        assert_eq!(status(&run(&[&["tune", &path], arguments].concat())), 2, "{arguments:?}");
    }
}

#[test]
fn failures_with_the_default_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    fs::write(&file, FAILING).unwrap();
    let output = run(&["tune", file.to_str().unwrap(), "--runs", "5"]);
    assert_eq!(status(&output), 1);
    let words = stdout(&output);
    assert!(
        words.contains("With the default, creations failed, or there were leaks or hazards (1)"),
        "{words}"
    );
    assert!(words.contains("No configuration was tried: it takes 6 replays"), "{words}");
}
