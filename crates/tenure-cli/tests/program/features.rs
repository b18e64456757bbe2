//! Messages of a program built without some features. With all features nothing is missing.

use std::fs;

use tenure_cli::feature::Feature;

use crate::running::{TINY, run, run_with_input, status, stderr, stdout};

#[test]
fn the_whole_program_has_every_feature() {
    let manifest = include_str!("../../Cargo.toml");
    let features = manifest.split("\n[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let is_name = |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase());
    let (full, rest): (Vec<_>, Vec<_>) = features
        .lines()
        .filter(is_name)
        .filter_map(|line| line.split_once(" = "))
        .partition(|(name, _)| *name == "full");
    let names: Vec<_> = rest.iter().map(|(name, _)| *name).collect();
    assert_eq!(full, [("full", format!("{names:?}").as_str())]);
    let refused = Feature::ALL.map(Feature::name);
    let silent: Vec<_> = names.iter().filter(|name| !refused.contains(name)).collect();
    assert_eq!((silent, names.len()), (vec![&"progress"], refused.len() + 1));
}

#[test]
fn devices_of_a_disabled_api_are_refused() {
    for feature in [Feature::D3d12, Feature::Vulkan] {
        let is_built = feature.is_built() && (feature != Feature::D3d12 || cfg!(windows));
        if is_built {
            continue;
        }
        let wanted = format!("{}\n", feature.no_device());
        let output = run_with_input(&["replay", "-", "--device", feature.name()], TINY.as_bytes());
        assert_eq!((status(&output), stdout(&output), stderr(&output)), (2, String::new(), wanted.clone()));
        let output = run(&["devices"]);
        assert!(stdout(&output).contains(&wanted), "{}", stdout(&output));
    }
}

#[test]
fn disabled_reports_are_refused_with_any_arguments() {
    if Feature::Report.is_built() {
        return;
    }
    let wanted = format!("{}\n", Feature::Report);
    for arguments in [
        &["report"][..],
        &["report", "a.csv", "--html", "a.html"],
        &["report", "--help"],
        &["report", "--perfetto", "t", "a", "-x"],
    ] {
        let output = run(arguments);
        assert_eq!((status(&output), stdout(&output), stderr(&output)), (2, String::new(), wanted.clone()));
    }
}

#[test]
fn disabled_zstd_is_refused_for_reading_and_writing() {
    if Feature::Zstd.is_built() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.csv.zst");
    fs::write(&file, [0x28, 0xb5, 0x2f, 0xfd, 4, 0]).unwrap();
    let file = file.to_str().unwrap();
    let read = format!("{file}:1: cannot read (zstd): {}\n", Feature::Zstd);
    for arguments in [&["replay", file][..], &["compare", file, file], &["tune", file], &["plan", file]] {
        let output = run(arguments);
        assert_eq!((status(&output), stdout(&output), stderr(&output)), (2, String::new(), read.clone()));
    }
    let output = run(&["gen", "voxel", "--ops", "10", "--out", file]);
    let written = format!("{file}: {}\n", Feature::Zstd);
    assert_eq!((status(&output), stdout(&output), stderr(&output)), (2, String::new(), written));
    assert_eq!(fs::read(file).unwrap().len(), 6, "what was there is left");
}
