//! The main job, as it is compiled for a first look: the program without features.

use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::command::{cargo, root, target};
use crate::outcome::{Outcome, Trouble};

/// Arguments that need a feature; the text and the feature in the error.
const ABSENT: [(&[&str], &str, &str); 4] = [
    (&["devices"], "without Vulkan", "vulkan"),
    (&["replay", "traces/egui_demo_app.csv.gz", "--device", "vulkan"], "without Vulkan", "vulkan"),
    (&["report", "traces/egui_demo_app.csv.gz", "--html", "page.html"], "without `tenure report`", "report"),
    (&["replay", "fuzz/seeds/recording/zstd-head.csv.zst"], "without zstd", "zstd"),
];

/// The help text of a command that needs a feature.
const ABSENT_COMMAND: &str = "(not in this program: the feature `report` adds it)";

/// The default replay. Missing commands are refused with the feature that adds them, and marked in the help.
pub(crate) fn check() -> Outcome {
    cargo(&["run", "--release", "--quiet"])?;
    let program = target().join("release").join(format!("tenure{}", std::env::consts::EXE_SUFFIX));
    for (arguments, missing, feature) in ABSENT {
        let (status, said) = run(&program, arguments)?;
        let has = |wanted: &str| said.contains(wanted);
        if status.success() || !has(missing) || !has(&format!("--features {feature} --`")) {
            return Err(Trouble::Failed(format!("tenure {}: {status}: {said}", arguments.join(" "))));
        }
    }
    let (_, help) = run(&program, &["-h"])?;
    if help.contains(ABSENT_COMMAND) { Ok(()) } else { Err(Trouble::Failed(format!("tenure -h: {help}"))) }
}

/// The exit status and the output of the program with some arguments.
fn run(program: &Path, arguments: &[&str]) -> Result<(ExitStatus, String), Trouble> {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.map_err(|error| Trouble::Failed(format!("{}: {error}", program.display())))?;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((output.status, said.concat()))
}
