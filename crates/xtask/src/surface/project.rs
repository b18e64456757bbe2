//! A package that depends on both crates, with the wanted features.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{failed, unwritten};
use crate::command::{root, run, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain::Release;

/// The crates whose types are in the surface: which versions of them are asked for is part of it.
const SHOWN: [&str; 5] = ["ash", "egui", "log", "presser", "windows"];

/// The package, outside the workspace, with the workspace's choice of versions.
pub(super) struct Project<'a> {
    release: &'a Release,
    folder: PathBuf,
}

impl<'a> Project<'a> {
    /// Replaces the one that was there.
    pub(super) fn new(release: &'a Release, features: &[&str]) -> Result<Self, Trouble> {
        let folder = target().join("surface");
        let put = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&folder))
                .and_then(|()| fs::write(&file, text))
                .map_err(|error| unwritten(&file, &error))
        };
        put("Cargo.toml", &manifest(features))?;
        put("src/lib.rs", "")?;
        let lock = root().join("Cargo.lock");
        let versions = fs::read_to_string(&lock).map_err(|error| unwritten(&lock, &error))?;
        put("Cargo.lock", &versions)?;
        Ok(Self { release, folder })
    }

    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Cargo, for a subcommand on this package.
    pub(super) fn command(&self, subcommand: &str) -> Command {
        let mut command = self.release.cargo();
        command.arg(subcommand).arg("--manifest-path").arg(self.folder.join("Cargo.toml"));
        command.env("CARGO_TARGET_DIR", self.target());
        command
    }

    pub(super) fn cargo(&self, subcommand: &str, arguments: &[&str]) -> Outcome {
        run(self.command(subcommand).args(arguments))
    }

    /// The public part of a crate's manifest: its features, and the versions of the crates in its interface.
    pub(super) fn promises(&self, package: &str) -> Result<Vec<String>, Trouble> {
        let output = self.command("metadata").args(["--format-version", "1"]).output();
        let metadata = output.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
        let found = metadata.as_ref().and_then(|metadata| {
            let is_it = |found: &&Value| package_is(found, package);
            metadata["packages"].as_array()?.iter().find(is_it)
        });
        found.map_or_else(
            || failed(format!("cargo metadata does not say what {package} is")),
            |found| Ok(promises(found)),
        )
    }
}

fn manifest(features: &[&str]) -> String {
    let ours = root().join("crates/gpu-allocator");
    let asked = format!("default-features = false\nfeatures = {features:?}\n");
    [
        "[package]\nname = \"surface\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n",
        "[dependencies.ours]\npackage = \"gpu-allocator\"",
        // A literal string, for the backslashes of Windows.
        &format!("path = '{}'", ours.display()),
        &asked,
        "[dependencies.original]\npackage = \"gpu-allocator\"\nversion = \"=0.28.0\"",
        &asked,
    ]
    .join("\n")
}

fn package_is(found: &Value, package: &str) -> bool {
    let (name, version) = (found["name"].as_str(), found["version"].as_str());
    name.zip(version).is_some_and(|(name, version)| package == format!("{name}@{version}"))
}

/// Features with the features of their own crate that they enable. Effects on other crates appear in the
/// listing, if they are visible.
fn promises(package: &Value) -> Vec<String> {
    let features = package["features"].as_object().into_iter().flatten().map(|(name, turned_on)| {
        let turned_on = turned_on.as_array().into_iter().flatten().filter_map(Value::as_str);
        let own: BTreeSet<_> = turned_on.filter(|other| !other.contains([':', '/'])).collect();
        format!("feature {name} = {own:?}")
    });
    let dependencies = package["dependencies"].as_array().into_iter().flatten().filter_map(|found| {
        let (name, versions) = (found["name"].as_str()?, found["req"].as_str()?);
        let is_shown = found["kind"].is_null() && SHOWN.contains(&name);
        is_shown.then(|| format!("dependency {name} {versions}"))
    });
    features.chain(dependencies).collect()
}

#[cfg(test)]
mod tests {
    use super::promises;

    #[test]
    fn promises_are_features_and_the_crates_that_show() {
        let package = serde_json::json!({
            "features": { "std": ["presser/std"], "default": ["std", "dep:ash"] },
            "dependencies": [
                { "name": "ash", "req": "^0.38", "kind": null },
                { "name": "ash", "req": "^0.39", "kind": "dev" },
                { "name": "thiserror", "req": "^2", "kind": null },
            ],
        });
        let expected = [r#"feature default = {"std"}"#, "feature std = {}", "dependency ash ^0.38"];
        assert_eq!(promises(&package), expected);
    }
}
