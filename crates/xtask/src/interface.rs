//! The lists of public items in `docs/interface`, one file a crate: a change of the interface shows there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{root, run, target};
use crate::lab::System;
use crate::outcome::{Outcome, Trouble};
use crate::surface::RELEASE;
use crate::toolchain::Release;

/// The crates that programs use, by the system that has all of each. `tenure` re-exports them.
const CRATES: [(System, &[&str]); 2] = [
    (
        System::Linux,
        &[
            "tenure-suballoc",
            "tenure-plan",
            "tenure-heap",
            "tenure-device",
            "tenure-track",
            "tenure-graph",
            "tenure-memory",
            "tenure-core",
            "tenure-sim",
            "tenure-vulkan",
        ],
    ),
    (System::Windows, &["tenure-d3d12"]),
];

/// Compares the public items with the lists.
pub(crate) fn check() -> Outcome {
    let mut changed = Vec::new();
    for (package, items) in all()? {
        let recorded = fs::read_to_string(file(package)).unwrap_or_default();
        let added: Vec<_> =
            items.lines().filter(|item| !recorded.lines().any(|line| line == *item)).collect();
        let gone: Vec<_> = recorded.lines().filter(|line| !items.lines().any(|item| item == *line)).collect();
        changed.extend(gone.iter().map(|item| format!("- {item}")));
        changed.extend(added.iter().map(|item| format!("+ {item}")));
        println!("{package}: {} public items", items.lines().count());
    }
    if changed.is_empty() {
        return Ok(());
    }
    let changed = changed.join("\n");
    Err(Trouble::Failed(format!(
        "the public items have changed:\n{changed}\nIf that is meant, record them by `cargo xtask interface`, and tell \
         users in CHANGELOG.md about removed and changed ones"
    )))
}

/// Records the public items.
pub(crate) fn write() -> Outcome {
    for (package, items) in all()? {
        let file = file(package);
        fs::write(&file, &items).map_err(|error| Trouble::Failed(format!("{}: {error}", file.display())))?;
        println!("{}: {} lines", file.display(), items.lines().count());
    }
    Ok(())
}

fn file(package: &str) -> PathBuf {
    root().join("docs/interface").join(package).with_extension("txt")
}

fn all() -> Result<Vec<(&'static str, String)>, Trouble> {
    let release = Release::find(RELEASE)?;
    let listed = CRATES.map(|(system, packages)| {
        let folder = document(&release, packages, system)?;
        packages.iter().map(|&package| Ok((package, list(&folder, package, &release)?))).collect()
    });
    listed.into_iter().collect::<Result<Vec<Vec<_>>, _>>().map(|listed| listed.concat())
}

/// Writes the documentation of crates as JSON, with one set of features, so that dependencies are checked once. Returns
/// the folder of the files.
fn document(release: &Release, packages: &[&str], system: System) -> Result<PathBuf, Trouble> {
    let triple = system.triple();
    release.target(triple)?;
    let folder = target().join("interface");
    let mut command: Command = release.cargo();
    command.args(["doc", "--quiet", "--no-deps", "--lib", "--all-features", "--target", triple]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.env("CARGO_TARGET_DIR", &folder).env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    // The format is not stable, which is why the release is a particular one.
    run(command.env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(folder.join(triple).join("doc"))
}

/// The public items of a crate, one a line, sorted, without the methods of implemented traits.
fn list(folder: &Path, package: &str, release: &Release) -> Result<String, Trouble> {
    let json = folder.join(package.replace('-', "_")).with_extension("json");
    let found = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| Trouble::Failed(format!("{}, by {release}: {error}", json.display())))?;
    let mut items: Vec<_> = found.items().map(ToString::to_string).collect();
    items.sort();
    items.dedup();
    Ok(items.iter().map(|item| format!("{item}\n")).collect())
}
