//! The files of recorded devices.

use std::fs;

use crate::command::root;
use crate::outcome::Trouble;

/// Their folder.
pub(crate) const FOLDER: &str = "docs/devices";

/// Checks that docs/status.md links to each file.
pub(crate) fn check() -> Result<(), Trouble> {
    let Ok(files) = fs::read_dir(root().join(FOLDER)) else { return Ok(()) };
    let status = fs::read_to_string(root().join("docs/status.md"));
    let status = status.map_err(|error| Trouble::Failed(format!("docs/status.md: {error}")))?;
    for file in files.flatten() {
        let link = format!("(devices/{})", file.file_name().to_string_lossy());
        if !status.contains(&link) {
            return Err(Trouble::Failed(format!("docs/status.md does not link to {FOLDER}: no {link}")));
        }
    }
    Ok(())
}
