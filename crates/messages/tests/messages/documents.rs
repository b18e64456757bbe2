//! Compares the messages and defaults that the guide quotes with the code.

use std::collections::BTreeMap;
use std::fs;

use tenure_core::Config;

use crate::sources::{self, root};
use crate::table::Table;

/// Names of objects in the guide's tables: they stand for any name, as `…` stands for any text.
const NAMES: [&str; 8] = ["grass", "mesh", "opaque", "particles", "rock", "sky", "terrain", "transparent"];

/// The chapters of the guide by name.
fn chapters() -> BTreeMap<String, String> {
    let files = fs::read_dir(root().join("../docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    let named = files.map(|path| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
    });
    named.collect()
}

/// Every text that a program's author may read.
fn texts(errors: &Table) -> Vec<String> {
    let mut texts: Vec<String> = errors.texts().cloned().collect();
    for rule in sources::rules() {
        let (kind, rule) = rule.split_once(": ").unwrap();
        texts.push(match kind {
            "does not support" => format!("the device does not support {rule}"),
            _ => format!("broken rule: {rule}"),
        });
    }
    let hazards = sources::hazard_tables();
    // The text after the kind: the whole line, and its beginning.
    let hazards = hazards.lines().filter_map(|line| Some(line.split_once(": ")?.1.to_owned()));
    for line in hazards.chain(sources::hazards_of_rays()) {
        texts.extend(line.split_once(": ").map(|(kind, _)| kind.to_owned()));
        texts.push(line);
    }
    let logs = sources::log_tables().concat();
    // After the level, and the target where there is one.
    let logs = logs.lines().filter_map(|line| line.split_once(": "));
    texts.extend(logs.map(|(level, text)| match level.contains(' ') {
        true => text.to_owned(),
        false => text.strip_prefix("tenure: ").unwrap_or(text).to_owned(),
    }));
    texts.extend(sources::texts_of_c());
    texts
}

/// Whether `text` matches `quote`, where `…` and names stand for any text. The name of an object may come
/// before a message.
fn shows(quote: &str, text: &str) -> bool {
    let quote = NAMES.iter().fold(quote.to_owned(), |quote, name| {
        let words = quote.split_inclusive(|found: char| !found.is_alphanumeric());
        words
            .map(|word| match word.strip_prefix(name) {
                Some(rest) if rest.chars().all(|found| !found.is_alphanumeric()) => format!("…{rest}"),
                _ => word.to_owned(),
            })
            .collect()
    });
    let matches = |quote: &str| {
        let mut pieces = quote.split('…');
        let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
        let Some(last) = pieces.next_back() else { return rest.is_empty() };
        for piece in pieces {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    };
    matches(&quote) || quote.strip_prefix("…: ").is_some_and(matches)
}

/// The messages in the first column of a chapter's last table: the quotes with a space in them.
fn quotes(chapter: &str) -> Vec<&str> {
    let last = chapter.rsplit("## What can go wrong").next().unwrap_or_default();
    // Compilers have messages, too.
    let rows = last.lines().filter(|row| row.starts_with('|') && !row.contains("the compiler"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).filter(|quote| quote.contains(' ')).collect()
}

#[test]
fn the_guide_quotes_messages_as_they_are() {
    let texts = texts(&crate::all_errors());
    let mut count = 0;
    let mut wrong = Vec::new();
    for (name, chapter) in &chapters() {
        for quote in quotes(chapter) {
            count += 1;
            if !texts.iter().any(|text| shows(quote, text)) {
                wrong.push(format!("{name}: {quote}"));
            }
        }
    }
    assert_eq!(wrong, [] as [String; 0], "nothing prints these");
    assert!(count > 70, "the tables are not where they were: {count} quotes");
}

#[test]
fn quotes_are_compared_from_end_to_end() {
    let text = "rock: 100 B at 200 are outside its 256 B";
    for quote in [text, "mesh: … B at … are outside its … B", "…: 100 B at 200 are outside its 256 B"]
    {
        assert!(shows(quote, text), "{quote}");
    }
    for quote in ["rock: 100 B at 200", "are outside its 256 B", "…: … KiB at …"] {
        assert!(!shows(quote, text), "{quote}");
    }
    assert!(shows("…: the device is lost: …", "the device is lost: unplugged"), "also without a name");
}

/// The fields of `Config`, as `pools.max_wait` and as `PoolConfig::max_wait`, with their defaults as `Debug` has them.
fn defaults() -> BTreeMap<String, String> {
    let (mut part, mut type_name) = ("", "Config");
    let mut found = BTreeMap::new();
    let shown = format!("{:#?}", Config::default());
    for line in shown.lines() {
        let Some((name, value)) = line.trim().trim_end_matches(',').split_once(": ") else { continue };
        if let Some(opened) = value.strip_suffix(" {") {
            (part, type_name) = (name, opened);
        } else if line.starts_with("        ") {
            found.insert(format!("{part}.{name}"), value.to_owned());
            found.insert(format!("{type_name}::{name}"), value.to_owned());
        }
    }
    found
}

/// A default in words, as `Debug` shows it: `2,000 placements` as 2000, `64 KiB` as 65536. `None` if it is no such value.
fn value(words: &str) -> Option<String> {
    let mut words = words
        .split(|found: char| !(found.is_alphanumeric() || found == ','))
        .map(|word| word.trim_end_matches(','));
    let (first, unit) = (words.next()?, words.next().unwrap_or_default());
    let number = first.replace(',', "").parse::<u64>();
    match (number, first, unit) {
        (Ok(number), _, "KiB") => Some((number << 10).to_string()),
        (Ok(number), _, "MiB") => Some((number << 20).to_string()),
        (Ok(number), _, "s") => Some(format!("{number}s")),
        (Ok(number), ..) => Some(number.to_string()),
        (Err(_), "true" | "yes", _) => Some("true".to_owned()),
        (Err(_), "false" | "off", _) => Some("false".to_owned()),
        _ => None,
    }
}

/// The statements of a chapter about fields: `pools.max_wait` (1 s), or 64 KiB (`InPlaceConfig::max_over_bus`).
fn said(chapter: &str) -> Vec<(&str, &str)> {
    let pieces: Vec<_> = chapter.split('`').collect();
    let around = pieces.windows(3).step_by(2);
    let said = around.filter_map(|around| {
        let [before, name, after] = *around else { return None };
        match (after.strip_prefix(" ("), before.strip_suffix(" (")) {
            (Some(value), _) => Some((name, value)),
            (None, Some(before)) if name.contains("Config::") => {
                let begins = before.rmatch_indices([' ', '\n', '(']).map(|(at, _)| at + 1);
                let value = begins
                    .map(|at| &before[at..])
                    .find(|value| value.starts_with(|it: char| it.is_ascii_digit()))?;
                Some((name, value))
            }
            _ => None,
        }
    });
    said.collect()
}

#[test]
fn the_guide_and_the_reference_state_the_defaults() {
    let defaults = defaults();
    let chapters = chapters();
    let in_guide = chapters.iter().flat_map(|(file, chapter)| {
        said(chapter).into_iter().map(move |(name, value)| (&**file, name.to_owned(), value.to_owned()))
    });
    let in_reference =
        sources::documented_defaults().into_iter().map(|(name, value)| ("the reference", name, value));
    let mut compared = BTreeMap::new();
    let mut wrong = Vec::new();
    for (place, name, words) in in_guide.chain(in_reference) {
        // Where the device decides, the field is `None`.
        if let (Some(default), Some(value)) = (defaults.get(&name).filter(|it| *it != "None"), value(&words))
        {
            *compared.entry(place).or_insert(0) += 1;
            if *default != value {
                wrong.push(format!("{place}: {name} is {default}, not {value}"));
            }
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
    let in_reference = compared.remove("the reference").unwrap_or(0);
    let in_guide: usize = compared.values().sum();
    assert!(
        in_reference > 35 && in_guide > 20,
        "{in_reference} defaults in the reference, {in_guide} in {compared:?}"
    );
}
