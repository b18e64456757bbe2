//! The packages of the lab, compared with those of the last passing tests.
//!
//! Debian updates packages of a release. A test that fails in a new lab may fail because of an update, so the
//! step `lab` prints the differences; it does not fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use crate::command::root;
use crate::outcome::Trouble;

/// A package and its version per line.
const RECORDED: &str = "lab/packages.txt";
/// The environment variable with which the packages are recorded instead.
const BLESS: &str = "TENURE_BLESS";
/// The output of dpkg for a package.
pub(crate) const FORMAT: &str = "${binary:Package} ${Version}\\n";

/// By name.
type Versions<'a> = BTreeMap<&'a str, &'a str>;

fn versions(text: &str) -> Versions<'_> {
    text.lines().filter_map(|line| line.split_once(' ')).collect()
}

/// A line for each package that differs.
fn differences(recorded: &Versions<'_>, found: &Versions<'_>) -> String {
    let mut text = String::new();
    let all: BTreeSet<_> = recorded.keys().chain(found.keys()).collect();
    for package in all {
        let _never_fails = match (recorded.get(package), found.get(package)) {
            (Some(before), Some(now)) if before == now => Ok(()),
            (Some(before), Some(now)) => writeln!(text, "  {package} {now}, recorded {before}"),
            (Some(before), None) => writeln!(text, "  no {package}, recorded {before}"),
            (None, Some(now)) => writeln!(text, "  {package} {now}, not recorded"),
            (None, None) => Ok(()),
        };
    }
    text
}

/// Prints the differences between the lab's packages, as listed by dpkg, and the recorded ones.
pub(crate) fn compare(found: &str) -> Result<(), Trouble> {
    let path = root().join(RECORDED);
    let failed = |error: std::io::Error| Trouble::Failed(format!("{RECORDED}: {error}"));
    if std::env::var_os(BLESS).is_some() {
        return fs::write(&path, found).map_err(failed);
    }
    let recorded = fs::read_to_string(&path).map_err(failed)?;
    let differences = differences(&versions(&recorded), &versions(found));
    if differences.is_empty() {
        println!("the lab's packages match {RECORDED}");
    } else {
        println!("the lab's packages differ from {RECORDED}:\n{differences}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{differences, versions};

    #[test]
    fn differences_are_listed_by_package() {
        let recorded = versions("mesa 25.0.1\nwine 10.0\nxvfb 2\n");
        assert_eq!(differences(&recorded, &recorded), "");
        let found = versions("mesa 25.0.2\nwine 10.0\nzlib 1\n");
        let expected = "  mesa 25.0.2, recorded 25.0.1\n  no xvfb, recorded 2\n  zlib 1, not recorded\n";
        assert_eq!(differences(&recorded, &found), expected);
    }
}
