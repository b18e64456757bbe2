//! Running the tools, and installing those that are missing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What became of a step.
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// The tool cannot be had on this machine; what to do about it.
    Unavailable(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed(reason) => write!(f, "FAILED: {reason}"),
            Self::Unavailable(remedy) => write!(f, "NOT RUN on this machine: {remedy}"),
        }
    }
}

/// The workspace's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(command: &mut Command) -> Outcome {
    let shown = format!("{command:?}");
    match command.current_dir(root()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("{status}: {shown}")),
        Err(error) => Outcome::Failed(format!("{error}: {shown}")),
    }
}

/// Runs cargo at the workspace's root.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// Runs cargo with some environment variables set.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).args(arguments).envs(environment.iter().copied()))
}

/// Model checking, in a target folder of its own because the flag rebuilds everything.
pub(crate) fn loom() -> Outcome {
    let arguments =
        ["test", "--package", "tenure-core", "--release", "--test", "loom", "--target-dir", "target/loom"];
    cargo_with(&arguments, &[("RUSTFLAGS", "--cfg loom")])
}

/// True when a command of rustup's or cargo's succeeds; its output is not shown.
fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Runs a check that needs a component of the toolchain, which is installed if it is missing.
pub(crate) fn with_component(component: &str, check: impl Fn() -> Outcome) -> Outcome {
    let subcommand = component.trim_start_matches("rust");
    let is_there = || succeeds("cargo", &[subcommand, "--version"]);
    if is_there() || (succeeds("rustup", &["component", "add", component]) && is_there()) {
        check()
    } else {
        Outcome::Failed(format!("needs {component}: rustup component add {component}"))
    }
}

/// Interprets the tests of the release queue, with real threads. Needs a nightly toolchain with
/// miri, which it tries to install.
pub(crate) fn miri() -> Outcome {
    let has_miri = || succeeds("cargo", &["+nightly", "miri", "--version"]);
    let components = ["component", "add", "miri", "rust-src", "--toolchain", "nightly"];
    let is_there = has_miri()
        || (succeeds("rustup", &components) && has_miri())
        || (succeeds("rustup", &["toolchain", "install", "nightly", "--profile", "minimal"])
            && succeeds("rustup", &components)
            && has_miri());
    if !is_there {
        let remedy = "rustup toolchain install nightly --component miri,rust-src";
        return Outcome::Unavailable(remedy.to_owned());
    }
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", "miri", "test", "--package", "tenure-core", "--test", "lifetimes"])
        .args(["--target-dir", "target/miri"])
        .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    run(&mut command)
}

/// Runs each fuzz target.
pub(crate) fn fuzz(seconds: u32) -> Result<(), String> {
    if !succeeds("cargo", &["+nightly", "fuzz", "--version"]) {
        return Err("needs a nightly toolchain and `cargo install cargo-fuzz`".to_owned());
    }
    for target in ["general", "ring"] {
        let mut command = Command::new("cargo");
        command
            .args(["+nightly", "fuzz", "run", target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO");
        if let Outcome::Failed(reason) = run(&mut command) {
            return Err(reason);
        }
    }
    Ok(())
}
