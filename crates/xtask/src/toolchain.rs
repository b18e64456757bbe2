//! The parts of the Rust toolchain, installed where they are missing.

use std::path::Path;

use crate::command::{printed, succeeds};
use crate::outcome::{Outcome, Trouble};

/// A component with a subcommand of cargo, such as `rustfmt`.
pub(crate) fn component(name: &str) -> Outcome {
    let subcommand = name.trim_start_matches("rust");
    let is_there = || succeeds("cargo", &[subcommand, "--version"]);
    if is_there() || (succeeds("rustup", &["component", "add", name]) && is_there()) {
        Ok(())
    } else {
        Err(Trouble::Failed(format!("needs {name}: rustup component add {name}")))
    }
}

/// The standard library for another target.
pub(crate) fn target(triple: &str) -> Outcome {
    let is_there = || {
        printed("rustc", &["--print", "target-libdir", "--target", triple])
            .is_some_and(|folder| Path::new(&folder).is_dir())
    };
    if is_there() || (succeeds("rustup", &["target", "add", triple]) && is_there()) {
        Ok(())
    } else {
        Err(Trouble::NoDevice(format!("needs the target {triple}: rustup target add {triple}")))
    }
}

/// Miri, on a nightly toolchain.
pub(crate) fn miri() -> Outcome {
    let is_there = || succeeds("cargo", &["+nightly", "miri", "--version"]);
    let components = ["component", "add", "miri", "rust-src", "--toolchain", "nightly"];
    let installed = is_there()
        || (succeeds("rustup", &components) && is_there())
        || (succeeds("rustup", &["toolchain", "install", "nightly", "--profile", "minimal"])
            && succeeds("rustup", &components)
            && is_there());
    let remedy = "rustup toolchain install nightly --component miri,rust-src";
    if installed { Ok(()) } else { Err(Trouble::NoTool(remedy.to_owned())) }
}
