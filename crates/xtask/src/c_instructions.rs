//! The instructions of a buffer that is created and released, through C and in Rust.

use std::env;
use std::process::Command;

use crate::command::{cargo, root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c, debian};

/// The calls of the function `measured` in each program.
const ROUNDS: u64 = 1000;
/// The libraries, and the most instructions that the layer may add with each.
const LIBRARIES: [(&str, bool, u64); 2] = [("static", true, 100), ("shared", false, 130)];

/// Counts, prints, and fails beyond the limits.
pub(crate) fn check() -> Outcome {
    if !succeeds("valgrind", &["--version"]) {
        debian::packages(&["valgrind"])?;
    }
    let folder = target().join("c-instructions");
    cargo(&["build", "--release", "--package", "tenure-c", "--lib"])?;
    archive::assemble(&target().join("release"), &folder.join("package"))?;
    let rust = in_rust()?;
    println!("Rust: {rust} instructions");
    let mut excess = Vec::new();
    for (name, is_static, limit) in LIBRARIES {
        let program = folder.join(name);
        let mut command = Command::new("gcc");
        command.args(["-std=c11", "-O2"]).arg(root().join("crates/tenure-c/benches/create.c"));
        c::link(command.arg("-o").arg(&program), &folder.join("package"), is_static);
        run(&mut command)?;
        let all = counted(callgrind().arg(&program))?;
        let layer = all.saturating_sub(rust);
        println!("C, {name}: {all} instructions; the layer adds {layer}, at most {limit}");
        if layer > limit {
            excess.push(name);
        }
    }
    match excess.is_empty() {
        true => Ok(()),
        false => Err(Trouble::Failed(format!("more than the limit: {}", excess.join(", ")))),
    }
}

fn in_rust() -> Result<u64, Trouble> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let runner = ["valgrind", "--tool=callgrind", COLLECT[0], COLLECT[1]];
    let mut command = Command::new(cargo);
    command.arg("--config").arg(format!("target.'cfg(unix)'.runner={runner:?}"));
    command.args(["bench", "--package", "tenure-c", "--bench", "create"]).current_dir(root());
    counted(&mut command)
}

const COLLECT: [&str; 2] = ["--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"];

fn callgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").args(COLLECT);
    command
}

/// The instructions of a round, by the last line of callgrind.
fn counted(command: &mut Command) -> Result<u64, Trouble> {
    let output = command.output().map_err(|error| Trouble::Failed(format!("{error}: {command:?}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match count {
        Some(count) if output.status.success() => Ok(count / ROUNDS),
        _ => Err(Trouble::Failed(format!("{}: {command:?}\n{said}", output.status))),
    }
}
