//! Checks that the crates can be published: metadata, packages, and a build of each from its package.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::Value;

use crate::command::{cargo_printed, cargo_with, root, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain;

/// The required fields of a package's manifest, by Cargo's names.
const METADATA: [&str; 5] = ["description", "documentation", "license", "readme", "repository"];

/// Files that each package has.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Settings of the profile `dev`, for a build that is never run.
const FASTEST: [(&str, &str); 2] =
    [("CARGO_PROFILE_DEV_OPT_LEVEL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "false")];

/// The files that must equal the project's in each package.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The folder in which packages are built, apart from the workspace.
fn folder() -> PathBuf {
    target().join("packages")
}

/// Does everything except publishing: Cargo makes the packages, resolves their dependencies with the registry's
/// index, and builds each from its package, with the other packages in place of the registry.
pub(crate) fn check() -> Outcome {
    toolchain::cpp()?;
    let missing = missing().map_err(Trouble::Failed)?;
    for missing in &missing {
        println!("{missing}");
    }
    if !missing.is_empty() {
        return Err(Trouble::Failed(format!("{} items are missing", missing.len())));
    }
    forget_earlier().map_err(|error| Trouble::Failed(format!("packages of an earlier run: {error}")))?;
    let target = folder();
    let target = target.to_string_lossy();
    let publish =
        ["publish", "--workspace", "--dry-run", "--allow-dirty", "--quiet", "--target-dir", &target];
    cargo_with(&publish, &FASTEST)
}

/// Removes the sources and outputs of our packages from an earlier run: Cargo assumes that packages of one
/// version are equal, and would build dependents with the old sources. Registries without a host are made by
/// Cargo for a dry run.
fn forget_earlier() -> io::Result<()> {
    remove_ours(&folder().join("debug/.fingerprint"))?;
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(cargo_home) = cargo_home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else {
        return Ok(());
    };
    let Ok(registries) = fs::read_dir(cargo_home.join("registry/src")) else { return Ok(()) };
    for registry in registries {
        let registry = registry?;
        if registry.file_name().to_string_lossy().starts_with('-') {
            remove_ours(&registry.path())?;
        }
    }
    Ok(())
}

/// Removes the folders of our packages in a folder, if that is there.
fn remove_ours(folder: &Path) -> io::Result<()> {
    let Ok(packages) = fs::read_dir(folder) else { return Ok(()) };
    for package in packages {
        let package = package?;
        if package.file_name().to_string_lossy().starts_with("tenure-") {
            fs::remove_dir_all(package.path())?;
        }
    }
    Ok(())
}

/// The missing parts of published crates.
fn missing() -> Result<Vec<String>, String> {
    let text = cargo_printed(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    packages
        .iter()
        .filter(|it| it["publish"].is_null())
        .map(of_package)
        .collect::<Result<Vec<_>, _>>()
        .map(|all| all.concat())
}

fn of_package(package: &Value) -> Result<Vec<String>, String> {
    let name = package["name"].as_str().unwrap_or_default();
    let lacks = |what: &str| format!("{name} has no {what}");
    let unsaid = METADATA.iter().filter(|key| package[**key].is_null()).map(|key| lacks(key));
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    // A file in each line.
    let packed =
        cargo_printed(&["package", "--list", "--allow-dirty", "--quiet", "--manifest-path", manifest])?;
    let unpacked =
        FILES.iter().filter(|file| !packed.lines().any(|line| line == **file)).map(|file| lacks(file));
    let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
    // Where links are not supported, as on Windows, a link is a text file with a path.
    let differs = |file: &&&str| fs::read(folder.join(file)).ok() != fs::read(root().join(file)).ok();
    let changed = LICENSES.iter().filter(differs).map(|file| lacks(&format!("copy of the project's {file}")));
    Ok(unsaid.chain(unpacked).chain(changed).collect())
}
