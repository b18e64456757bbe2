//! The summary of the test command: the result and the time of each step.

use std::fmt::Write as _;
use std::time::Duration;

use crate::step::StepResult;
use crate::steps::WIDTH;

/// Tests that are listed.
const SLOWEST: usize = 20;

pub(crate) fn of(results: &[StepResult], time: Duration, compiled: &str) -> String {
    let mut text = String::from("\n");
    text += &slowest_tests(results);
    text += compiled;
    text.push('\n');
    for result in results {
        let cpu = result.report.cpu.map_or_else(|| "-".to_owned(), |cpu| format!("{cpu:.1}"));
        let (name, seconds) = (result.name, result.time.as_secs_f64());
        let _never_fails = writeln!(text, "{name:WIDTH$} {seconds:7.1} s  CPU {cpu:>7} s  {}", result.said());
    }
    let passed = results.iter().filter(|result| result.report.outcome.is_ok()).count();
    let failed = results.iter().filter_map(|result| result.report.outcome.as_ref().err());
    let failed = failed.filter(|trouble| trouble.is_failure()).count();
    let not_run = results.len() - passed - failed;
    let minutes = time.as_secs_f64() / 60.0;
    let _never_fails =
        writeln!(text, "steps: {passed} passed, {failed} failed, {not_run} not run; {minutes:.1} minutes");
    text
}

fn slowest_tests(results: &[StepResult]) -> String {
    let tests = results.iter().flat_map(|result| result.report.tests.iter().map(|test| (result.name, test)));
    let mut tests: Vec<_> = tests.collect();
    tests.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
    let mut text = String::new();
    for (number, (step, test)) in tests.into_iter().take(SLOWEST).enumerate() {
        if number == 0 {
            text += "the slowest tests:\n";
        }
        let _never_fails = writeln!(text, "  {:8.1} s  {step}: {}", test.seconds, test.test);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::of;
    use crate::outcome::Trouble;
    use crate::step::{Report, StepResult};
    use crate::times::TestTime;

    #[test]
    fn each_step_and_slow_test_has_a_line() {
        let test = |seconds, test: &str| TestTime { seconds, test: test.to_owned() };
        let tests = vec![test(0.5, "a::quick"), test(7.0, "a::slow")];
        let results = [
            StepResult::new(
                "loom",
                Report { outcome: Ok(()), cpu: Some(9.0), tests },
                Duration::from_secs(10),
                false,
            ),
            StepResult::new(
                "miri",
                Report { outcome: Err(Trouble::NoTool("install it".to_owned())), ..Report::default() },
                Duration::ZERO,
                false,
            ),
        ];
        let text = of(&results, Duration::from_secs(90), "compiled: nothing\n");
        let lines: Vec<_> = text.trim().lines().collect();
        assert_eq!(
            lines,
            [
                "the slowest tests:",
                "       7.0 s  loom: a::slow",
                "       0.5 s  loom: a::quick",
                "compiled: nothing",
                "",
                "loom                   10.0 s  CPU     9.0 s  passed",
                "miri                    0.0 s  CPU       - s  NOT RUN on this machine: install it",
                "steps: 1 passed, 0 failed, 1 not run; 1.5 minutes",
            ]
        );
    }
}
