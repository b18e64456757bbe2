//! Times of tests, read from the output of test programs.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Arguments of test programs: each line of a test ends with its time.
const REPORT: [&str; 2] = ["-Zunstable-options", "--report-time"];

/// A prefix of test programs, as cargo's runner: with this variable the harness of a stable Rust accepts
/// [`REPORT`]. It is not set for cargo itself, whose build scripts would see it.
pub(crate) const RUNNER: [&str; 2] = ["env", "RUSTC_BOOTSTRAP=1"];
/// The same in cargo's configuration. A runner of the target's own replaces it.
const CONFIG: [&str; 2] = ["--config", r#"target.'cfg(unix)'.runner=["env","RUSTC_BOOTSTRAP=1"]"#];

/// Adds the arguments of a stable cargo that make test programs report times. Arguments without test programs
/// are unchanged, as are those for doctests, which have no runner.
pub(crate) fn with_report<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let of_cargo = arguments.split(|argument| *argument == "--").next().unwrap_or_default();
    let is_test = of_cargo.contains(&"test") && !of_cargo.contains(&"--doc");
    let runs_programs = ["--lib", "--tests", "--test"].iter().any(|target| of_cargo.contains(target));
    if cfg!(windows) || !is_test || !runs_programs {
        return arguments.to_vec();
    }
    [&CONFIG[..], &reported(arguments)].concat()
}

/// The same for a nightly cargo, which needs no runner for it.
pub(crate) fn reported<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let end = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
    let (of_cargo, of_programs) = arguments.split_at(end);
    [of_cargo, &["--"], &REPORT, of_programs.get(1..).unwrap_or_default()].concat()
}

/// A test, and its seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TestTime {
    pub(crate) seconds: f64,
    pub(crate) test: String,
}

static TIMES: Mutex<Vec<TestTime>> = Mutex::new(Vec::new());

/// Takes a line of a test program's output.
pub(crate) fn note(line: &str) {
    if let Some(time) = read(line) {
        TIMES.lock().unwrap_or_else(PoisonError::into_inner).push(time);
    }
}

/// All times so far.
pub(crate) fn taken() -> Vec<TestTime> {
    std::mem::take(&mut *TIMES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Reads `test name ... ok <1.234s>`.
fn read(line: &str) -> Option<TestTime> {
    let (test, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = end.split_once('<')?;
    let seconds = time.strip_suffix("s>")?.parse().ok()?;
    Some(TestTime { seconds, test: test.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{CONFIG, REPORT, TestTime, read, with_report};

    #[test]
    #[cfg(not(windows))]
    fn test_programs_report_times() {
        let reported = |before: &[&'static str], after: &[&'static str]| {
            [&CONFIG[..], before, &["--"], &REPORT, after].concat()
        };
        assert_eq!(with_report(&["test", "--lib"]), reported(&["test", "--lib"], &[]));
        let skipping = with_report(&["test", "--tests", "--", "--skip", "a"]);
        assert_eq!(skipping, reported(&["test", "--tests"], &["--skip", "a"]));
        for unchanged in [["test", "--doc"], ["test", "--workspace"], ["build", "--tests"]] {
            assert_eq!(with_report(&unchanged), unchanged);
        }
    }

    #[test]
    fn only_lines_with_a_time_have_one() {
        let time = TestTime { seconds: 1.25, test: "a::b".to_owned() };
        assert_eq!(read("test a::b ... ok <1.250s>"), Some(time));
        assert_eq!(read("test a::b ... ok"), None);
        assert_eq!(read("test a::b ... FAILED <x>"), None);
        assert_eq!(read("a::b ... ok <1.250s>"), None);
    }
}
