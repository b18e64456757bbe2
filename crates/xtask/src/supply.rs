//! Checks dependencies against the licences, sources and bans of deny.toml.
//!
//! If `cargo deny` is installed, it checks them, and advisories too, if their database can be reached.
//! Otherwise the same rules are checked with `cargo metadata`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, LicenseReq};

use crate::command::{cargo_printed, root, run, succeeds};
use crate::outcome::{Outcome, Trouble};

const POLICY: &str = "deny.toml";
/// The workspaces, each with its own lock file.
const MANIFESTS: [&str; 4] =
    ["Cargo.toml", "programs/Cargo.toml", "fuzz/Cargo.toml", "crates/bench/managers/Cargo.toml"];

/// The parts of deny.toml that are checked here.
#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

/// Licences that one crate may have as well.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// The output of `cargo metadata`.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// `None` for those of the workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<String>,
}

/// Checks each dependency of each workspace.
pub(crate) fn check() -> Outcome {
    if succeeds("cargo", &["deny", "--version"]) {
        return MANIFESTS.into_iter().try_for_each(by_cargo_deny);
    }
    let text = fs::read_to_string(root().join(POLICY)).map_err(failed)?;
    let policy: Policy = toml::from_str(&text).map_err(failed)?;
    let mut complaints = BTreeSet::new();
    for manifest in MANIFESTS {
        let metadata = metadata(manifest)?;
        println!("{manifest}: {} packages", metadata.packages.len());
        complaints.extend(metadata.packages.iter().flat_map(|package| policy.judge(package)));
    }
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Trouble::Failed(complaints.into_iter().collect::<Vec<_>>().join("\n")))
}

fn failed(error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(format!("{POLICY}: {error}"))
}

/// Its advisories come from a database on the network: without it, the rest is checked.
fn by_cargo_deny(manifest: &str) -> Outcome {
    let manifest = root().join(manifest);
    let deny = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.arg("deny").arg("--manifest-path").arg(&manifest).arg("check").arg("--config");
        command.arg(root().join(POLICY)).args(arguments);
        command
    };
    let is_reachable =
        deny(&["--disable-fetch", "advisories"]).output().is_ok_and(|output| output.status.success())
            || succeeds("cargo", &["deny", "fetch", "db"]);
    run(&mut deny(&["licenses", "bans", "sources"]))?;
    if is_reachable { run(&mut deny(&["advisories"])) } else { Ok(()) }
}

/// The packages of a workspace, with all features.
pub(crate) fn metadata(manifest: &str) -> Result<Metadata, Trouble> {
    let arguments =
        ["metadata", "--format-version", "1", "--all-features", "--locked", "--manifest-path", manifest];
    let said = cargo_printed(&arguments).map_err(Trouble::Failed)?;
    serde_json::from_str(&said).map_err(|error| Trouble::Failed(format!("{manifest}: {error}")))
}

impl Policy {
    /// The violations of a package.
    fn judge(&self, package: &Package) -> Vec<String> {
        let named = format!("{} {}", package.name, package.version);
        let mut complaints = Vec::new();
        match &package.source {
            None => {
                let wild = package.dependencies.iter().filter(|it| it.req == "*" && it.path.is_none());
                complaints.extend(wild.map(|it| format!("{named}: allows any version of {}", it.name)));
                return complaints;
            }
            Some(source) if !self.is_allowed_source(source) => {
                complaints.push(format!("{named}: comes from {source}"))
            }
            Some(_) => {}
        }
        if self.bans.deny.iter().any(|ban| ban.name == package.name) {
            complaints.push(format!("{named}: is banned"));
        }
        let license = package.license.as_deref().unwrap_or_default();
        if !self.is_licensed(&package.name, license) {
            complaints.push(format!("{named}: its licence \"{license}\" is not allowed"));
        }
        complaints
    }

    fn is_allowed_source(&self, source: &str) -> bool {
        let registry = source.strip_prefix("registry+");
        registry.is_some_and(|registry| self.sources.allow_registry.iter().any(|allowed| allowed == registry))
    }

    fn is_licensed(&self, name: &str, license: &str) -> bool {
        // Older crates write a slash for "or".
        let Ok(expression) = Expression::parse_mode(license, spdx::ParseMode::LAX) else { return false };
        let exceptions = self.licenses.exceptions.iter().filter(|exception| exception.name == name);
        let allowed: Vec<&str> = exceptions
            .flat_map(|exception| &exception.allow)
            .chain(&self.licenses.allow)
            .map(String::as_str)
            .collect();
        expression.evaluate(|wanted: &LicenseReq| allowed.contains(&wanted.to_string().as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bans, Dependency, Exception, Licenses, Package, Policy, Sources};

    const REGISTRY: &str = "https://registry.example/index";

    fn policy() -> Policy {
        let (name, allow) = ("fonts".to_owned(), vec!["OFL-1.1".to_owned()]);
        Policy {
            licenses: Licenses { allow: vec!["MIT".to_owned()], exceptions: vec![Exception { name, allow }] },
            bans: Bans { deny: vec![super::Ban { name: "bad".to_owned() }] },
            sources: Sources { allow_registry: vec![REGISTRY.to_owned()] },
        }
    }

    fn package(name: &str, license: &str, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some(license.to_owned()),
            source: source.map(str::to_owned),
            manifest_path: String::new(),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn packages_that_the_policy_forbids_are_complaints() {
        let from = format!("registry+{REGISTRY}");
        let count = |package: &Package| policy().judge(package).len();
        for (name, license, wrong) in [
            ("good", "MIT", 0),
            ("good", "MIT OR GPL-3.0-only", 0),
            ("good", "GPL-2.0/MIT", 0),
            ("good", "MIT AND GPL-3.0-only", 1),
            ("good", "", 1),
            ("good", "no licence at all", 1),
            ("fonts", "MIT AND OFL-1.1", 0),
            ("good", "MIT AND OFL-1.1", 1),
            ("bad", "MIT", 1),
            ("bad", "GPL-3.0-only", 2),
        ] {
            assert_eq!(count(&package(name, license, Some(&from))), wrong, "{name}, {license}");
        }
        assert_eq!(count(&package("good", "MIT", Some("git+https://code.example/good"))), 1);
        let mut own = package("own", "", None);
        assert_eq!(count(&own), 0);
        own.dependencies.push(Dependency { name: "any".to_owned(), req: "*".to_owned(), path: None });
        assert_eq!(count(&own), 1);
    }
}
