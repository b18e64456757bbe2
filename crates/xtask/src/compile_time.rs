//! The processor time to compile programs on Vulkan, here and at another revision.
//!
//! The time of tenure and the other dependencies is left out: they are compiled once, the program after each change.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{fs, io};

use crate::command::{printed, root, run, target};
use crate::outcome::{Outcome, Trouble};

/// The examples that are compiled, each with its file.
const PROGRAMS: [(&str, &str); 3] = [
    ("triangle-vulkan", "examples/triangle-vulkan.rs"),
    ("voxel-vulkan", "examples/voxel-vulkan/main.rs"),
    ("render-graph", "examples/render-graph/main.rs"),
];

/// Cargo's defaults for a release build, instead of this workspace's profile.
const PROFILE: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "false"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
];

/// Seconds of processor time for each program; the lines are aligned.
type Times = Vec<f64>;

/// Compiles the examples `rounds` times here, and at `against`, and prints the medians of the processor time.
pub(crate) fn run_and_print(against: Option<&str>, rounds: u32) -> Outcome {
    let folder = target().join("compile-time");
    // One folder for both: dependencies from the registry are compiled once.
    let built = folder.join("target");
    let here = of_checkout(&root(), &built, rounds)?;
    let there = against.map(|revision| {
        let checkout = checkout(revision, folder.join("source"))?;
        of_checkout(&checkout, &built, rounds)
    });
    match there.transpose()? {
        None => print(&here, None),
        Some(there) => print(&here, Some((against.unwrap_or_default(), &there))),
    }
    Ok(())
}

fn print(here: &Times, there: Option<(&str, &Times)>) {
    let names = PROGRAMS.iter().map(|(name, _)| *name).chain(["all"]);
    let with_sum = |times: &Times| times.iter().copied().chain([times.iter().sum()]).collect::<Vec<f64>>();
    let here = with_sum(here);
    match there {
        None => {
            println!("{:16} {:>12}", "seconds of CPU", "this");
            names.zip(here).for_each(|(name, here)| println!("{name:16} {here:12.1}"));
        }
        Some((revision, there)) => {
            println!("{:16} {revision:>12.12} {:>12} {:>8}", "seconds of CPU", "this", "ratio");
            for ((name, here), there) in names.zip(here).zip(with_sum(there)) {
                println!("{name:16} {there:12.1} {here:12.1} {:8.2}", here / there);
            }
        }
    }
}

/// The files of a revision, in a folder.
fn checkout(revision: &str, folder: PathBuf) -> Result<PathBuf, Trouble> {
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    }
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    let archive = folder.join("all.tar");
    run(Command::new("git").arg("archive").arg("--output").arg(&archive).arg(revision))?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder))?;
    Ok(folder)
}

fn failed(file: &Path, error: &io::Error) -> Trouble {
    Trouble::Failed(format!("{}: {error}", file.display()))
}

fn of_checkout(checkout: &Path, target: &Path, rounds: u32) -> Result<Times, Trouble> {
    PROGRAMS
        .iter()
        .map(|(name, file)| {
            // With everything that it depends on.
            compile(checkout, target, name)?;
            let mut times = Vec::new();
            for _ in 0..rounds {
                touch(&checkout.join(file))?;
                let before = children_time()?;
                compile(checkout, target, name)?;
                times.push(children_time()? - before);
            }
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        })
        .collect()
}

fn compile(checkout: &Path, target: &Path, name: &str) -> Outcome {
    run(Command::new("cargo")
        .args(["build", "--release", "--quiet", "--package", "tenure", "--example", name])
        .arg("--manifest-path")
        .arg(checkout.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .envs(PROFILE))
}

/// Makes cargo compile the file again.
fn touch(file: &Path) -> Outcome {
    let opened = fs::File::options().append(true).open(file);
    let touched = opened.and_then(|opened| opened.set_modified(SystemTime::now()));
    touched.map_err(|error| failed(file, &error))
}

/// Seconds of processor time of all child processes that have ended, and of theirs.
fn children_time() -> Result<f64, Trouble> {
    let stat = fs::read_to_string("/proc/self/stat").ok();
    // After the name, which may have spaces; the 16th and 17th field of all.
    let ticks = stat.as_deref().and_then(|stat| {
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(13)?.parse::<f64>().ok()? + fields.get(14)?.parse::<f64>().ok()?)
    });
    let per_second = printed("getconf", &["CLK_TCK"]).and_then(|text| text.parse::<f64>().ok());
    match (ticks, per_second) {
        (Some(ticks), Some(per_second)) => Ok(ticks / per_second),
        _ => Err(Trouble::NoTool("processor time is read from Linux's /proc".to_owned())),
    }
}
