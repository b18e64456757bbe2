//! What test programs print of the tests that failed, so that it can be said again where everything ends.

/// Lines that are kept: enough for the messages of several tests.
const MOST: usize = 60;

/// Picks the tests that failed, and their messages, from what test programs print.
#[derive(Default)]
pub(crate) struct Failures {
    kept: Vec<String>,
    left_out: usize,
    is_inside: bool,
}

impl Failures {
    /// Takes the next line.
    pub(crate) fn note(&mut self, line: &str) {
        if line == "failures:" {
            self.is_inside = true;
        } else if line.starts_with("test result:") {
            self.is_inside = false;
        } else if self.is_inside && !line.trim().is_empty() {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &str) {
        if self.kept.len() < MOST {
            self.kept.push(format!("    {line}"));
        } else {
            self.left_out += 1;
        }
    }

    /// Everything that was kept, each line after a line break; empty if no test failed.
    pub(crate) fn said(&self) -> String {
        let mut said: String = self.kept.iter().flat_map(|line| ["\n", line]).collect();
        if self.left_out > 0 {
            said += &format!("\n    and {} lines more", self.left_out);
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::{Failures, MOST};

    fn of(printed: &str) -> String {
        let mut failures = Failures::default();
        printed.lines().for_each(|line| failures.note(line));
        failures.said()
    }

    #[test]
    fn what_failed_is_kept_with_its_message() {
        let printed = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\
                       assertion failed: 1 == 2\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed\n\nrunning 0 tests\n";
        assert_eq!(of(printed), "\n    ---- b stdout ----\n    assertion failed: 1 == 2\n        b");
        assert_eq!(of("running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed\n"), "");
    }

    #[test]
    fn a_long_message_is_cut() {
        let said = of(&format!("failures:\n{}", "line\n".repeat(MOST + 3)));
        assert!(said.ends_with("line\n    and 3 lines more"), "{said}");
    }
}
