//! No crate depends on one above it, and inside a crate no module on one above it.
//!
//! Cargo reports the dependencies between crates. Inside a crate, the modules at its top level are compared: a
//! path in the code from one to another is a use. A re-export of the root counts as the module that defines the
//! item. Tests and documentation do not count, nor do methods, which no path names. So published crates may not
//! store trait objects by which a module calls one above it. The tables of ARCHITECTURE.md and docs/modules.md
//! must match the code exactly.

mod crates;
mod layers;
mod resolve;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::crates::Crate;
use self::layers::{Graph, Layers};
use self::resolve::{ROOT, Use, Uses};
use self::source::{Site, Source, TraitObject};
use self::table::{CRATES, MODULES, MayUse, Row, Tables};
use crate::command::root;
use crate::outcome::{Outcome, Trouble};

/// Crates whose modules docs/modules.md lists.
const LISTED: [&str; 5] = ["tenure-core", "tenure-device", "tenure-vulkan", "tenure-sim", "tenure-c"];

/// Prints floors and modules, and fails for each arrow that goes up and each difference from the tables.
pub(crate) fn check() -> Outcome {
    let complaints = complaints().map_err(Trouble::Failed)?;
    for complaint in &complaints {
        println!("{complaint}");
    }
    let count = complaints.len();
    if count == 0 { Ok(()) } else { Err(Trouble::Failed(format!("{count} complaints, listed above"))) }
}

fn complaints() -> Result<Vec<String>, String> {
    let (crates, tables) = (crates::read()?, Tables::read(&LISTED)?);
    let base = root().canonicalize().map_err(|error| error.to_string())?;
    let graph: Graph = crates.iter().map(|it| (it.name.clone(), it.uses.clone())).collect();
    let layers = Layers::of(&graph);
    let mut complaints = of_crates(&crates, &layers, &tables.crates);
    for (floor, names) in layers.by_floor() {
        println!("floor {floor}: {}", names.join(", "));
    }
    println!();
    let names: Vec<String> = crates.iter().map(|it| it.name.clone()).collect();
    for it in &crates {
        let source = Source::read(&it.root, &base)?;
        if it.is_published {
            complaints.extend(upward(&source));
        }
        let uses = resolve::uses(&source, &names);
        complaints.extend(of_modules(&it.name, &uses));
        if let Some(rows) = tables.modules.get(it.name.as_str()) {
            complaints.extend(compared(&it.name, &uses, rows));
        }
    }
    Ok(complaints)
}

/// Violations in the dependencies between crates.
fn of_crates(crates: &[Crate], layers: &Layers, rows: &[Row]) -> Vec<String> {
    let mut complaints: Vec<String> =
        layers.cycles.iter().map(|cycle| format!("crates depend on each other: {}", joined(cycle))).collect();
    complaints.extend(gone(rows, |name| crates.iter().any(|it| it.name == name), "crate"));
    for it in crates.iter().filter(|it| it.is_published) {
        let Some(row) = row_of(rows, &it.name) else {
            complaints.push(format!("{}: `{}` has no row in {CRATES}", it.manifest.display(), it.name));
            continue;
        };
        let floor = layers.floors[&it.name];
        if row.floor != Some(floor) {
            complaints.push(format!("{}: `{}` is on floor {floor}", row.at(), it.name));
        }
        let used = it.uses.iter().map(|used| (used, it.manifest.display().to_string()));
        complaints.extend(differences(&it.name, used, row));
    }
    complaints
}

/// Trait objects by which a module can call one above it without naming it: weak references, and cells that are
/// set once, except for public traits, which programs implement. A `dyn Any` is only allowed as the payload of
/// a panic.
fn upward(source: &Source) -> Vec<String> {
    const CELLS: [&str; 4] = ["OnceLock", "OnceCell", "LazyLock", "LazyCell"];
    let refused = source.trait_objects.iter().filter(|object| {
        let is_in = |names: &[&str]| object.within.iter().any(|name| names.contains(&name.as_str()));
        let first = object.traits.first().map_or("", String::as_str);
        let is_payload = object.traits == ["Any", "Send"] && object.within.ends_with(&["Box".to_owned()]);
        (first == "Any" && !is_payload)
            || is_in(&["Weak"])
            || (is_in(&CELLS) && !source.public_traits.contains(first))
    });
    let text = |TraitObject { within, traits, site: Site { file, line } }: &TraitObject| {
        let object = format!("{}<dyn {}>", within.join("<"), traits.join(" + "));
        format!("{}:{line}: a module can call one above it by a `{object}`", file.display())
    };
    refused.map(text).collect()
}

/// Prints the modules of a crate by floor; every cycle is a complaint.
fn of_modules(name: &str, uses: &Uses) -> Vec<String> {
    let graph: Graph =
        uses.iter().map(|(name, used)| (name.clone(), used.keys().cloned().collect())).collect();
    let layers = Layers::of(&graph);
    println!("{name}");
    for (floor, names) in layers.by_floor() {
        println!("  floor {floor}: {}", names.join(", "));
    }
    layers.cycles.iter().map(|cycle| cycle_text(name, cycle, uses)).collect()
}

/// A cycle with its arrows, those with the fewest lines first.
fn cycle_text(name: &str, cycle: &BTreeSet<String>, uses: &Uses) -> String {
    let mut arrows: Vec<(usize, String)> = cycle
        .iter()
        .flat_map(|from| uses[from].iter().map(move |(to, places)| (from, to, places)))
        .filter(|(_, to, _)| cycle.contains(*to))
        .map(|(from, to, places)| {
            let more =
                if places.len() > 1 { format!(" and {} more", places.len() - 1) } else { String::new() };
            (places.len(), format!("  `{from}` uses `{to}`: {}{more}", shown(&places[0])))
        })
        .collect();
    arrows.sort();
    let arrows: Vec<String> = arrows.into_iter().map(|(_, text)| text).collect();
    format!("modules of {name} use each other: {}\n{}", joined(cycle), arrows.join("\n"))
}

/// Differences between the code of a listed crate and its table.
fn compared(name: &str, uses: &Uses, rows: &[Row]) -> Vec<String> {
    let mut complaints = gone(rows, |name| uses.contains_key(name), "module");
    for (module, used) in uses.iter().filter(|(module, _)| *module != ROOT) {
        let Some(row) = row_of(rows, module) else {
            complaints.push(format!("{MODULES} has no row for the module `{module}` of {name}"));
            continue;
        };
        let used = used.iter().filter(|(used, _)| *used != ROOT);
        complaints.extend(differences(module, used.map(|(used, places)| (used, shown(&places[0]))), row));
    }
    complaints
}

/// Rows without a crate or module.
fn gone(rows: &[Row], exists: impl Fn(&str) -> bool, what: &str) -> Vec<String> {
    let names = rows.iter().flat_map(|row| row.names.iter().map(move |name| (row, name)));
    let gone = names.filter(|(row, name)| !exists(name) && (row.floor.is_some() || what == "module"));
    gone.map(|(row, name)| format!("{}: there is no {what} `{name}`", row.at())).collect()
}

fn row_of<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.names.iter().any(|it| it == name))
}

/// Uses that are not allowed, and allowed uses that do not exist.
fn differences<'a>(name: &str, used: impl Iterator<Item = (&'a String, String)>, row: &Row) -> Vec<String> {
    let used: BTreeMap<&String, String> = used.collect();
    let MayUse::These(allowed) = &row.may_use else { return Vec::new() };
    let denied = used.iter().filter(|(used, _)| !allowed.contains(**used));
    let denied = denied.map(|(used, place)| format!("{place}: `{name}` may not use `{used}` ({})", row.at()));
    let idle = allowed.iter().filter(|allowed| !used.contains_key(*allowed));
    let idle = idle.filter(|_| row.names.len() == 1);
    denied.chain(idle.map(|idle| format!("{}: `{name}` does not use `{idle}`", row.at()))).collect()
}

fn shown(place: &Use) -> String {
    format!("{}:{}: {}", place.site.file.display(), place.site.line, place.path)
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
