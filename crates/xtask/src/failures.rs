//! The output of failed and unfinished tests, for the summary.

use std::collections::VecDeque;

/// Lines that are kept: enough for the messages of several tests.
const MOST: usize = 60;
/// The number of last lines kept, for a program that fails without a failing test.
const LAST: usize = 6;
/// The text of the test harness after the name of a slow test.
const SLOW: &str = " has been running for over ";

/// Extracts failed tests and their messages from the output of test programs.
#[derive(Default)]
pub(crate) struct Failures {
    kept: Vec<String>,
    left_out: usize,
    is_inside: bool,
    /// Tests that were begun.
    begun: u64,
    /// Tests that take long, and have not ended.
    slow: Vec<String>,
    last: VecDeque<String>,
}

impl Failures {
    /// Takes the next line.
    pub(crate) fn note(&mut self, line: &str) {
        self.note_end(line);
        self.begun += line.strip_prefix("running ").map_or(0, count_of);
        if line == "failures:" {
            self.is_inside = true;
        } else if line.starts_with("test result:") {
            self.is_inside = false;
            self.slow.clear();
        } else if let Some(test) = line.strip_prefix("test ") {
            self.note_test(test);
        } else if self.is_inside && !line.trim().is_empty() {
            self.keep(line);
        }
    }

    /// Whether no test was begun.
    pub(crate) const fn has_no_test(&self) -> bool {
        self.begun == 0
    }

    fn note_end(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(line.to_owned());
    }

    /// Handles a line about a test.
    fn note_test(&mut self, said: &str) {
        if let Some((name, _)) = said.split_once(SLOW) {
            self.slow.push(name.to_owned());
        } else if let Some((name, _)) = said.split_once(" ... ") {
            self.slow.retain(|slow| slow != name);
        }
    }

    fn keep(&mut self, line: &str) {
        if self.kept.len() < MOST {
            self.kept.push(format!("    {line}"));
        } else {
            self.left_out += 1;
        }
    }

    /// All kept lines, each after a line break; if no test failed, the unfinished tests and the last lines.
    pub(crate) fn said(&self) -> String {
        if self.kept.is_empty() {
            return self.said_of_end();
        }
        let mut said: String = self.kept.iter().flat_map(|line| ["\n", line]).collect();
        if self.left_out > 0 {
            said += &format!("\n    and {} lines more", self.left_out);
        }
        said
    }

    fn said_of_end(&self) -> String {
        let slow = self.slow.iter().map(|name| format!("\n    did not end: {name}"));
        let last = self.last.iter().map(|line| format!("\n    at its end: {line}"));
        slow.chain(last).collect()
    }
}

/// The number of `8 tests`; 0 of anything else.
fn count_of(text: &str) -> u64 {
    let number = text.strip_suffix(" tests").or_else(|| text.strip_suffix(" test"));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Failures, LAST, MOST};

    fn of(printed: &str) -> String {
        let mut failures = Failures::default();
        printed.lines().for_each(|line| failures.note(line));
        failures.said()
    }

    #[test]
    fn failed_tests_are_kept_with_their_message() {
        let printed = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\
                       assertion failed: 1 == 2\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed\n\nrunning 0 tests\n";
        assert_eq!(of(printed), "\n    ---- b stdout ----\n    assertion failed: 1 == 2\n        b");
    }

    #[test]
    fn unfinished_tests_are_named() {
        let printed = "running 3 tests\ntest a has been running for over 60 seconds\n\
                       test b has been running for over 60 seconds\ntest a ... ok\n";
        let said = of(printed);
        assert!(said.starts_with("\n    did not end: b\n    at its end: running 3 tests\n"), "{said}");
        assert!(said.ends_with("\n    at its end: test a ... ok"), "{said}");
        let ended = of(&format!("{printed}test b ... ok\n\ntest result: ok. 3 passed\n"));
        assert!(!ended.contains("did not end"), "{ended}");
        assert_eq!(of(""), "");
    }

    #[test]
    fn the_end_is_cut() {
        let said = of(&"line\n".repeat(LAST + 3));
        assert_eq!(said.lines().filter(|line| line.ends_with("at its end: line")).count(), LAST);
    }

    #[test]
    fn a_long_message_is_cut() {
        let said = of(&format!("failures:\n{}", "line\n".repeat(MOST + 3)));
        assert!(said.ends_with("line\n    and 3 lines more"), "{said}");
    }
}
