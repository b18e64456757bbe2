//! The documentation of all crates.

use std::fs;
use std::io;
use std::path::Path;

use crate::command::{cargo_with, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain;

/// The maximum number of HTML pages of the crate `tenure`. A re-export of another crate without
/// `#[doc(no_inline)]` can add thousands.
const MOST_PAGES: usize = 700;

/// Checks that the documentation builds without warnings, and the number of pages of `tenure`.
pub(crate) fn check() -> Outcome {
    toolchain::cpp()?;
    let arguments = ["doc", "--workspace", "--no-deps", "--all-features", "--quiet"];
    cargo_with(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])?;
    let folder = target().join("doc/tenure");
    let pages = pages(&folder).map_err(|error| Trouble::Failed(format!("{}: {error}", folder.display())))?;
    let found = format!("the crate tenure has {pages} HTML pages, at most {MOST_PAGES}");
    println!("{found}");
    if pages <= MOST_PAGES { Ok(()) } else { Err(Trouble::Failed(found)) }
}

/// The number of HTML files in a folder and its subfolders.
fn pages(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        count += if path.is_dir() {
            pages(&path)?
        } else {
            usize::from(path.extension().is_some_and(|extension| extension == "html"))
        };
    }
    Ok(count)
}
