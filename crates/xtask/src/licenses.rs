//! The licences of the crates in the C libraries, which copies of these have to contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::cargo_printed;
use crate::outcome::Trouble;
use crate::supply::{self, Package};

const HEAD: &str = "The libraries contain Rust's standard library (MIT OR Apache-2.0, https://github.com/rust-lang/rust)\nand these \
                    packages. The text of each licence follows the packages that have it.\n";

/// The text of the file: each licence once, below the packages that have it.
pub(crate) fn text() -> Result<String, Trouble> {
    let tree = ["tree", "--package", "tenure-c", "--edges", "normal,no-proc-macro", "--prefix", "none"];
    let linked =
        cargo_printed(&[&tree[..], &["--no-dedupe", "--format", "{p}"]].concat()).map_err(Trouble::Failed)?;
    let linked: BTreeSet<_> = linked.lines().filter_map(name_and_version).collect();
    let metadata = supply::metadata("Cargo.toml")?;

    let mut packages = BTreeMap::<_, Vec<_>>::new();
    for package in &metadata.packages {
        if package.source.is_none() || !linked.contains(&(&*package.name, &*package.version)) {
            continue;
        }
        let of = format!(
            "{} {} ({})",
            package.name,
            package.version,
            package.license.as_deref().unwrap_or("no licence")
        );
        for license in licenses(package)? {
            packages.entry(license).or_default().push(of.clone());
        }
    }
    let mut text = HEAD.to_owned();
    for (license, packages) in packages {
        let _ = write!(text, "\n{}\n{}\n\n{license}\n", "=".repeat(100), packages.join("\n"));
    }
    Ok(text)
}

/// The file with the licences of Rust's standard library and its dependencies, which each toolchain has.
pub(crate) fn of_rust() -> Result<PathBuf, Trouble> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| Trouble::Failed(format!("rustc --print sysroot: {error}")))?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html"))
}

/// Of a line such as `ash v0.38.0+1.3.281`.
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// The texts in the folder of a package.
fn licenses(package: &Package) -> Result<Vec<String>, Trouble> {
    let folder = Path::new(&package.manifest_path).with_file_name("");
    let failed = |error| Trouble::Failed(format!("{}: {error}", folder.display()));
    let mut texts = Vec::new();
    for file in fs::read_dir(&folder).map_err(failed)? {
        let file = file.map_err(failed)?;
        let name = file.file_name().to_string_lossy().to_uppercase();
        if ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| name.starts_with(start))
            && file.path().is_file()
        {
            let text = fs::read_to_string(file.path()).map_err(failed)?;
            // Copies of a licence differ in the ends of their lines.
            texts.push(
                text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned(),
            );
        }
    }
    match texts.is_empty() {
        true => Err(Trouble::Failed(format!("{}: no text of its licence", folder.display()))),
        false => Ok(texts),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn each_package_in_the_library_has_the_text_of_a_licence() {
        let text = super::text().unwrap();
        for package in ["ash 0.", "serde_json 1.", "parking_lot 0.", "tracing 0."] {
            assert!(text.contains(&format!("\n{package}")), "{package}");
        }
        assert!(!text.contains("\ntenure") && !text.contains("\nsyn "));
        let sections: Vec<_> =
            text.split(&"=".repeat(100)).skip(1).map(|part| part.split_once("\n\n").unwrap().1).collect();
        assert_eq!(sections.iter().collect::<BTreeSet<_>>().len(), sections.len(), "a text is there twice");
    }
}
