//! Differences, and the reasons for expected ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{failed, unwritten};
use crate::outcome::{Outcome, Trouble};

/// `-` and an item that only the original has, `+` and an item that only ours has.
pub(super) fn between(original: &[String], ours: &[String]) -> BTreeSet<String> {
    let [original, ours] = [original, ours].map(|items| items.iter().collect::<BTreeSet<_>>());
    let missing = original.difference(&ours).map(|item| format!("- {item}"));
    let more = ours.difference(&original).map(|item| format!("+ {item}"));
    missing.chain(more).collect()
}

/// Expected differences.
#[derive(Debug)]
pub(super) struct Exceptions(BTreeSet<String>);

impl Exceptions {
    pub(super) fn read(file: &Path) -> Result<Self, Trouble> {
        let text = fs::read_to_string(file).map_err(|error| unwritten(file, &error))?;
        Self::parse(&text)
    }

    /// Paragraphs: the reason on lines that begin with `#`, and then the differences.
    fn parse(text: &str) -> Result<Self, Trouble> {
        let mut meant = BTreeSet::new();
        for paragraph in text.split("\n\n") {
            let (reason, differences): (Vec<_>, Vec<_>) =
                paragraph.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with('#'));
            if reason.is_empty() && !differences.is_empty() {
                return failed(format!("no reason is given for\n{}", differences.join("\n")));
            }
            meant.extend(differences.into_iter().map(str::to_owned));
        }
        Ok(Self(meant))
    }

    /// Fails for an unexpected difference, and for an expected one that does not exist.
    pub(super) fn explain(&self, differences: &BTreeSet<String>) -> Outcome {
        let list = |said: &str, found: Vec<&String>| {
            let lines: String = found.iter().map(|line| format!("\n  {line}")).collect();
            if found.is_empty() { String::new() } else { format!("\n{said}:{lines}") }
        };
        let unmeant = list("differs from the original", differences.difference(&self.0).collect());
        let stale = list(
            "does not differ, in spite of surface-exceptions.txt",
            self.0.difference(differences).collect(),
        );
        if unmeant.is_empty() && stale.is_empty() { Ok(()) } else { failed(unmeant + &stale) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exceptions, between};
    use crate::outcome::Trouble;

    fn items(of: &[&str]) -> Vec<String> {
        of.iter().map(|&item| item.to_owned()).collect()
    }

    fn failure(exceptions: &Exceptions, original: &[&str], ours: &[&str]) -> String {
        match exceptions.explain(&between(&items(original), &items(ours))) {
            Err(Trouble::Failed(reason)) => reason,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn missing_added_and_changed_items_fail() {
        let none = Exceptions::parse("").expect("nothing to explain");
        assert_eq!(failure(&none, &["a", "b"], &["b", "a"]), "Ok(())");
        assert!(failure(&none, &["a", "b"], &["a"]).contains("- b"));
        assert!(failure(&none, &["a"], &["a", "b"]).contains("+ b"));
        let changed = failure(&none, &["pub fn f()"], &["pub fn f() -> u64"]);
        assert!(changed.ends_with("- pub fn f()") && changed.contains("+ pub fn f() -> u64"), "{changed}");
    }

    #[test]
    fn exceptions_need_a_reason_and_a_difference() {
        let one = Exceptions::parse("# a is not for us\n- a\n").expect("explained");
        assert_eq!(failure(&one, &["a", "b"], &["b"]), "Ok(())");
        assert!(failure(&one, &["a"], &["a"]).contains("in spite of"));
        assert!(failure(&one, &["b"], &["a", "b"]).contains("+ a"), "the other way round is another thing");
        assert!(Exceptions::parse("# a is not for us\n- a\n\n- b\n").is_err());
    }
}
