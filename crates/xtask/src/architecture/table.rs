//! The tables of the documents: which crates and modules there are, and which may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::command::root;

/// Has the table of crates.
pub(super) const CRATES: &str = "ARCHITECTURE.md";

/// Has the tables of modules.
pub(super) const MODULES: &str = "docs/modules.md";

/// One row, with its file and its line there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Several crates may share a row.
    pub(super) names: Vec<String>,
    /// The number of the floor, in the table of crates.
    pub(super) floor: Option<usize>,
    pub(super) may_use: MayUse,
    pub(super) file: &'static str,
    pub(super) line: usize,
}

/// The names that the last cell allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MayUse {
    All,
    These(BTreeSet<String>),
}

impl Row {
    /// The row as it is cited.
    pub(super) fn at(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The table of crates, and those of modules by crate.
pub(super) struct Tables {
    pub(super) crates: Vec<Row>,
    pub(super) modules: BTreeMap<&'static str, Vec<Row>>,
}

impl Tables {
    /// `listed`: crates with a table of modules, which is in the section of that name.
    pub(super) fn read(listed: &[&'static str]) -> Result<Self, String> {
        let read = |file| fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"));
        let (crates, modules) = (read(CRATES)?, read(MODULES)?);
        let table = |file: &'static str, text: &str, first: &str| {
            let rows = rows(file, text, first, "may use");
            let missing = || format!("{file}: no table from `{first}` to `may use`");
            if rows.is_empty() { Err(missing()) } else { Ok(rows) }
        };
        let modules = |name: &'static str| {
            let rows = table(MODULES, &section(&modules, &format!("## Modules of `{name}`")), "module");
            rows.map(|rows| (name, rows)).map_err(|error| format!("{error} for {name}"))
        };
        let modules = listed.iter().map(|name| modules(name)).collect::<Result<_, _>>()?;
        Ok(Self { crates: table(CRATES, &crates, "floor")?, modules })
    }
}

/// The text below a heading, with empty lines for all that is above it, so that lines keep their numbers.
fn section(text: &str, heading: &str) -> String {
    let above = text.lines().take_while(|line| *line != heading).count();
    let (empty, below) = ("\n".repeat(above), text.lines().skip(above).collect::<Vec<_>>());
    empty + &below.join("\n")
}

/// The rows of the first table whose header begins and ends with these cells.
fn rows(file: &'static str, text: &str, first: &str, last: &str) -> Vec<Row> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, cells(line)));
    let table = lines.skip_while(|(_, cells)| {
        !(cells.first().is_some_and(|&it| it == first) && cells.last().is_some_and(|&it| it == last))
    });
    // Below the header is a line of dashes.
    table
        .skip(2)
        .take_while(|(_, cells)| !cells.is_empty())
        .map(|(line, cells)| row(file, &cells, line))
        .collect()
}

fn cells(line: &str) -> Vec<&str> {
    let inside = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
    inside.map(|inside| inside.split('|').map(str::trim).collect()).unwrap_or_default()
}

fn row(file: &'static str, cells: &[&str], line: usize) -> Row {
    let floor = cells.first().and_then(|cell| cell.parse().ok());
    let mut named = cells.iter().map(|cell| names(cell)).filter(|names| !names.is_empty());
    let last = cells.last().copied().unwrap_or_default();
    let may_use = if last == "all" { MayUse::All } else { MayUse::These(names(last).into_iter().collect()) };
    Row { names: named.next().unwrap_or_default(), floor, may_use, file, line }
}

/// The texts between backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{MayUse, rows, section};

    const TEXT: &str = "\
| no | table |

| module | one sentence | may use |
| --- | --- | --- |
| `device` | the contract: `Device` | – |
| `state`, `time` | both | `device`, `tenure-plan` |
| `gpu` | everything | all |

| `memory` | another table | – |
";

    #[test]
    fn rows_are_read_from_the_table_with_the_header() {
        let rows = rows("a.md", TEXT, "module", "may use");
        let these = |names: &[&str]| MayUse::These(names.iter().map(|&name| name.to_owned()).collect());
        let read: Vec<_> = rows.iter().map(|row| (row.names.join("+"), &row.may_use, row.line)).collect();
        let expected = [
            ("device".to_owned(), &these(&[]), 5),
            ("state+time".to_owned(), &these(&["device", "tenure-plan"]), 6),
            ("gpu".to_owned(), &MayUse::All, 7),
        ];
        assert_eq!(read, expected);
    }
    #[test]
    fn a_section_keeps_the_numbers_of_its_lines() {
        let text = format!(
            "## Modules of `a`\n{TEXT}## Modules of `b`\n\n| module | may use |\n| --- | --- |\n| `x` | – |\n"
        );
        let numbers = |heading| {
            let rows = rows("a.md", &section(&text, heading), "module", "may use");
            rows.iter().map(|row| (row.names.join("+"), row.line)).collect::<Vec<_>>()
        };
        assert_eq!(numbers("## Modules of `b`"), [("x".to_owned(), 15)]);
        assert_eq!(numbers("## Modules of `a`").len(), 3);
        assert!(numbers("## Modules of `c`").is_empty());
    }
}
