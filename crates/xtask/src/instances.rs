//! The instances of the planner that others have published.

use std::path::Path;
use std::{env, fs};

use crate::command::cargo_with;
use crate::devices::TEST_ALL;
use crate::outcome::{Outcome, Trouble};

/// The folder with the instances.
const FOLDER: &str = "TENURE_PLAN_INSTANCES";

/// The tests of the planted instances, on these.
pub(crate) fn published() -> Outcome {
    let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) else {
        return Err(Trouble::NotAsked(format!(
            "set {FOLDER} to a folder with instances: see CONTRIBUTING.md"
        )));
    };
    // Tests run in the folders of their packages.
    let folder = fs::canonicalize(&folder)
        .map_err(|error| Trouble::Failed(format!("{FOLDER} is {}: {error}", Path::new(&folder).display())))?;
    // With the crates and features of the other tests, so that nothing is built twice.
    let arguments = [&TEST_ALL[..], &["--test", "challenging", "--", "published"]].concat();
    cargo_with(&arguments, &[(FOLDER, &folder.to_string_lossy())])
}
