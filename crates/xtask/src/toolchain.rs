//! The parts of the Rust toolchain, installed where they are missing.

use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::command::{installing, printed, succeeds};
use crate::debian;
use crate::outcome::{Outcome, Trouble};

/// A component with a subcommand of cargo, such as `rustfmt`.
pub(crate) fn component(name: &str) -> Outcome {
    let subcommand = name.trim_start_matches("rust");
    let is_there = || succeeds("cargo", &[subcommand, "--version"]);
    if is_there() || (rustup(&["component", "add", name])? && is_there()) {
        Ok(())
    } else {
        Err(Trouble::Failed(format!("needs {name}: rustup component add {name}")))
    }
}

/// True when rustup succeeds, which runs once at a time.
fn rustup(arguments: &[&str]) -> Result<bool, Trouble> {
    let _alone = installing()?;
    Ok(succeeds("rustup", arguments))
}

/// A C++ compiler: `vk-mem`, which the benchmarks have, and Tracy's client are written in it.
pub(crate) fn cpp() -> Outcome {
    if cfg!(windows) || succeeds("c++", &["--version"]) { Ok(()) } else { debian::packages(&["g++"]) }
}

/// The standard library for another target.
pub(crate) fn target(triple: &str) -> Outcome {
    let is_there = || {
        printed("rustc", &["--print", "target-libdir", "--target", triple])
            .is_some_and(|folder| Path::new(&folder).is_dir())
    };
    if is_there() || (rustup(&["target", "add", triple])? && is_there()) {
        Ok(())
    } else {
        Err(Trouble::NoDevice(format!("needs the target {triple}: rustup target add {triple}")))
    }
}

/// One release of Rust: the active toolchain, if it matches, or one of rustup's.
pub(crate) struct Release {
    version: &'static str,
    is_at_hand: bool,
}

impl Release {
    /// The release of this version, such as `1.95`.
    pub(crate) fn find(version: &'static str) -> Result<Self, Trouble> {
        let prefix = format!("rustc {version}.");
        if printed("rustc", &["--version"]).is_some_and(|said| said.starts_with(&prefix)) {
            return Ok(Self { version, is_at_hand: true });
        }
        if rustup(&["toolchain", "install", version, "--profile", "minimal"])? {
            Ok(Self { version, is_at_hand: false })
        } else {
            Err(Trouble::NoTool(format!("rustup toolchain install {version} --profile minimal")))
        }
    }

    /// Its Cargo.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        if !self.is_at_hand {
            command.arg(format!("+{}", self.version)).env_remove("RUSTUP_TOOLCHAIN");
        }
        command.env_remove("CARGO");
        command
    }

    /// Its standard library for another target.
    pub(crate) fn target(&self, triple: &str) -> Outcome {
        let add = ["target", "add", triple, "--toolchain", self.version];
        if self.is_at_hand {
            target(triple)
        } else if rustup(&add)? {
            Ok(())
        } else {
            Err(Trouble::NoDevice(format!("rustup {}", add.join(" "))))
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rust {}", self.version)
    }
}

/// Miri, on a nightly toolchain.
pub(crate) fn miri() -> Outcome {
    nightly(&["miri", "rust-src"], || succeeds("cargo", &["+nightly", "miri", "--version"]))
}

/// The source of the standard library, on a nightly toolchain.
pub(crate) fn nightly_source() -> Outcome {
    nightly(&["rust-src"], || {
        let library = "lib/rustlib/src/rust/library/std/Cargo.toml";
        printed("rustc", &["+nightly", "--print", "sysroot"])
            .is_some_and(|sysroot| Path::new(&sysroot).join(library).is_file())
    })
}

/// Components of a nightly toolchain, installed where they are missing.
fn nightly(components: &[&str], is_there: impl Fn() -> bool) -> Outcome {
    let add = [&["component", "add", "--toolchain", "nightly"], components].concat();
    let installed = is_there()
        || (rustup(&add)? && is_there())
        || (rustup(&["toolchain", "install", "nightly", "--profile", "minimal"])?
            && rustup(&add)?
            && is_there());
    let remedy = format!("rustup toolchain install nightly --component {}", components.join(","));
    if installed { Ok(()) } else { Err(Trouble::NoTool(remedy)) }
}
