//! Traces of `tenure report --perfetto`, read with the messages that Perfetto publishes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, printed, root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{debian, devices};

/// Perfetto's published messages for Python. Its trace processor is not part of it: that is fetched when it is first
/// used, from outside any registry.
const PACKAGE: &str = "perfetto==0.59.1";

/// The replays, with further arguments; a replay with movable resources differs from `tenure replay`.
const REPLAYS: &[(&str, &[&str])] = &[
    ("bevy-3d_scene", &["--strategy", "pooled"]),
    ("bevy-many_foxes", &["--strategy", "placed"]),
    ("egui_demo_app", &["--strategy", "committed"]),
    ("bevy-3d_scene", &["--movable"]),
];

/// Writes traces and checks them.
pub(crate) fn check() -> Outcome {
    let python = python()?;
    // As the tests of the workspace build it, so that nothing is built twice.
    cargo(&[&devices::TEST_ALL[..], &["--no-run", "--test", "devices"]].concat())?;
    let tenure = target().join("debug").join(format!("tenure{}", std::env::consts::EXE_SUFFIX));
    let mut reader = Command::new(python);
    reader.arg("crates/xtask/src/perfetto/check.py");
    for (number, (recording, arguments)) in REPLAYS.iter().enumerate() {
        let recording = format!("traces/{recording}.csv.gz");
        let trace = folder().join(format!("{number}.perfetto-trace"));
        run(Command::new(&tenure).args(["report", &recording, "--perfetto"]).arg(&trace).args(*arguments))?;
        reader.arg(trace).arg(outcome(&tenure, &recording, arguments)?);
    }
    run(&mut reader)
}

/// The outcome of the same replay without a trace, as JSON.
fn outcome(tenure: &Path, recording: &str, arguments: &[&str]) -> Result<String, Trouble> {
    if arguments == ["--movable"] {
        return Ok("null".to_owned());
    }
    let recording = root().join(recording);
    let (program, recording) = (tenure.to_string_lossy(), recording.to_string_lossy());
    let replay = [&["replay", "--json", &recording], arguments].concat();
    printed(&program, &replay).ok_or_else(|| Trouble::Failed(format!("{program} {}", replay.join(" "))))
}

fn folder() -> PathBuf {
    target().join("perfetto")
}

/// A Python with the package, in an environment of its own.
fn python() -> Result<PathBuf, Trouble> {
    let environment = folder();
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let version = PACKAGE.split('=').next_back().unwrap_or_default();
    let has_package =
        format!("import importlib.metadata as it; assert it.version('perfetto') == '{version}'");
    let is_there = || succeeds(&python.to_string_lossy(), &["-c", &has_package]);
    if is_there() {
        return Ok(python);
    }
    if debian::is_here() && !succeeds("python3", &["-c", "import ensurepip"]) {
        debian::packages(&["python3-venv"])?;
    }
    let host = if cfg!(windows) { "python" } else { "python3" };
    if !succeeds(host, &["--version"]) {
        return Err(Trouble::NoTool("needs Python 3".to_owned()));
    }
    run(Command::new(host).args(["-m", "venv"]).arg(&environment))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    Ok(python)
}
