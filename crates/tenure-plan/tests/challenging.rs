//! The challenging instances published with MiniMalloc, each at its capacity.
//!
//! They are not part of the project. They are read from the folder that `TENURE_PLAN_INSTANCES`
//! names, or from `../shared/plan/minimalloc` beside the repository.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use common::{mirrored, planned, scaled, shuffled, thinned};
use tenure_plan::{Item, Options, csv};

struct Instance {
    name: String,
    items: Vec<Item>,
    capacity: u64,
}

fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/plan/minimalloc");
    std::env::var_os("TENURE_PLAN_INSTANCES").map_or(beside, PathBuf::from)
}

/// The capacity is in the name, before the ending.
fn instances() -> Vec<Instance> {
    let folder = folder();
    let Ok(entries) = folder.read_dir() else {
        if std::env::var_os("CI").is_some() {
            panic!("there are no instances in {}", folder.display());
        }
        eprintln!("not run: {} is no folder; name one in TENURE_PLAN_INSTANCES", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "csv"));
    files.sort();
    assert!(!files.is_empty(), "there are no instances in {}", folder.display());
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let capacity = name.rsplit('.').next().unwrap().parse().unwrap();
        let items = csv::read(BufReader::new(File::open(file).unwrap())).unwrap().items;
        Instance { name, items, capacity }
    };
    files.iter().map(read).collect()
}

fn fits(items: &[Item], capacity: u64, nodes: u64) -> bool {
    planned(items, &Options::new().capacity(capacity).nodes(nodes)).peak <= capacity
}

#[test]
fn every_instance_is_solved() {
    for Instance { name, items, capacity } in instances() {
        assert!(fits(&items, capacity, 20_000), "{name}");
    }
}

#[test]
fn order_direction_and_scale_do_not_matter() {
    for Instance { name, items, capacity } in instances() {
        assert!(fits(&mirrored(&items), capacity, 60_000), "{name} mirrored");
        assert!(fits(&shuffled(&items, 1), capacity, 60_000), "{name} shuffled");
        assert!(fits(&shuffled(&mirrored(&items), 2), capacity, 60_000), "{name} mirrored and shuffled");
        assert!(fits(&scaled(&items, 5, 7919), capacity * 7919, 60_000), "{name} scaled");
    }
}

#[test]
fn most_instances_with_fewer_items_are_solved() {
    let (mut solved, mut count) = (0, 0);
    let mut unsolved = Vec::new();
    for Instance { name, items, capacity } in instances() {
        for seed in 0..20 {
            count += 1;
            if fits(&thinned(&items, seed), capacity, 200_000) {
                solved += 1;
            } else {
                unsolved.push(format!("{name} {seed}"));
            }
        }
    }
    assert!(solved * 100 >= count * 95, "{solved} of {count}, without {unsolved:?}");
    println!("{solved} of {count}, without {unsolved:?}");
}

#[test]
fn threads_find_plans_that_do_not_depend_on_chance() {
    for Instance { name, items, capacity } in instances() {
        let options = Options::new().capacity(capacity).nodes(60_000).threads(2);
        let plan = planned(&items, &options);
        assert!(plan.peak <= capacity, "{name}");
        assert_eq!(plan, planned(&items, &options), "{name}");
    }
}
