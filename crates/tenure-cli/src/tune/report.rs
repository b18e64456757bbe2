//! The result of the search, as text and as JSON.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};
use tenure::Config;

use super::code;
use super::figures::Figures;
use super::search::{Found, Stopped, WORTH_RECOMMENDING};
use super::settings::changes;
use crate::output::printable;
use crate::table::{count, mib, milliseconds};

/// The content of the report.
pub(super) struct Report<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a str,
    pub(super) found: &'a Found,
    /// The configuration at the start of the search.
    pub(super) base: &'a Config,
}

impl Report<'_> {
    /// Writes a JSON object.
    pub(super) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let found = self.found;
        let is_recommended = found.is_recommended();
        let recommended = if is_recommended { &found.best } else { &found.default };
        let changed = changes(self.base, &recommended.config);
        let changed: Map<String, Value> =
            changed.map(|(it, _, value)| (it.path(), it.written(value).into())).collect();
        let check = found.check.map(|check| {
            json!({ "seed": found.check_seed, "default": check.default, "best": check.best, "score": check.score })
        });
        let object = json!({
            "trace": self.name,
            "profile": self.profile,
            "seeds": found.seeds,
            "runs": found.runs,
            "configurations": found.tried,
            "stopped_by": stopped_by(found.stopped),
            "is_default_best": !is_recommended,
            "default": found.default.replays,
            "recommended": recommended.replays,
            "score": recommended.score,
            "changes": changed,
            "check": check,
            "code": code::rust(&recommended.config),
        });
        serde_json::to_writer(&mut *out, &object)?;
        writeln!(out)
    }

    /// Writes sentences, and a table if a configuration is recommended.
    pub(super) fn words(&self, out: &mut impl Write) -> io::Result<()> {
        let found = self.found;
        writeln!(
            out,
            "{} ({}): {} configurations beside the default, in {} replays with {}. {}",
            printable(self.name),
            self.profile,
            count(found.tried),
            count(found.runs),
            seeds(&found.seeds),
            stopped(found)
        )?;
        self.faults(out)?;
        if !found.is_recommended() {
            return self.default_is_best(out);
        }
        writeln!(out, "{}", self.table())?;
        writeln!(out, "Recommended instead of the default:\n")?;
        for (setting, from, to) in changes(self.base, &found.best.config) {
            writeln!(
                out,
                "    {}: {} (default {})",
                setting.path(),
                setting.written(to),
                setting.written(from)
            )?;
        }
        writeln!(out, "\n```rust\n{}```", code::rust(&found.best.config))?;
        let check = found.check.map_or(1.0, |check| check.score);
        writeln!(
            out,
            "By the goal, it is {:.1} % better with {}, and {:.1} % with seed {}, which the search did not use. All \
             figures are of this one recording: compare others of the same program before you rely on it.",
            (1.0 - found.best.score) * 100.0,
            seeds(&found.seeds),
            (1.0 - check) * 100.0,
            found.check_seed
        )
    }

    /// The faults of the default, if any.
    fn faults(&self, out: &mut impl Write) -> io::Result<()> {
        let faults = self.found.default.replays.iter().map(|replay| replay.faults).max().unwrap_or(0);
        if faults == 0 {
            return Ok(());
        }
        let faults = count(faults);
        writeln!(
            out,
            "With the default, creations failed, or there were leaks or hazards ({faults}): the figures do not \
             include them. `tenure replay` lists them."
        )
    }

    fn default_is_best(&self, out: &mut impl Write) -> io::Result<()> {
        let found = self.found;
        let percent = WORTH_RECOMMENDING * 100.0;
        match found.check {
            _ if found.tried == 0 => writeln!(
                out,
                "No configuration was tried: it takes {} replays, within the time limit.",
                count(found.runs_of_a_trial())
            ),
            check if found.best.score <= 1.0 - WORTH_RECOMMENDING => writeln!(
                out,
                "The default is best: the best configuration with {} ({:.1} % better) is not better with seed \
                 {}, which the search did not use ({}).",
                seeds(&found.seeds),
                (1.0 - found.best.score) * 100.0,
                found.check_seed,
                match check {
                    Some(check) if check.score.is_finite() =>
                        format!("{:+.1} %", (check.score - 1.0) * 100.0),
                    _ => "more failures, leaks or hazards".to_owned(),
                }
            ),
            _ => writeln!(out, "The default is best: no tried configuration is {percent} % better."),
        }
    }

    fn table(&self) -> Table {
        let found = self.found;
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["", "seed", "default", "recommended", "change"]);
        let seeds = found.seeds.iter().zip(&found.default.replays).zip(&found.best.replays);
        let mut columns: Vec<_> =
            seeds.map(|((seed, default), best)| (seed.to_string(), *default, *best)).collect();
        columns.extend(
            found.check.map(|check| (format!("{} (check)", found.check_seed), check.default, check.best)),
        );
        for (title, of, written) in ROWS {
            for (number, (seed, default, best)) in columns.iter().enumerate() {
                let (from, to) = (of(default), of(best));
                let title = if number == 0 { title } else { "" };
                table.add_row([title, seed, &written(from), &written(to), &change(from, to)]);
            }
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

type Row = (&'static str, fn(&Figures) -> u64, fn(u64) -> String);

const ROWS: [Row; 4] = [
    ("peak reserved (MiB)", |figures| figures.peak_reserved_bytes, mib),
    ("mean reserved (MiB)", |figures| figures.mean_reserved_bytes, mib),
    ("driver memory allocations", |figures| figures.driver_allocations, count),
    ("driver time, modelled (ms)", |figures| figures.driver_cost_ns, milliseconds),
];

fn change(from: u64, to: u64) -> String {
    if from == 0 {
        return "–".to_owned();
    }
    format!("{:+.1} %", (to as f64 / from as f64 - 1.0) * 100.0)
}

fn seeds(seeds: &[u64]) -> String {
    let numbers: Vec<_> = seeds.iter().map(u64::to_string).collect();
    match numbers.split_last() {
        Some((last, [])) => format!("seed {last}"),
        Some((last, others)) => format!("the seeds {} and {last}", others.join(", ")),
        None => "no seed".to_owned(),
    }
}

const fn stopped_by(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Done => "done",
        Stopped::Runs => "runs",
        Stopped::Time => "time",
    }
}

fn stopped(found: &Found) -> String {
    match found.stopped {
        Stopped::Done => "No further change of one setting helps.".to_owned(),
        Stopped::Runs => format!("The limit of {} replays ended the search.", count(found.limits.runs)),
        Stopped::Time => {
            "The time limit ended the search: another run may have a different result.".to_owned()
        }
    }
}
