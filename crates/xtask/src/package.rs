//! Checks that the crates can be published: metadata, packages, and a check of each from its package.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use serde_json::Value;

use crate::command::{cargo, cargo_printed, root, run, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain;

/// The required fields of a package's manifest, by Cargo's names.
const METADATA: [&str; 5] = ["description", "documentation", "license", "readme", "repository"];

/// Files that each package has.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The files that must equal the project's in each package.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Does everything except publishing: Cargo makes the packages, and resolves their dependencies with the registry's index.
/// Then each is type-checked from its package alone, with its default features and the other packages in place of the
/// registry.
pub(crate) fn check() -> Outcome {
    toolchain::cpp()?;
    let published = published().map_err(Trouble::Failed)?;
    let missing = missing(&published).map_err(Trouble::Failed)?;
    for missing in &missing {
        println!("{missing}");
    }
    if !missing.is_empty() {
        return Err(Trouble::Failed(format!("{} items are missing", missing.len())));
    }
    let folder = target().join("packages");
    let made = folder.to_string_lossy();
    let each = published.iter().flat_map(|package| ["--package", text(package, "name")]);
    let package = ["package", "--no-verify", "--allow-dirty", "--quiet", "--target-dir", &made];
    cargo(&package.into_iter().chain(each).collect::<Vec<_>>())?;
    let unpacked = folder.join("unpacked");
    unpack(&published, &folder.join("package"), &unpacked)?;
    let manifest = unpacked.join("Cargo.toml");
    let manifest = manifest.to_string_lossy();
    for package in &published {
        let name = text(package, "name");
        cargo(&["check", "--quiet", "--manifest-path", &manifest, "--package", name, "--target-dir", &made])?;
    }
    Ok(())
}

/// Unpacks packages into a workspace in which they stand for those of the registry.
fn unpack(published: &[Value], packages: &Path, folder: &Path) -> Outcome {
    let failed = |error: io::Error| Trouble::Failed(format!("{}: {error}", folder.display()));
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => fs::create_dir_all(folder).map_err(failed)?,
    }
    let (mut members, mut patches) = (String::new(), String::new());
    for package in published {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let of = format!("{name}-{version}");
        let file = packages.join(format!("{of}.crate"));
        run(Command::new("tar").arg("-xf").arg(file).arg("-C").arg(folder))?;
        members += &format!("\"{of}\", ");
        patches += &format!("{name} = {{ path = \"{of}\" }}\n");
    }
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}");
    fs::write(folder.join("Cargo.toml"), manifest).map_err(failed)?;
    // The versions of the project.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    Ok(())
}

/// A text of a package's metadata.
fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// The metadata of the packages that are published.
fn published() -> Result<Vec<Value>, String> {
    let text = cargo_printed(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    Ok(packages.iter().filter(|it| it["publish"].is_null()).cloned().collect())
}

/// The missing parts of published crates.
fn missing(published: &[Value]) -> Result<Vec<String>, String> {
    published.iter().map(of_package).collect::<Result<Vec<_>, _>>().map(|all| all.concat())
}

fn of_package(package: &Value) -> Result<Vec<String>, String> {
    let name = text(package, "name");
    let lacks = |what: &str| format!("{name} has no {what}");
    let unsaid = METADATA.iter().filter(|key| package[**key].is_null()).map(|key| lacks(key));
    let manifest = text(package, "manifest_path");
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
