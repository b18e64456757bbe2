//! All kept inputs, and some random ones.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::fs;
use std::path::Path;

use fuzz_cases::{CASES, feed};
use test_random::Rng;

#[test]
fn every_case_accepts_its_seeds() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, run) in CASES {
        let folder = kept.join(name);
        let mut fed = 0;
        for input in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            run(&fs::read(input.unwrap().path()).unwrap());
            fed += 1;
        }
        assert!(fed > 0, "nothing is kept for {name}");
    }
}

#[test]
fn every_case_takes_any_bytes() {
    for (name, _) in CASES {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let size = rng.below(400);
            feed(name, &rng.bytes(size));
        }
    }
}

/// The kept inputs, each damaged at one place.
#[test]
fn every_case_takes_damaged_bytes() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut rng = Rng::new(5);
    for (name, run) in CASES {
        for input in fs::read_dir(kept.join(name)).unwrap() {
            let whole = fs::read(input.unwrap().path()).unwrap();
            for _ in 0..20 {
                let mut damaged = whole.clone();
                let at = rng.below(damaged.len() as u64) as usize;
                match rng.below(3) {
                    0 if !damaged.is_empty() => damaged[at] = rng.next() as u8,
                    1 => damaged.truncate(at),
                    _ => damaged.insert(at.min(damaged.len()), rng.next() as u8),
                }
                run(&damaged);
            }
        }
    }
}
