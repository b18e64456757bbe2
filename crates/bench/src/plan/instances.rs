//! Published instances, each with a capacity that is known to do.

use std::fmt::Write;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use tenure_plan::{Item, Options, csv};

use super::measure::{table, tenure};
use super::{peers, sources};

/// Placements that are tried at most: about a second.
const NODES: u64 = 200_000;
/// How often an instance is thinned.
const THINNED: u64 = 30;

/// Makes other instances of one.
type Variants = fn(&Instance) -> Vec<Instance>;

struct Instance {
    name: String,
    items: Vec<Item>,
    capacity: u64,
}

/// The folder that was named, or the one beside the repository.
pub(super) fn folder(named: Option<&Path>) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/plan/minimalloc");
    named.map(Path::to_path_buf).or_else(|| beside.is_dir().then_some(beside))
}

pub(super) fn report(folder: &Path, rounds: usize) -> Result<String, String> {
    let instances = read(folder)?;
    let rows = instances.iter().map(|instance| of_instance(instance, rounds));
    let header = ["instance", "resources", "solved", "ms", "placements", "best peer / capacity"];
    let mut text =
        format!("Challenging instances, at their capacity. One thread.\n\n{}\n\n", table(&header, rows));
    let variants: [(&str, Variants); 4] =
        [("mirrored", mirrored), ("shuffled", shuffled), ("scaled", scaled), ("3 to 10 % removed", thinned)];
    let rows = variants.iter().map(|(name, make)| of_variants(name, instances.iter().flat_map(make)));
    let header = ["variant", "solved", "within 1 s", "ms, median", "ms, p90", "ms, max"];
    let _infallible = writeln!(text, "Variants of them.\n\n{}\n", table(&header, rows));
    Ok(text)
}

fn read(folder: &Path) -> Result<Vec<Instance>, String> {
    let failed = |what: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", what.display());
    let entries = folder.read_dir().map_err(|error| failed(folder, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "csv"));
    files.sort();
    let mut instances = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(capacity) = name.rsplit('.').next().and_then(|text| text.parse().ok()) else {
            return Err(failed(&file, &"there is no capacity before the ending"));
        };
        let source = BufReader::new(File::open(&file).map_err(|error| failed(&file, &error))?);
        let items = csv::read(source).map_err(|error| failed(&file, &error))?.items;
        instances.push(Instance { name, items, capacity });
    }
    Ok(instances)
}

fn options(instance: &Instance) -> Options {
    Options::new().capacity(instance.capacity).nodes(NODES)
}

fn of_instance(instance: &Instance, rounds: usize) -> Vec<String> {
    let (micros, plan) = tenure(&instance.items, &options(instance), rounds);
    let planners = peers::all().into_iter().filter(|peer| peer.is_planner);
    let best = planners.map(|peer| (peer.peak)(&instance.items)).min().unwrap_or(0);
    vec![
        instance.name.clone(),
        instance.items.len().to_string(),
        (if plan.peak <= instance.capacity { "yes" } else { "NO" }).to_owned(),
        format!("{:.1}", micros / 1e3),
        plan.nodes.to_string(),
        format!("{:.3}", best as f64 / instance.capacity as f64),
    ]
}

fn of_variants(name: &str, variants: impl Iterator<Item = Instance>) -> Vec<String> {
    let (mut solved, mut in_time, mut times) = (0, 0, Vec::new());
    for instance in variants {
        let (micros, plan) = tenure(&instance.items, &options(&instance), 1);
        let is_solved = plan.peak <= instance.capacity;
        solved += u32::from(is_solved);
        in_time += u32::from(is_solved && micros <= 1e6);
        times.push(micros / 1e3);
    }
    times.sort_by(f64::total_cmp);
    let percentile = |percent: usize| {
        let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(at).map_or_else(String::new, |time| format!("{time:.1}"))
    };
    vec![
        name.to_owned(),
        format!("{solved} of {}", times.len()),
        format!("{:.1} %", 100.0 * f64::from(in_time) / times.len().max(1) as f64),
        percentile(50),
        percentile(90),
        percentile(100),
    ]
}

fn with(instance: &Instance, items: Vec<Item>) -> Instance {
    Instance { name: instance.name.clone(), items, capacity: instance.capacity }
}

fn mirrored(instance: &Instance) -> Vec<Instance> {
    vec![with(instance, sources::mirrored(&instance.items))]
}

fn shuffled(instance: &Instance) -> Vec<Instance> {
    (0..4).map(|seed| with(instance, sources::shuffled(&instance.items, seed))).collect()
}

fn scaled(instance: &Instance) -> Vec<Instance> {
    let scale = |by: u64| Instance {
        capacity: instance.capacity * by,
        ..with(instance, sources::shuffled(&sources::scaled(&instance.items, 5, by), by))
    };
    vec![scale(3), scale(7919), scale(12_345)]
}

fn thinned(instance: &Instance) -> Vec<Instance> {
    (0..THINNED).map(|seed| with(instance, sources::thinned(&instance.items, seed))).collect()
}
