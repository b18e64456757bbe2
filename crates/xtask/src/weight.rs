//! The crates that a program on Vulkan compiles for tenure.

use std::collections::BTreeSet;

use crate::command::cargo_printed;
use crate::outcome::{Outcome, Trouble};

/// The maximum number of crates, with build dependencies and the project's own.
const MOST: usize = 32;

/// A crate that programs do not compile: the simulated device is for tests.
const NOT_IN_PROGRAMS: &str = "tenure-sim";

/// Counts the packages, and lists them when there are too many.
pub(crate) fn check() -> Outcome {
    let arguments = "tree -p tenure -e normal,build --no-default-features --features vulkan --prefix none \
        --target x86_64-unknown-linux-gnu --format {p}";
    let arguments: Vec<_> = arguments.split_whitespace().collect();
    let tree = cargo_printed(&arguments).map_err(Trouble::Failed)?;
    let crates: BTreeSet<&str> = tree.lines().filter_map(package).collect();
    println!("`tenure` with the feature `vulkan`: {} crates of {MOST}", crates.len());
    let has_device = crates.iter().any(|name| name.starts_with(NOT_IN_PROGRAMS));
    if crates.len() <= MOST && !has_device {
        return Ok(());
    }
    crates.iter().for_each(|name| println!("  {name}"));
    Err(Trouble::Failed(match has_device {
        true => format!("{NOT_IN_PROGRAMS} is among them"),
        false => format!("{} crates are more than {MOST}", crates.len()),
    }))
}

/// The name and version in a line; `None` where it has none. A repeated package is marked after them.
fn package(line: &str) -> Option<&str> {
    let end = line.match_indices(' ').nth(1).map_or(line.len(), |(end, _)| end);
    Some(&line[..end]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn packages_count_once() {
        assert_eq!(package("syn v2.0.1"), Some("syn v2.0.1"));
        assert_eq!(package("syn v2.0.1 (*)"), Some("syn v2.0.1"));
        assert_eq!(package(""), None);
    }
}
