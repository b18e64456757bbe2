//! Model checking, interpretation and fuzzing.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::command::{printed, root, run, run_named_tests, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{c, compiled, devices, times, toolchain};

/// The models take seconds; more optimisation would cost more compile time than it saves.
const FAST_TO_COMPILE: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

/// Model checking, in a target folder of its own because the flag rebuilds everything.
pub(crate) fn loom() -> Outcome {
    let models = [
        ("tenure-track", ["--test", "loom"]),
        ("tenure-memory", ["--lib", "remote_frees"]),
        ("tenure-memory", ["--lib", "exchangeable"]),
        ("tenure-heap", ["--lib", "models"]),
    ];
    for (package, tests) in models {
        let folder = target().join("loom");
        let folder = folder.to_string_lossy();
        let test = ["test", "--package", package, "--release", "--target-dir", &folder];
        let mut command = Command::new("cargo");
        command.args(times::with_report(&[&test[..], &tests].concat()));
        run_named_tests(command.envs(FAST_TO_COMPILE).env("RUSTFLAGS", "--cfg loom"))?;
    }
    Ok(())
}

/// Interprets the tests of the release queue and of copies to mapped memory, and frames that use every service of mapped
/// memory on the simulated device, all with real threads.
pub(crate) fn miri() -> Outcome {
    toolchain::miri()?;
    let all = [
        ("tenure-track", ["--test", "lifetimes"]),
        ("tenure-device", ["--test", "mapped"]),
        ("tenure-core", ["--test", "interpreted"]),
    ];
    for (package, tests) in all {
        let mut command = nightly();
        command
            .args(["miri", "test", "--package", package, "--target-dir"])
            .arg(target().join("miri"))
            .args(times::reported(&tests))
            .env_remove(compiled::WRAPPER)
            .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-permissive-provenance");
        run_named_tests(&mut command)?;
    }
    Ok(())
}

/// The tests of threads under ThreadSanitizer, which reports each data race that occurs in a run.
///
/// The standard library is built with it, too: otherwise its synchronisation is not tracked.
pub(crate) fn thread_sanitizer() -> Outcome {
    // One device of each API.
    let threads = [
        "d3d12_tier2::eight_threads",
        "d3d12_tier2::many_threads",
        "vulkan_nvidia::eight_threads",
        "vulkan_nvidia::many_threads",
        "vulkan_nvidia::frames_of_many_threads",
    ];
    // Modules and names of tests that start threads.
    let of_core = ["clones::", "devices::", "threads", "tiles::", "trimmed_queries::"];
    let programs =
        ["mapped", "lifetimes", "handles", "descriptors"].map(|program| ["--test", program]).concat();
    let runs: [&[&str]; 2] =
        [&[&programs[..], &["--"], &of_core].concat(), &[&["--test", "sim", "--"], &threads[..]].concat()];
    // Always all packages: with fewer the set of features would differ, and everything would compile again.
    let packages = ["tenure-core", "tenure-device", "tenure-track", "conformance"];
    runs.into_iter().try_for_each(|tests| run_named_tests(&mut watched(&packages, &times::reported(tests))?))
}

/// Random calls of two threads, in a library of C that is built with ThreadSanitizer.
pub(crate) fn c_races() -> Outcome {
    const ASKED: &str = "TENURE_C_RACES";
    if env::var_os(ASKED).is_none_or(|value| value.is_empty()) {
        return Err(Trouble::NotAsked(format!("set {ASKED}: it takes some minutes")));
    }
    // With any of its tests, the library is built.
    run(&mut watched(&["tenure-c"], &[&["--no-run"], &devices::C_VULKAN[..]].concat())?)?;
    let libraries = printed("rustc", &["+nightly", "--print", "target-libdir"]).unwrap_or_default();
    c::races(
        &target().join("thread-sanitizer").join(WATCHED).join("debug/deps/libtenure_c.a"),
        &Path::new(&libraries).join("librustc-nightly_rt.tsan.a"),
    )
}

/// The target of programs under ThreadSanitizer.
const WATCHED: &str = "x86_64-unknown-linux-gnu";

/// `cargo test` of these packages under ThreadSanitizer.
fn watched(packages: &[&str], arguments: &[&str]) -> Result<Command, Trouble> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(Trouble::NoTool(format!("ThreadSanitizer runs these tests on {WATCHED}")));
    }
    toolchain::nightly_source()?;
    let mut command = nightly();
    command
        // Optimised, the tests save less than the compiler takes for it.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        // For the places in its reports.
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .args(["test", "-Zbuild-std", "--target", WATCHED, "--target-dir"])
        .arg(target().join("thread-sanitizer"))
        .args(packages.iter().flat_map(|name| ["--package", name]))
        .args(arguments)
        .env("RUSTFLAGS", "-Zsanitizer=thread --cfg tenure_portable_copies");
    Ok(command)
}

/// Runs each fuzz target.
pub(crate) fn fuzz(seconds: u32) -> Result<(), String> {
    if !succeeds("cargo", &["+nightly", "fuzz", "--version"]) {
        return Err("needs a nightly toolchain and `cargo install cargo-fuzz`".to_owned());
    }
    let seeds =
        std::fs::read_dir(root().join("fuzz/seeds")).map_err(|error| format!("fuzz/seeds: {error}"))?;
    let mut targets: Vec<_> =
        seeds.flatten().map(|seed| seed.file_name().to_string_lossy().into_owned()).collect();
    targets.sort_unstable();
    for target in targets {
        let mut command = nightly();
        let (found, kept) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        // New inputs are written to the first folder, which must exist.
        std::fs::create_dir_all(root().join(&found)).map_err(|error| format!("{found}: {error}"))?;
        command.args(["fuzz", "run", &target, &found, &kept, "--"]).arg(format!("-max_total_time={seconds}"));
        run(&mut command).map_err(|trouble| trouble.to_string())?;
    }
    Ok(())
}

/// Cargo of the nightly toolchain.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}
