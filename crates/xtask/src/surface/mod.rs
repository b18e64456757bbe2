//! Checks that the drop-in for the crate `gpu-allocator` has the same public surface as the original.
//!
//! Rustdoc lists the public items of both, and Cargo their features. A difference is a failure, unless
//! `crates/gpu-allocator/surface-exceptions.txt` gives a reason for it.

mod differences;
mod listing;
mod project;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use self::differences::{Exceptions, between};
use self::listing::listing;
use self::project::Project;
use crate::command::root;
use crate::devices::DROP_IN;
use crate::lab::System;
use crate::outcome::{Outcome, Trouble};
use crate::toolchain::Release;

/// The release whose rustdoc is used: its output format changes with each release, and the version of the crate
/// `public-api`, which reads it, supports exactly this one. It is the active toolchain, or one from rustup.
pub(crate) const RELEASE: &str = "1.95";

const ORIGINAL: &str = "gpu-allocator@0.28.0";

/// The first of the range, and the one whose interfaces are neither `Send` nor `Sync`.
const WINDOWS: [&str; 2] = ["0.53.0", "0.59.0"];

/// The first of the range.
const EGUI: &str = "0.24.1";

/// A part of the surface: a system, with some features.
struct Surface {
    name: &'static str,
    system: System,
    features: &'static [&'static str],
}

/// Features add up, so that each API is there once; without `std` as wgpu asks for it.
const SURFACES: [Surface; 3] = [
    Surface { name: "vulkan", system: System::Linux, features: &["std", "vulkan", "visualizer"] },
    Surface { name: "d3d12", system: System::Windows, features: &["std", "d3d12", "visualizer"] },
    Surface { name: "no-std", system: System::Windows, features: &["hashbrown", "d3d12", "vulkan"] },
];

/// The public items of both crates, one a line.
struct Both {
    original: Vec<String>,
    ours: Vec<String>,
}

impl Surface {
    fn list(&self, release: &Release) -> Result<Both, Trouble> {
        let triple = self.system.triple();
        release.target(triple)?;
        let project = Project::new(release, self.features)?;
        let list = |package| {
            let mut items = project.promises(package)?;
            items.extend(listing(release, &project, package, triple)?);
            Ok(items)
        };
        Ok(Both { original: list(ORIGINAL)?, ours: list(DROP_IN)? })
    }
}

/// Checks that our surface equals the original's, and that ours builds with old versions of `windows` and `egui`.
pub(crate) fn check() -> Outcome {
    let release = Release::find(RELEASE)?;
    let exceptions = Exceptions::read(&root().join("crates/gpu-allocator/surface-exceptions.txt"))?;
    let mut all = BTreeSet::new();
    for surface in &SURFACES {
        let Both { original, ours } = surface.list(&release)?;
        println!("{}: {} public items in the original, {} in ours", surface.name, original.len(), ours.len());
        all.extend(between(&original, &ours));
    }
    exceptions.explain(&all)?;
    old_windows(&release)?;
    old_egui(&release)
}

/// Type-checks ours with the supported versions of `windows`; all other steps use the last.
fn old_windows(release: &Release) -> Outcome {
    let triple = System::Windows.triple();
    for version in WINDOWS {
        let project = Project::new(release, &["std", "d3d12"])?;
        project.cargo("update", &["--quiet", "--package", "windows", "--precise", version])?;
        project.cargo("check", &["--quiet", "--package", DROP_IN, "--target", triple])?;
        println!("windows {version}: type-checked");
    }
    Ok(())
}

/// Type-checks the visualizer with the first supported version of `egui`; all other steps use the last.
fn old_egui(release: &Release) -> Outcome {
    let project = Project::new(release, &["std", "d3d12", "vulkan", "visualizer"])?;
    // Adds to the versions of the workspace those that are missing, which are the last of the range.
    project.cargo("update", &["--quiet", "--workspace"])?;
    // The original uses the one with the other.
    for package in ["egui_extras@0.27.2", "egui@0.27.2"] {
        project.cargo("update", &["--quiet", "--package", package, "--precise", EGUI])?;
    }
    project.cargo("check", &["--quiet", "--package", DROP_IN, "--target", System::Windows.triple()])?;
    println!("egui {EGUI}: type-checked");
    Ok(())
}

fn failed<T>(reason: String) -> Result<T, Trouble> {
    Err(Trouble::Failed(reason))
}

fn unwritten(file: &Path, error: &io::Error) -> Trouble {
    Trouble::Failed(format!("{}: {error}", file.display()))
}
