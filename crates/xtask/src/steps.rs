//! The steps of the test command.

use std::io::{self, Write as _};
use std::process::Command;
use std::{env, fs};

use crate::command::{cargo, run as run_command, target};
use crate::outcome::{Outcome, Trouble};
use crate::step::Lane::{Apart, Workspace};
use crate::step::Step;
use crate::{
    architecture, c, debian, devices, docs, egui, figures, instances, interface, lab, main_job, package,
    perfetto, records, runtime, size, soak, supply, surface, toolchain, triangles, unsafe_code, verify,
    weight, wgpu, words,
};

/// The steps, in each lane in the order of their start. Long ones, and those that others wait for, come first.
const STEPS: &[Step] = &[
    Step { name: "format", what: "the code is formatted by rustfmt", lane: Workspace, run: |_| format() },
    Step { name: "lint", what: "clippy reports nothing", lane: Workspace, run: |_| lint() },
    Step {
        name: "architecture",
        what: "dependencies of crates and modules match the tables of ARCHITECTURE.md and docs/modules.md",
        lane: Workspace,
        run: |_| architecture::check(),
    },
    Step {
        name: "words",
        what: "no file has retired words, noun clauses stay few, and each record of devices has a link",
        lane: Workspace,
        run: |_| words::check().and_then(|()| records::check()),
    },
    Step {
        name: "supply",
        what: "deny.toml allows the licences and sources of all dependencies",
        lane: Workspace,
        run: |_| supply::check(),
    },
    Step {
        name: "unsafe",
        what: "the inventory of unsafe code matches the code",
        lane: Workspace,
        run: |_| unsafe_code::check(),
    },
    Step {
        name: "size",
        what: "each part of the repository is within its budget of lines",
        lane: Workspace,
        run: |_| size::check(),
    },
    Step {
        name: "weight",
        what: "the number of crates that a program compiles for tenure",
        lane: Workspace,
        run: |_| weight::check(),
    },
    Step {
        name: "docs",
        what: "the documentation builds without warnings",
        lane: Workspace,
        run: |_| docs::check(),
    },
    Step {
        name: "test",
        what: "all tests and doctests without a device",
        lane: Workspace,
        run: |settings| if settings.is_quick { tests_in_brief() } else { tests() },
    },
    Step {
        name: "soak",
        what: "random programs over the whole interface",
        lane: Workspace,
        run: |_| soak::rules::check().and_then(|()| soak::run_in_test()),
    },
    #[cfg(not(windows))]
    Step {
        name: "c",
        what: "the headers match the code, and programs in C and C++ call every function, under sanitizers",
        lane: Workspace,
        run: |_| c::check(),
    },
    Step {
        name: "published-instances",
        what: "the planner on published instances, in the folder TENURE_PLAN_INSTANCES",
        lane: Workspace,
        run: |_| instances::published(),
    },
    Step {
        name: "perfetto",
        what: "the timeline of a replay follows Perfetto's published format",
        lane: Workspace,
        run: |_| perfetto::check(),
    },
    Step {
        name: "vulkan",
        what: "the Vulkan backend",
        lane: Workspace,
        run: |settings| devices::vulkan(settings.is_native),
    },
    #[cfg(not(windows))]
    Step {
        name: "vulkan-host",
        what: "the Vulkan backend on Debian's own lavapipe",
        lane: Workspace,
        run: |_| devices::vulkan_of_host(),
    },
    Step {
        name: "d3d12",
        what: "the Direct3D 12 backend, and programs in C and C++ on it",
        lane: Workspace,
        run: |_| devices::d3d12().and_then(|()| if cfg!(windows) { Ok(()) } else { c::on_windows() }),
    },
    Step {
        name: "d3d12-runtime",
        what: "the Direct3D 12 backend on another runtime, in the folder TENURE_D3D12_RUNTIME",
        lane: Workspace,
        run: |_| runtime::d3d12(),
    },
    Step {
        name: "devices",
        what: "the program on real devices",
        lane: Workspace,
        run: |settings| devices::program(settings.is_native),
    },
    #[cfg(not(windows))]
    Step {
        name: "capture",
        what: "programs with the layer of tenure-capture: their memory, and no message of the validation layer",
        lane: Workspace,
        run: |_| devices::capture(),
    },
    Step {
        name: "pictures",
        what: "the voxel world, drawn by both APIs off screen and in a window",
        lane: Workspace,
        run: |settings| devices::pictures(settings.is_native),
    },
    Step {
        name: "triangles",
        what: "the triangles, drawn by both APIs off screen and in a window, and off screen in C++",
        lane: Workspace,
        run: |settings| triangles::check(settings.is_native),
    },
    Step {
        name: "viewer",
        what: "a lit scene with shadows, drawn by both APIs off screen and in a window",
        lane: Workspace,
        run: |settings| devices::viewer(settings.is_native),
    },
    Step {
        name: "frames",
        what: "frames of four recording threads and of a render graph, on both APIs, and a world streamed on Vulkan",
        lane: Workspace,
        run: |settings| devices::frames(settings.is_native),
    },
    Step {
        name: "report",
        what: "the HTML report in Chromium: figures, keys, clicks, a million events",
        lane: Workspace,
        run: |_| report(),
    },
    Step { name: "examples", what: "every example runs to its end", lane: Workspace, run: |_| examples() },
    #[cfg(not(windows))]
    Step {
        name: "lab",
        what: "the device lab builds, and runs programs",
        lane: Apart,
        run: |_| lab::check(),
    },
    Step {
        name: "miri",
        what: "the release queue and mapped memory on real threads, under miri",
        lane: Apart,
        run: |_| verify::miri(),
    },
    Step {
        name: "thread-sanitizer",
        what: "the tests of threads under ThreadSanitizer",
        lane: Apart,
        run: |_| verify::thread_sanitizer(),
    },
    Step {
        name: "c-races",
        what: "random calls of two threads in C under ThreadSanitizer, if TENURE_C_RACES is set",
        lane: Apart,
        run: |_| verify::c_races(),
    },
    Step {
        name: "loom",
        what: "loom: interleavings of the release queue, of requests at a cap, and of moves with uses and drops",
        lane: Apart,
        run: |_| verify::loom(),
    },
    Step {
        name: "wgpu",
        what: "programs on wgpu draw the same with the original gpu-allocator and with the drop-in",
        lane: Apart,
        run: |settings| wgpu::in_brief(settings.is_native),
    },
    Step { name: "main", what: "the main job: the default replay", lane: Apart, run: |_| main_job::check() },
    Step {
        name: "drop-in",
        what: "the drop-in has the public surface of gpu-allocator",
        lane: Apart,
        run: |_| surface::check(),
    },
    Step {
        name: "interface",
        what: "the public items of tenure's crates are those listed in docs/interface",
        lane: Apart,
        run: |_| interface::check(),
    },
    Step {
        name: "egui",
        what: "the panel compiles with each supported version of egui",
        lane: Apart,
        run: |_| egui::check(),
    },
    Step {
        name: "package",
        what: "each published crate compiles from its package",
        lane: Apart,
        run: |_| package::check(),
    },
];

/// The width of a column with the names of steps.
pub(crate) const WIDTH: usize = 19;

/// The steps of `--quick`.
const QUICK: [&str; 8] = ["format", "lint", "architecture", "words", "supply", "unsafe", "size", "test"];

/// The packages that `--quick` tests: the crates of the manager, and the checks of texts and examples.
const QUICKLY_TESTED: [&str; 12] = [
    "conformance",
    "guide",
    "messages",
    "tenure-core",
    "tenure-device",
    "tenure-graph",
    "tenure-heap",
    "tenure-memory",
    "tenure-plan",
    "tenure-sim",
    "tenure-suballoc",
    "tenure-track",
];

/// Folders of Cargo's target folder that only one step writes and reads.
const OWN_FOLDERS: &[(&str, &str)] = &[
    ("docs", "doc"),
    ("drop-in", "surface"),
    ("interface", "interface"),
    ("egui", "egui"),
    ("package", "packages"),
    ("loom", "loom"),
    ("miri", "miri"),
    ("thread-sanitizer", "thread-sanitizer"),
];

/// The examples without figures in documents, with their arguments.
const EXAMPLES: &[(&str, &[&str])] = &[
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
    let clippy = |targets: &[&str]| {
        let all = ["clippy", "--workspace", "--all-features", "--quiet"];
        cargo(&[&all[..], targets, &["--", "-D", "warnings"]].concat())
    };
    clippy(&["--all-targets"])?;
    // Targets without `test` in their manifest are not among all targets, and names beside `--all-targets` are ignored.
    let named = ["vulkan", "vulkan_device", "c_vulkan", "d3d12_device", "devices", "capture", "browser"];
    clippy(&named.map(|test| ["--test", test]).concat())
}

fn tests() -> Outcome {
    toolchain::cpp()?;
    // Without the examples, which clippy compiles and later steps build to run them.
    let tests = cargo(&[&devices::TEST_ALL[..], &["--tests"]].concat());
    // Also where tests fail: one run shows everything.
    let examples = cargo(&[&devices::TEST_ALL[..], &["--doc"]].concat());
    tests.and(examples)
}

fn tests_in_brief() -> Outcome {
    let packages = QUICKLY_TESTED.map(|package| ["--package", package]).concat();
    cargo(&[&["test", "--all-features", "--tests", "--quiet"], &packages[..]].concat())
}

fn report() -> Outcome {
    if env::var_os("TENURE_CHROMIUM").is_none() {
        debian::packages(&["chromium"]).map_err(|trouble| match trouble {
            Trouble::NoDevice(remedy) => {
                Trouble::NoDevice(format!("{remedy}; or set TENURE_CHROMIUM to Chromium's program"))
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
    figures::voxel(&folder.join("voxel"))?;
    EXAMPLES
        .iter()
        .try_for_each(|(example, arguments)| run_command(Command::new(folder.join(example)).args(*arguments)))
}

/// Prints the steps that the same arguments would run.
pub(crate) fn list(names: &[String], is_quick: bool) -> Result<(), String> {
    let lines =
        chosen(names, is_quick)?.into_iter().map(|step| format!("{:WIDTH$} {}\n", step.name, step.what));
    match io::stdout().write_all(lines.collect::<String>().as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The step of a name.
pub(crate) fn named(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

pub(crate) fn unknown(name: &str) -> String {
    format!("unknown step {name}; see `cargo xtask test --list`")
}

/// The named steps in their usual order; all of them if none is named.
pub(crate) fn chosen(names: &[String], is_quick: bool) -> Result<Vec<&'static Step>, String> {
    if let Some(unknown) = names.iter().find(|name| named(name).is_none()) {
        return Err(self::unknown(unknown));
    }
    let is_wanted = |step: &&Step| match names {
        [] if is_quick => QUICK.contains(&step.name),
        [] => true,
        names => names.iter().any(|name| name == step.name),
    };
    Ok(STEPS.iter().filter(is_wanted).collect())
}

/// Removes the outputs that only one step uses. A failure only costs disk space.
pub(crate) fn remove_own_folders(step: &str) {
    for (_, folder) in OWN_FOLDERS.iter().filter(|(owner, _)| *owner == step) {
        let folder = target().join(folder);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                println!("{} was not removed: {error}", folder.display());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OWN_FOLDERS, QUICK, STEPS, WIDTH, chosen};

    fn names(of: &[&str]) -> Result<Vec<&'static str>, String> {
        let given: Vec<_> = of.iter().map(|&name| name.to_owned()).collect();
        Ok(chosen(&given, false)?.iter().map(|step| step.name).collect())
    }

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(names(&["vulkan", "format"]), Ok(vec!["format", "vulkan"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(STEPS.len()));
        assert_eq!(STEPS.iter().map(|step| step.name.len()).max(), Some(WIDTH));
        assert!(OWN_FOLDERS.iter().all(|(owner, _)| STEPS.iter().any(|step| step.name == *owner)));
        let quick = chosen(&[], true);
        assert_eq!(
            quick.map(|quick| quick.iter().map(|step| step.name).collect::<Vec<_>>()),
            Ok(QUICK.to_vec())
        );
        assert!(names(&["vulkan", "metal"]).is_err_and(|reason| reason.contains("metal")));
    }
}
