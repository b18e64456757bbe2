//! The instructions of a buffer that is created and released, through C and in Rust.

use std::env;
use std::process::Command;

use crate::command::{root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{archive, c, debian};

/// The calls of the function `measured` in two runs: the difference has no first calls in it.
const ROUNDS: [u64; 2] = [1000, 3000];
/// The libraries, and the intended number of instructions that the layer adds with each.
const LIBRARIES: [(&str, bool, u64); 2] = [("static", true, 100), ("shared", false, 130)];

/// Counts, and prints the numbers beside the intended ones.
pub(crate) fn check() -> Outcome {
    if !succeeds("valgrind", &["--version"]) {
        debian::packages(&["valgrind"])?;
    }
    let folder = target().join("c-instructions");
    archive::build()?;
    archive::assemble(&target().join("release"), &folder.join("package"))?;
    let rust = in_rust()?;
    println!("Rust: {rust} instructions");
    for (name, is_static, goal) in LIBRARIES {
        let program = folder.join(name);
        let mut command = Command::new("gcc");
        command.args(["-std=c11", "-O2"]).arg(root().join("crates/tenure-c/benches/create.c"));
        c::link(command.arg("-o").arg(&program), &folder.join("package"), is_static);
        run(&mut command)?;
        let all = per_round(|rounds| {
            let mut command = Command::new("valgrind");
            command.arg("--tool=callgrind").args(COLLECT).arg(&program).arg(rounds);
            command
        })?;
        let layer = all.saturating_sub(rust);
        println!("C, {name}: {all} instructions; the layer adds {layer}, goal {goal}");
    }
    Ok(())
}

fn in_rust() -> Result<u64, Trouble> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let runner = ["valgrind", "--tool=callgrind", COLLECT[0], COLLECT[1]];
    per_round(|rounds| {
        let mut command = Command::new(&cargo);
        command.arg("--config").arg(format!("target.'cfg(unix)'.runner={runner:?}"));
        command
            .args(["bench", "--package", "tenure-c", "--bench", "create", "--", rounds])
            .current_dir(root());
        command
    })
}

pub(crate) const COLLECT: [&str; 2] = ["--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"];

/// The instructions of a round.
fn per_round(command: impl Fn(&str) -> Command) -> Result<u64, Trouble> {
    let [few, many] = ROUNDS.map(|rounds| counted(&mut command(&rounds.to_string())));
    let difference = many?.saturating_sub(few?);
    match difference / (ROUNDS[1] - ROUNDS[0]) {
        0 => Err(Trouble::Failed("callgrind has seen no call of the function `measured`".to_owned())),
        count => Ok(count),
    }
}

/// The instructions of a run, by the last line of callgrind.
pub(crate) fn counted(command: &mut Command) -> Result<u64, Trouble> {
    let output = command.output().map_err(|error| Trouble::Failed(format!("{error}: {command:?}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(Trouble::Failed(format!("{}: {command:?}\n{said}", output.status))),
    }
}
