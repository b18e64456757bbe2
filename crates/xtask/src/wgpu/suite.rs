//! wgpu's own GPU tests, with the original gpu-allocator and with tenure's.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::build::{self, Built, cargo, target_folder};
use super::host::{Ended, Host, Run};
use super::{Allocator, DROP_IN};
use crate::command::root;
use crate::outcome::{Outcome, Trouble};

/// The test programs: wgpu's GPU tests, and its examples' comparisons of pictures.
const SUITES: [&str; 2] = ["wgpu-gpu", "wgpu_examples"];

/// The test that looks which devices there are and writes that down for the others.
const LOOK: (&str, &str) = ("wgpu-info", "generate_gpuconfig_report");

/// Left out by wgpu itself unless they are asked for: they take all the memory that there is.
const LEFT_OUT: &str = "oom_test";

/// Seconds that a test may take, as in wgpu's own settings.
const TIMEOUT: u32 = 90;

/// Runs the tests of a checkout of wgpu with both allocators.
pub(crate) fn run(checkout: &Path, is_native: bool) -> Outcome {
    let host = Host::new(is_native)?;
    let checkout = checkout.canonicalize().map_err(|error| failed(checkout, &error))?;
    let bench = Bench { folder: target_folder("wgpu-suite"), checkout, host };
    let built = bench.build_both()?;
    bench.look(&built[0])?;
    let mut table = super::table(&["tests", "run", "passed", "failed", "lost", "won", "time, s"]);
    let mut lost = Vec::new();
    for suite in SUITES {
        let names = bench.tests(&built, suite)?;
        let results = bench.run_all(&built, suite, &names)?;
        table.add_row(row(suite, &results));
        for result in results.iter().filter(|result| result.outcomes[0] != result.outcomes[1]) {
            println!("{}", result.difference());
        }
        lost.extend(results.into_iter().filter(TestResult::is_lost).map(|result| result.name));
    }
    println!("{table}");
    if lost.is_empty() { Ok(()) } else { Err(Trouble::Failed(format!("{} tests are lost", lost.len()))) }
}

fn failed(what: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Failed(format!("{}: {error}", what.display()))
}

struct Bench {
    checkout: PathBuf,
    /// Where everything goes that is built and said.
    folder: PathBuf,
    host: Host,
}

impl Bench {
    /// The checkout's lock file is put back as it was.
    fn build_both(&self) -> Result<[Built; 2], Trouble> {
        let lock = self.checkout.join("Cargo.lock");
        let before = fs::read(&lock).map_err(|error| failed(&lock, &error))?;
        let original = self.build(Allocator::Original);
        let built = original.and_then(|original| Ok([original, self.build(Allocator::Tenure)?]));
        fs::write(&lock, before).map_err(|error| failed(&lock, &error))?;
        built
    }

    fn build(&self, allocator: Allocator) -> Result<Built, Trouble> {
        let drop_in = root().join("crates/gpu-allocator");
        let drop_in = drop_in.canonicalize().map_err(|error| failed(&drop_in, &error))?;
        let patch = format!("patch.crates-io.gpu-allocator.path={:?}", drop_in.display().to_string());
        let patch = match allocator {
            Allocator::Original => Vec::new(),
            Allocator::Tenure => vec!["--config", &patch],
        };
        let cargo = |arguments: &[&str]| {
            let words: Vec<_> = arguments.iter().chain(&patch).map(OsStr::new).collect();
            cargo(&self.checkout, &words)
        };
        if allocator == Allocator::Tenure {
            // The lock file still names the original.
            build::run(&mut cargo(&["update", "--package", "gpu-allocator"]))?;
        }
        let mut command = cargo(&["test", "--no-run", "--test", SUITES[0], "--lib", "--bin", LOOK.0]);
        command
            .args(["wgpu-test", "wgpu-examples", "wgpu-info"].map(|package| format!("--package={package}")));
        command.arg("--target-dir").arg(&self.folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
        let built = build::build(command)?;
        match (allocator, built.allocator()?) {
            (Allocator::Tenure, DROP_IN) => Ok(built),
            (Allocator::Original, version) if version != DROP_IN => Ok(built),
            (_, version) => Err(Trouble::Failed(format!("built with gpu-allocator {version}"))),
        }
    }

    /// Sees to it that the tests know the devices: they read a file in the checkout.
    fn look(&self, built: &Built) -> Outcome {
        let (program, test) = LOOK;
        let said = self.folder.join("devices.txt");
        let arguments = [test];
        let asked = [("WGPU_INFO_SAVE_GPUCONFIG_REPORT", "1")];
        let ended = self.run_in(built.program(program)?, &arguments, &asked, &said)?;
        if ended.is_success() {
            Ok(())
        } else {
            Err(Trouble::Failed(format!("{ended:?}: {}", said.display())))
        }
    }

    /// The names of the tests of a suite, the same with both.
    fn tests(&self, built: &[Built; 2], suite: &str) -> Result<Vec<String>, Trouble> {
        let [original, tenure] = [self.list(&built[0], suite)?, self.list(&built[1], suite)?];
        if original.is_empty() || original != tenure {
            let (original, tenure) = (original.len(), tenure.len());
            return Err(Trouble::Failed(format!("{suite} lists {original} tests, and {tenure} with tenure")));
        }
        Ok(original)
    }

    fn list(&self, built: &Built, suite: &str) -> Result<Vec<String>, Trouble> {
        let said = self.folder.join("tests.txt");
        self.run_in(built.program(suite)?, &["--list"], &[], &said)?;
        let text = fs::read_to_string(&said).map_err(|error| failed(&said, &error))?;
        Ok(listed(&text))
    }

    /// Runs every test with both allocators, each in a process of its own.
    fn run_all(&self, built: &[Built; 2], suite: &str, names: &[String]) -> Result<Vec<TestResult>, Trouble> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let work = || -> Outcome {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.run_both(built, suite, name)?;
                results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            }
            Ok(())
        };
        let workers = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let crashed = |_| Err(Trouble::Failed("a thread of the runner panicked".to_owned()));
            all.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(crashed))
        })?;
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(results)
    }

    fn run_both(&self, built: &[Built; 2], suite: &str, name: &str) -> Result<TestResult, Trouble> {
        let run = |allocator: Allocator, built: &Built| {
            let said = self.output(suite, name, allocator)?;
            let start = Instant::now();
            let ended = self.run_in(built.program(suite)?, &["--exact", name, "--nocapture"], &[], &said)?;
            Ok((TestOutcome::of(&ended), start.elapsed()))
        };
        let (original, original_time) = run(Allocator::Original, &built[0])?;
        let (tenure, tenure_time) = run(Allocator::Tenure, &built[1])?;
        let name = name.to_owned();
        Ok(TestResult { name, outcomes: [original, tenure], times: [original_time, tenure_time] })
    }

    /// Where the output of a test goes.
    fn output(&self, suite: &str, name: &str, allocator: Allocator) -> Result<PathBuf, Trouble> {
        let folder = self.folder.join("output").join(suite).join(allocator.name());
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        Ok(folder.join(format!("{}.txt", file_name(name))))
    }

    fn run_in(
        &self,
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        output: &Path,
    ) -> Result<Ended, Trouble> {
        let folder = &self.checkout;
        self.host.run(&Run { program, arguments, environment, folder, output, seconds: TIMEOUT })
    }
}

/// The names in what a test program lists.
fn listed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    names.filter(|name| !name.contains(LEFT_OUT)).map(str::to_owned).collect()
}

/// A test's name as that of a file.
fn file_name(test: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    test.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestOutcome {
    Passed,
    Failed,
    TooLate,
}

impl TestOutcome {
    fn of(ended: &Ended) -> Self {
        match ended {
            Ended::TooLate => Self::TooLate,
            ended if ended.is_success() => Self::Passed,
            Ended::With(_) => Self::Failed,
        }
    }
}

/// With the original and with tenure's.
struct TestResult {
    name: String,
    outcomes: [TestOutcome; 2],
    times: [Duration; 2],
}

impl TestResult {
    /// It passes with the original alone.
    fn is_lost(&self) -> bool {
        self.outcomes[0] == TestOutcome::Passed && self.outcomes[1] != TestOutcome::Passed
    }

    /// It passes with tenure's alone.
    fn is_won(&self) -> bool {
        self.outcomes[1] == TestOutcome::Passed && self.outcomes[0] != TestOutcome::Passed
    }

    fn difference(&self) -> String {
        let [original, tenure] = self.outcomes;
        format!("{}: {original:?} with the original, {tenure:?} with tenure", self.name)
    }
}

fn row(suite: &str, results: &[TestResult]) -> Vec<String> {
    let count = |is: &dyn Fn(&TestResult) -> bool| results.iter().filter(|result| is(result)).count();
    let both = |of: &dyn Fn(usize) -> String| format!("{} / {}", of(0), of(1));
    let ended = |outcome| {
        both(&|which| count(&|result| (result.outcomes[which] == TestOutcome::Passed) == outcome).to_string())
    };
    let seconds = |which: usize| {
        let all: Duration = results.iter().map(|result| result.times[which]).sum();
        format!("{:.0}", all.as_secs_f64())
    };
    vec![
        suite.to_owned(),
        results.len().to_string(),
        ended(true),
        ended(false),
        count(&TestResult::is_lost).to_string(),
        count(&TestResult::is_won).to_string(),
        both(&seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::{TestOutcome, TestResult, file_name, listed, row};

    #[test]
    fn names_are_read_without_those_that_take_all_memory() {
        let text = "[Executed] [Vulkan/llvmpipe/0] a::b: test\n[Executed] a::oom_test: test\n\n2 tests, 0 benchmarks\n";
        assert_eq!(listed(text), ["[Executed] [Vulkan/llvmpipe/0] a::b"]);
        assert_eq!(file_name("[Executed] a::b/c"), "_Executed__a__b_c");
    }

    #[test]
    fn what_passes_with_one_alone_is_lost_or_won() {
        use TestOutcome::{Failed, Passed, TooLate};
        let result = |outcomes| TestResult { name: String::new(), outcomes, times: Default::default() };
        let all =
            [[Passed, Passed], [Failed, Failed], [Passed, TooLate], [TooLate, Passed], [Failed, TooLate]];
        let row = row("suite", &all.map(result));
        assert_eq!(row[1..6], ["5", "2 / 2", "3 / 3", "1", "1"]);
    }
}
