//! Real programs, with both allocators: pictures, memory and time side by side.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::build::{Built, build, cargo};
use super::figures::{Figures, median};
use super::host::{Host, Run};
use super::{Allocator, DROP_IN};
use crate::command::{self, root, target};
use crate::outcome::{Outcome, Trouble};
use crate::toolchain;

/// A program of `programs/`.
#[derive(Clone, Copy)]
struct Program {
    name: &'static str,
    package: &'static str,
    /// How many frames it draws.
    frames: u32,
}

const PROGRAMS: &[Program] = &[
    Program { name: "shadows", package: "scenes", frames: 64 },
    Program { name: "sprites", package: "scenes", frames: 128 },
    Program { name: "particles", package: "scenes", frames: 400 },
    Program { name: "egui", package: "egui-demo", frames: 128 },
    Program { name: "vello", package: "vello-demo", frames: 64 },
    Program { name: "bevy", package: "bevy-demo", frames: 64 },
];

/// The package that measures.
const MEASURING: &str = "gpu-allocator@0.28.101";

/// The package that is also built as users build with the drop-in, and its program.
const DIRECT: (&str, &str) = ("scenes", "scenes-direct");

/// Runs the named programs, or all, and prints a table.
pub(crate) fn run(names: &[String], rounds: u32, is_native: bool) -> Outcome {
    compare(&chosen(names)?, rounds, is_native)
}

fn compare(programs: &[Program], rounds: u32, is_native: bool) -> Outcome {
    let host = Host::new(is_native)?;
    let shop = Workshop::new(programs)?;
    let mut table = super::table(&HEADER);
    let mut wrong = Vec::new();
    for program in programs {
        match shop.compare(program, rounds, &host) {
            Ok(row) => {
                table.add_row(row);
            }
            Err(Trouble::Failed(reason)) => wrong.push(format!("{}: {reason}", program.name)),
            Err(other) => return Err(other),
        }
    }
    println!("{table}");
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("\n"))) }
}

/// The programs that build quickly, run once and for fewer frames, and their measuring package.
pub(crate) fn in_brief(is_native: bool) -> Outcome {
    check_measuring()?;
    let scenes = PROGRAMS.iter().filter(|program| program.package == DIRECT.0);
    let shorter: Vec<_> = scenes.map(|scene| Program { frames: scene.frames / 4, ..*scene }).collect();
    compare(&shorter, 1, is_native)
}

/// The crate that has both allocators in it has no faults that a test or clippy finds.
fn check_measuring() -> Outcome {
    toolchain::component("clippy")?;
    let target = target().join("programs");
    let target = target.to_string_lossy();
    let of = ["--quiet", "--release", "--locked", "--manifest-path", "programs/Cargo.toml"];
    let with = ["--package", MEASURING, "--target-dir", &target];
    command::cargo(&[&["test"][..], &of, &with].concat())?;
    command::cargo(&[&["clippy"][..], &of, &with, &["--all-targets", "--", "-D", "warnings"]].concat())
}

/// The named programs in their usual order; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<Program>, Trouble> {
    if let Some(unknown) = names.iter().find(|name| PROGRAMS.iter().all(|it| it.name != *name)) {
        let all: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
        return Err(Trouble::Failed(format!("unknown program {unknown}; there are {}", all.join(", "))));
    }
    let is_wanted = |program: &&Program| names.is_empty() || names.iter().any(|name| name == program.name);
    Ok(PROGRAMS.iter().filter(is_wanted).copied().collect())
}

/// The built programs, and the folder of their files.
struct Workshop {
    built: Built,
    direct: Option<Built>,
    folder: PathBuf,
}

impl Workshop {
    fn new(programs: &[Program]) -> Result<Self, Trouble> {
        let mut packages: Vec<_> = programs.iter().map(|program| program.package).collect();
        packages.dedup();
        let target = target().join("programs");
        let built = build_packages(&root().join("programs"), &target, &packages)?;
        let direct = if packages.contains(&DIRECT.0) {
            let built = build_packages(&root().join("programs/direct"), &target, &[])?;
            match built.allocator()? {
                DROP_IN => Some(built),
                other => {
                    return Err(Trouble::Failed(format!("gpu-allocator {other} was built, not {DROP_IN}")));
                }
            }
        } else {
            None
        };
        // Beside the programs, because runs in the lab can only write there.
        let folder = target.join("release/runs");
        fs::create_dir_all(&folder)
            .map_err(|error| Trouble::Failed(format!("{}: {error}", folder.display())))?;
        Ok(Self { built, direct, folder })
    }

    /// Runs a program with both allocators in turn: its row of the table.
    fn compare(&self, program: &Program, rounds: u32, host: &Host) -> Result<Vec<String>, Trouble> {
        let mut figures = [Vec::new(), Vec::new()];
        let mut pictures = Vec::new();
        for _ in 0..rounds {
            for (allocator, figures) in Allocator::BOTH.into_iter().zip(&mut figures) {
                let (picture, measured) = self.measure(program, allocator, host)?;
                pictures.push((allocator.name(), picture));
                figures.push(measured);
            }
        }
        if let Some(direct) = self.direct.as_ref().filter(|_| program.package == DIRECT.0) {
            let files = self.files(program, "direct");
            pictures.push(("drop-in", draw(program, direct.program(DIRECT.1)?, &files, &[], host)?));
        }
        are_identical(&pictures)?;
        let [original, tenure] = figures;
        Ok(row(program, &original, &tenure))
    }

    fn measure(
        &self,
        program: &Program,
        allocator: Allocator,
        host: &Host,
    ) -> Result<(Vec<u8>, Figures), Trouble> {
        let files = self.files(program, allocator.name());
        let figures = files.with("json");
        // Files of an earlier run must not be mistaken for new ones.
        if figures.exists() {
            fs::remove_file(&figures).map_err(|error| Trouble::Failed(error.to_string()))?;
        }
        let environment =
            [("TENURE_ALLOCATOR", allocator.name()), ("TENURE_FIGURES", &figures.to_string_lossy())];
        let picture = draw(program, self.built.program(program.package)?, &files, &environment, host)?;
        Ok((picture, Figures::read(&figures)?))
    }

    fn files(&self, program: &Program, run: &str) -> Files {
        Files { stem: self.folder.join(format!("{}-{run}", program.name)) }
    }
}

/// The files of a run: one name with several extensions.
struct Files {
    stem: PathBuf,
}

impl Files {
    fn with(&self, extension: &str) -> PathBuf {
        self.stem.with_extension(extension)
    }
}

fn build_packages(folder: &Path, target: &Path, packages: &[&str]) -> Result<Built, Trouble> {
    let mut arguments: Vec<&OsStr> =
        ["build", "--release", "--locked", "--target-dir"].map(OsStr::new).to_vec();
    arguments.push(target.as_os_str());
    arguments.extend(packages.iter().flat_map(|package| ["--package", package]).map(OsStr::new));
    build(cargo(folder, &arguments))
}

/// Runs a program once and returns its picture file.
fn draw(
    program: &Program,
    executable: &Path,
    files: &Files,
    environment: &[(&str, &str)],
    host: &Host,
) -> Result<Vec<u8>, Trouble> {
    let (picture, output) = (files.with("png"), files.with("txt"));
    let frames = program.frames.to_string();
    let ended = host.run(&Run {
        program: executable,
        arguments: &[program.name, &frames, &picture.to_string_lossy()],
        // One thread of lavapipe, so that atomic operations of shaders have the same order.
        environment: &[environment, &[("LP_NUM_THREADS", "1")]].concat(),
        output: &output,
    })?;
    if !ended.is_success() {
        let said = fs::read_to_string(&output).unwrap_or_default();
        return Err(Trouble::Failed(format!("{ended:?}\n{said}")));
    }
    fs::read(&picture).map_err(|error| Trouble::Failed(format!("{}: {error}", picture.display())))
}

/// Checks that all pictures equal the first, byte by byte.
fn are_identical(pictures: &[(&str, Vec<u8>)]) -> Outcome {
    let different =
        |(_, picture): &&(&str, Vec<u8>)| pictures.first().is_some_and(|(_, first)| first != picture);
    match pictures.iter().find(different) {
        Some((name, _)) => {
            Err(Trouble::Failed(format!("the picture with {name} differs from the first one")))
        }
        None => Ok(()),
    }
}

const HEADER: [&str; 10] = [
    "program",
    "frames",
    "picture",
    "allocations",
    "peak live, MiB",
    "peak reserved, MiB",
    "blocks",
    "allocate p50, ns",
    "p99, ns",
    "all calls, ms",
];

fn row(program: &Program, original: &[Figures], tenure: &[Figures]) -> Vec<String> {
    let both = |shown: &dyn Fn(&[Figures]) -> String| {
        let (original, tenure) = (shown(original), shown(tenure));
        if original == tenure { original } else { format!("{original} / {tenure}") }
    };
    let number = |of: fn(&Figures) -> u64| both(&|runs| median(runs, of).to_string());
    let scaled =
        |of: fn(&Figures) -> u64, unit: f64| both(&|runs| format!("{:.1}", median(runs, of) as f64 / unit));
    const MIB: f64 = (1 << 20) as f64;
    vec![
        program.name.to_owned(),
        program.frames.to_string(),
        "identical".to_owned(),
        number(|run| run.allocate.count),
        scaled(|run| run.peak_live, MIB),
        scaled(|run| run.peak_reserved, MIB),
        number(|run| run.peak_blocks),
        number(|run| run.allocate.p50),
        number(|run| run.allocate.p99),
        scaled(Figures::total, 1e6),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::figures::Calls;
    use super::{Figures, PROGRAMS, are_identical, chosen, row};

    #[test]
    fn programs_are_chosen_by_name() {
        let names = |of: &[&str]| {
            let given: Vec<_> = of.iter().map(|&name| name.to_owned()).collect();
            chosen(&given).map(|all| all.iter().map(|program| program.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["sprites", "shadows"]), Ok(vec!["shadows", "sprites"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(PROGRAMS.len()));
        assert!(names(&["doom"]).is_err());
    }

    #[test]
    fn one_other_byte_is_another_picture() {
        let picture = |last| ("tenure", vec![1, 2, last]);
        assert_eq!(are_identical(&[picture(3), picture(3)]), Ok(()));
        assert!(are_identical(&[picture(3), picture(3), picture(4)]).is_err());
        assert!(are_identical(&[picture(3), ("tenure", vec![1, 2])]).is_err());
    }

    #[test]
    fn a_row_states_equal_figures_once() {
        let run = |p50, peak_reserved| Figures {
            allocate: Calls { count: 7, p50, p99: 900, total: 2_000_000 },
            peak_live: 3 << 19,
            peak_reserved,
            ..Figures::default()
        };
        let row = row(&PROGRAMS[0], &[run(300, 64 << 20)], &[run(150, 2 << 20)]);
        assert_eq!(row[3..6], ["7", "1.5", "64.0 / 2.0"]);
        assert_eq!(row[7..], ["300 / 150", "900", "2.0"]);
    }
}
