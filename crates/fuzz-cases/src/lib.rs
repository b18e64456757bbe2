//! The functions that fuzzing calls with bytes: parsers, suballocators beside their models, descriptions and
//! configurations, and whole programs.
//!
//! Each case panics when something is wrong. `fuzz/` has a target of the same name for each, and `fuzz/seeds/`
//! the inputs that are kept: inputs with new coverage, and inputs that once failed. The tests of this crate
//! feed every case with them.
#![forbid(unsafe_code)]

mod bytes;
mod descriptions;
mod one_range;
pub mod operations;
mod parsers;
mod programs;
mod ring;
mod sets;
mod simple;

// Each case uses some of the models.
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "the suite of tenure-suballoc uses the rest, and fails by panics"
)]
#[path = "../../tenure-suballoc/tests/suite/model/mod.rs"]
mod model;

/// A case: its name, and its function of bytes.
pub type Case = (&'static str, fn(&[u8]));

/// All of them.
pub const CASES: &[Case] = &[
    ("buddy", one_range::buddy),
    ("config", descriptions::config),
    ("descriptions", descriptions::descriptions),
    ("general", one_range::general),
    ("linear", simple::linear),
    ("passes", parsers::passes),
    ("plan", parsers::plan),
    ("program", programs::program),
    ("recording", parsers::recording),
    ("ring", ring::ring),
    ("sets", sets::sets),
    ("slots", simple::slots),
    ("snapshots", parsers::snapshots),
];

/// Feeds the case of that name.
///
/// # Panics
/// When something is wrong, or there is no such case.
pub fn feed(name: &str, data: &[u8]) {
    let found = CASES.iter().find(|(case, _)| *case == name);
    let Some((_, run)) = found else { panic!("no case is named {name}") };
    run(data);
}
