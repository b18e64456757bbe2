//! The crates of the workspace, as Cargo describes them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::command::cargo_printed;

/// One crate of the workspace.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) is_published: bool,
    /// The root file of its library, or of its program where there is no library.
    pub(super) root: PathBuf,
    /// The crates of the workspace that it depends on, but for its tests.
    pub(super) uses: BTreeSet<String>,
    /// Its manifest, from the workspace's root.
    pub(super) manifest: PathBuf,
}

/// All of them, by name.
pub(super) fn read() -> Result<Vec<Crate>, String> {
    let text = cargo_printed(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let all: BTreeSet<&str> = packages.iter().filter_map(|it| it["name"].as_str()).collect();
    let base = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or_default());
    let mut crates: Vec<Crate> = packages.iter().filter_map(|it| one(it, &all, &base)).collect();
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(crates)
}

fn one(package: &Value, all: &BTreeSet<&str>, base: &std::path::Path) -> Option<Crate> {
    let target = |kind: &str| {
        let is_it =
            |target: &&Value| target["kind"].as_array().is_some_and(|it| it.iter().any(|it| it == kind));
        package["targets"].as_array()?.iter().find(is_it)?["src_path"].as_str().map(PathBuf::from)
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let uses = dependencies
        // The original of the drop-in has the same name, but no path.
        .filter(|it| it["kind"] != "dev" && it["path"].is_string())
        .filter_map(|it| it["name"].as_str())
        .filter(|name| all.contains(name))
        .map(str::to_owned);
    let manifest = PathBuf::from(package["manifest_path"].as_str()?);
    Some(Crate {
        name: package["name"].as_str()?.to_owned(),
        is_published: package["publish"].is_null(),
        root: target("lib").or_else(|| target("rlib")).or_else(|| target("bin"))?,
        uses: uses.collect(),
        manifest: manifest.strip_prefix(base).map_or_else(|_| manifest.clone(), PathBuf::from),
    })
}
