//! The steps of the test command.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use crate::command::{cargo, cargo_with, run as run_command, target};
use crate::outcome::{Outcome, Trouble};
use crate::{
    architecture, debian, devices, egui, instances, lab, package, perfetto, records, runtime, soak, supply,
    surface, toolchain, triangles, unsafe_code, verify, wgpu, words,
};

/// How to run the steps.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// A device that cannot be had is a failure.
    pub(crate) is_strict: bool,
    /// Vulkan on this machine's own driver.
    pub(crate) is_native: bool,
    /// What only one step uses is removed after it.
    pub(crate) is_lean: bool,
}

/// One thing that must hold.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(Settings) -> Outcome,
}

const STEPS: &[Step] = &[
    Step { name: "format", what: "rustfmt changes nothing", run: |_| format() },
    Step { name: "lint", what: "clippy has nothing to say", run: |_| lint() },
    Step {
        name: "architecture",
        what: "no crate or module uses one above it, and ARCHITECTURE.md says the same",
        run: |_| architecture::check(),
    },
    Step {
        name: "words",
        what: "retired words are in no file, and each record of devices is linked to",
        run: |_| words::check().and_then(|()| records::check()),
    },
    Step {
        name: "supply",
        what: "the licences and sources of all dependencies are those that deny.toml allows",
        run: |_| supply::check(),
    },
    Step {
        name: "unsafe",
        what: "the inventory of unsafe code is what there is",
        run: |_| unsafe_code::check(),
    },
    Step { name: "docs", what: "the documentation builds without warnings", run: |_| docs() },
    Step { name: "test", what: "all tests and doctests that need no device", run: |_| tests() },
    Step {
        name: "published-instances",
        what: "the planner on published instances, whose folder TENURE_PLAN_INSTANCES names",
        run: |_| instances::published(),
    },
    Step {
        name: "soak",
        what: "random programs over the whole interface",
        run: |_| soak::rules::check().and_then(|()| soak::run_in_test()),
    },
    Step {
        name: "drop-in",
        what: "the drop-in has the public surface of what it stands for",
        run: |_| surface::check(),
    },
    Step {
        name: "egui",
        what: "the panel compiles with every version of egui that it allows",
        run: |_| egui::check(),
    },
    Step {
        name: "package",
        what: "every published crate builds from its package alone",
        run: |_| package::check(),
    },
    Step {
        name: "perfetto",
        what: "the traces of a replay are what Perfetto publishes",
        run: |_| perfetto::check(),
    },
    Step {
        name: "loom",
        what: "every interleaving of the release queue, of requests at a cap, and of moves with uses and drops",
        run: |_| verify::loom(),
    },
    Step {
        name: "miri",
        what: "the release queue and mapped memory on real threads, interpreted",
        run: |_| verify::miri(),
    },
    Step {
        name: "thread-sanitizer",
        what: "the tests of threads, watched for data races",
        run: |_| verify::thread_sanitizer(),
    },
    #[cfg(not(windows))]
    Step { name: "lab", what: "the device lab is built, and runs programs", run: |_| lab::check() },
    Step { name: "vulkan", what: "the Vulkan backend", run: |settings| devices::vulkan(settings.is_native) },
    #[cfg(not(windows))]
    Step {
        name: "vulkan-host",
        what: "the Vulkan backend on this Debian's own software device",
        run: |_| devices::vulkan_of_host(),
    },
    Step { name: "d3d12", what: "the Direct3D 12 backend", run: |_| devices::d3d12() },
    Step {
        name: "d3d12-runtime",
        what: "the Direct3D 12 backend on another runtime, whose folder TENURE_D3D12_RUNTIME names",
        run: |_| runtime::d3d12(),
    },
    Step {
        name: "devices",
        what: "the program on real devices",
        run: |settings| devices::program(settings.is_native),
    },
    Step {
        name: "pictures",
        what: "the voxel world, drawn by both APIs off screen and in a window",
        run: |settings| devices::pictures(settings.is_native),
    },
    Step {
        name: "triangles",
        what: "the triangles, drawn by both APIs off screen and in a window",
        run: |settings| triangles::check(settings.is_native),
    },
    Step {
        name: "frames",
        what: "frames of four recording threads and of a render graph, on both APIs, and a world streamed on Vulkan",
        run: |settings| devices::frames(settings.is_native),
    },
    Step {
        name: "wgpu",
        what: "programs on wgpu draw the same with the original gpu-allocator and with the drop-in",
        run: |settings| wgpu::in_brief(settings.is_native),
    },
    Step {
        name: "report",
        what: "the HTML report in Chromium: figures, keys, clicks, a million events",
        run: |_| report(),
    },
    Step { name: "examples", what: "every example runs to its end", run: |_| examples() },
    Step {
        name: "main",
        what: "the main job: the default replay",
        run: |_| cargo(&["run", "--release", "--quiet"]),
    },
];

/// Folders of Cargo's target folder that only one step writes and reads.
const OWN_FOLDERS: &[(&str, &str)] = &[
    ("docs", "doc"),
    ("drop-in", "surface"),
    ("egui", "egui"),
    ("package", "packages"),
    ("loom", "loom"),
    ("miri", "miri"),
    ("thread-sanitizer", "thread-sanitizer"),
];

/// With what they are asked for.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("voxel", &[]),
    ("lifetimes", &[]),
    ("frame", &[]),
    ("render-graph", &["--resolution", "640x360", "--frames", "100"]),
    ("streamer", &[]),
];

fn format() -> Outcome {
    toolchain::component("rustfmt")?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["fmt", "--all", "--check", "--manifest-path", "programs/Cargo.toml"])
}

fn lint() -> Outcome {
    toolchain::component("clippy")?;
    toolchain::cpp()?;
    let all = ["clippy", "--workspace", "--all-targets", "--all-features", "--quiet"];
    // These count among all targets only when they are named.
    let named = ["vulkan", "vulkan_device", "d3d12_device", "devices", "browser"];
    let with = named.map(|test| ["--test", test]).concat();
    cargo(&[&all[..], &with, &["--", "-D", "warnings"]].concat())
}

fn docs() -> Outcome {
    toolchain::cpp()?;
    let arguments = ["doc", "--workspace", "--no-deps", "--all-features", "--quiet"];
    cargo_with(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn tests() -> Outcome {
    toolchain::cpp()?;
    // Without the examples, which clippy compiles and later steps build to run them.
    cargo(&[&devices::TEST_ALL[..], &["--tests"]].concat())?;
    cargo(&[&devices::TEST_ALL[..], &["--doc"]].concat())
}

fn report() -> Outcome {
    if env::var_os("TENURE_CHROMIUM").is_none() {
        debian::packages(&["chromium"]).map_err(|trouble| match trouble {
            Trouble::NoDevice(remedy) => {
                Trouble::NoDevice(format!("{remedy}; or name Chromium's program in TENURE_CHROMIUM"))
            }
            other => other,
        })?;
    }
    // With the crates and features of the other tests, so that nothing is built twice.
    cargo(&[&devices::TEST_ALL[..], &["--test", "browser", "--", "--nocapture"]].concat())
}

fn examples() -> Outcome {
    cargo(&[&devices::BUILD_ALL[..], &["--quiet", "--examples"]].concat())?;
    let folder = target().join("debug/examples");
    EXAMPLES
        .iter()
        .try_for_each(|(example, arguments)| run_command(Command::new(folder.join(example)).args(*arguments)))
}

/// Prints the steps.
pub(crate) fn list() {
    for step in STEPS {
        println!("{:13} {}", step.name, step.what);
    }
}

/// What became of a step.
pub(crate) struct StepResult {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}

/// Runs the named steps, or all, to the end, and says what became of each; an error for those that failed.
///
/// # Errors
/// There is no step of a name.
pub(crate) fn run(
    names: &[String],
    settings: Settings,
) -> Result<(Vec<StepResult>, Result<(), String>), String> {
    let steps = chosen(names)?;
    let results: Vec<_> = steps.into_iter().map(|step| timed(step, settings)).collect();
    println!();
    for StepResult { name, outcome, time } in &results {
        let said = outcome.as_ref().err().map_or_else(|| "passed".to_owned(), Trouble::to_string);
        println!("{name:13} {:6.1} s  {said}", time.as_secs_f64());
    }
    let passed = results.iter().filter(|result| result.outcome.is_ok()).count();
    let failed = results.iter().filter_map(|result| result.outcome.as_ref().err());
    let failed = failed.filter(|trouble| trouble.is_failure()).count();
    println!("steps: {passed} passed, {failed} failed, {} not run", results.len() - passed - failed);
    let outcome =
        if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", results.len())) };
    Ok((results, outcome))
}

/// The named steps in their usual order; all of them if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Step>, String> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != *name)) {
        return Err(format!("no step is called {unknown}; see `cargo xtask test --list`"));
    }
    let is_wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(is_wanted).collect())
}

fn timed(step: &Step, settings: Settings) -> StepResult {
    println!("\n=== {}: {}", step.name, step.what);
    let start = Instant::now();
    let outcome = (step.run)(settings).map_err(|trouble| trouble.judged(settings.is_strict));
    if settings.is_lean {
        remove_own_folders(step.name);
    }
    StepResult { name: step.name, outcome, time: start.elapsed() }
}

/// Removes what only a step uses. What cannot be removed only takes room.
fn remove_own_folders(step: &str) {
    for (_, folder) in OWN_FOLDERS.iter().filter(|(owner, _)| *owner == step) {
        let folder = target().join(folder);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                println!("{} is left: {error}", folder.display());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OWN_FOLDERS, STEPS, chosen};

    fn names(of: &[&str]) -> Result<Vec<&'static str>, String> {
        let given: Vec<_> = of.iter().map(|&name| name.to_owned()).collect();
        Ok(chosen(&given)?.iter().map(|step| step.name).collect())
    }

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(names(&["vulkan", "format"]), Ok(vec!["format", "vulkan"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(STEPS.len()));
        assert!(OWN_FOLDERS.iter().all(|(owner, _)| STEPS.iter().any(|step| step.name == *owner)));
        assert!(names(&["vulkan", "metal"]).is_err_and(|reason| reason.contains("metal")));
    }
}
