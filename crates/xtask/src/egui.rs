//! The panel `tenure-egui` and the example of its README are type-checked with each version of `egui` that its manifest
//! allows; its tests have the first.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{root, run, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain::Release;

/// The later versions need it.
const RELEASE: &str = "1.95";

/// The last of each version after that of the tests.
const VERSIONS: [&str; 4] = ["0.34.3", "0.35.0", "0.36.2", "0.37.0"];

pub(crate) fn check() -> Outcome {
    let release = Release::find(RELEASE)?;
    let folder = target().join("egui");
    write(&folder).map_err(|error| Trouble::Failed(format!("{}: {error}", folder.display())))?;
    for version in VERSIONS {
        choose(&release, &folder, version)?;
        cargo(&release, &folder, &["check", "--quiet"])?;
        println!("egui {version}: type-checked");
    }
    Ok(())
}

/// A package with the README's example, as a program.
fn write(folder: &Path) -> std::io::Result<()> {
    let crates = root().join("crates");
    let crates = crates.display();
    let manifest = format!(
        "[package]\nname = \"with-egui\"\nversion = \"0.0.0\"\nedition = \"2024\"\nrust-version = \"{RELEASE}\"\n\n\
         [workspace]\n\n[dependencies]\negui = {{ version = \"*\", default-features = false }}\n\
         # Literal strings, for the backslashes of Windows.\n\
         tenure-core = {{ path = '{crates}/tenure-core' }}\ntenure-egui = {{ path = '{crates}/tenure-egui' }}\n\
         tenure-sim = {{ path = '{crates}/tenure-sim' }}\n"
    );
    let readme = fs::read_to_string(root().join("crates/tenure-egui/README.md"))?;
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), function(&readme))
}

/// The first example of a document as a function.
fn function(document: &str) -> String {
    let example =
        document.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let lines = example.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    let body = lines.collect::<Vec<_>>().join("\n");
    format!("pub fn example() -> Result<(), Box<dyn std::error::Error>> {{\n{body}\n}}\n")
}

/// Has Cargo take this version, in the way that the panel's README describes.
fn choose(release: &Release, folder: &Path, version: &str) -> Outcome {
    let lock = folder.join("Cargo.lock");
    // Of an earlier version; there is none at first.
    let _ = fs::remove_file(&lock);
    cargo(release, folder, &["update", "--quiet", "--package", "egui_extras", "--precise", version])?;
    let text = fs::read_to_string(&lock).unwrap_or_default();
    for other in versions(&text).filter(|other| *other != version) {
        let package = format!("egui@{other}");
        cargo(release, folder, &["update", "--quiet", "--package", &package, "--precise", version])?;
    }
    Ok(())
}

/// The versions of `egui` in a lock file.
fn versions(lock: &str) -> impl Iterator<Item = &str> {
    let packages = lock.split("[[package]]").filter(|package| package.contains("name = \"egui\"\n"));
    packages.filter_map(|package| package.split("version = \"").nth(1)?.split('"').next())
}

fn cargo(release: &Release, folder: &Path, arguments: &[&str]) -> Outcome {
    let manifest: PathBuf = folder.join("Cargo.toml");
    let mut command = release.cargo();
    let (subcommand, others) = arguments.split_at(1);
    command.args(subcommand).arg("--manifest-path").arg(manifest).args(others);
    run(command.env("CARGO_TARGET_DIR", folder.join("target")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_example_is_a_function_with_its_hidden_lines() {
        let document = "# Panel\n\n```rust\nlet x = 1;\n# drop(x);\n# Ok(())\n```\n\n```rust\nother\n```\n";
        let wanted =
            "pub fn example() -> Result<(), Box<dyn std::error::Error>> {\nlet x = 1;\ndrop(x);\nOk(())\n}\n";
        assert_eq!(super::function(document), wanted);
    }

    #[test]
    fn versions_are_those_of_the_package_of_that_name() {
        let lock = "version = 4\n\n[[package]]\nname = \"egui\"\nversion = \"0.33.3\"\n\n[[package]]\nname = \"egui\"\n\
                    version = \"0.37.0\"\n\n[[package]]\nname = \"egui_extras\"\nversion = \"0.34.0\"\n";
        assert_eq!(super::versions(lock).collect::<Vec<_>>(), ["0.33.3", "0.37.0"]);
    }
}
