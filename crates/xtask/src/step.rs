//! The steps of the test command.

use std::time::{Duration, Instant};

use crate::tools::{Outcome, cargo, cargo_with, loom, miri, with_component};

/// One thing that must hold.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Outcome,
}

const STEPS: &[Step] = &[
    Step { name: "format", what: "rustfmt changes nothing", run: format },
    Step { name: "lint", what: "clippy has nothing to say", run: lint },
    Step { name: "docs", what: "the documentation builds without warnings", run: docs },
    Step { name: "test", what: "all tests and doctests", run: tests },
    Step { name: "loom", what: "every interleaving of the release queue", run: loom },
    Step { name: "miri", what: "the release queue on real threads, interpreted", run: miri },
    Step { name: "examples", what: "every example runs to its end", run: examples },
    Step {
        name: "main",
        what: "the main job: the default replay",
        run: || cargo(&["run", "--release", "--quiet"]),
    },
];

const EXAMPLES: &[&str] = &["voxel", "lifetimes"];

fn format() -> Outcome {
    with_component("rustfmt", || cargo(&["fmt", "--all", "--check"]))
}

fn lint() -> Outcome {
    let arguments =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--quiet", "--", "-D", "warnings"];
    with_component("clippy", || cargo(&arguments))
}

fn docs() -> Outcome {
    let arguments = ["doc", "--workspace", "--no-deps", "--all-features", "--quiet"];
    cargo_with(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn tests() -> Outcome {
    cargo(&["test", "--workspace", "--all-features"])
}

fn examples() -> Outcome {
    let mut arguments = vec!["build", "--release", "--quiet", "--package", "tenure", "--examples"];
    let built = cargo(&arguments);
    if !matches!(built, Outcome::Passed) {
        return built;
    }
    for example in EXAMPLES {
        arguments = vec!["run", "--release", "--quiet", "--package", "tenure", "--example", example];
        let ran = cargo(&arguments);
        if !matches!(ran, Outcome::Passed) {
            return ran;
        }
    }
    Outcome::Passed
}

/// Prints the steps.
pub(crate) fn list() {
    for step in STEPS {
        println!("{:10} {}", step.name, step.what);
    }
}

/// Runs the named steps, or all, to the end, and says what became of each.
pub(crate) fn run(names: &[String]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != *name)) {
        return Err(format!("no step is called {unknown}; see `cargo xtask test --list`"));
    }
    let is_wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    let results: Vec<_> = STEPS.iter().filter(is_wanted).map(timed).collect();
    println!();
    for (step, outcome, time) in &results {
        println!("{:10} {:6.1} s  {outcome}", step.name, time.as_secs_f64());
    }
    let failed = results.iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))).count();
    println!("steps: {} passed, {failed} failed", results.len() - failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", results.len())) }
}

fn timed(step: &Step) -> (&Step, Outcome, Duration) {
    println!("\n=== {}: {}", step.name, step.what);
    let start = Instant::now();
    let outcome = (step.run)();
    (step, outcome, start.elapsed())
}
