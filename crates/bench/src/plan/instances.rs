//! Hard instances, each with a capacity that is known to do.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use tenure_plan::{Item, PlanConfig, csv};

use super::measure::tenure;
use super::planted::{CAPACITY, SHAPES, Shape};
use super::{ROUNDS, peers, sources};
use crate::Result;
use crate::table::{figure, table};
use crate::timing::median;

/// Placements that are tried at most: about a second.
const NODES: u64 = 200_000;
/// How many planted instances each shape has.
const SEEDS: u64 = 20;
/// How many instances of a group have variants.
const VARIED: usize = 3;
/// How often an instance is thinned.
const THINNED: u64 = 30;

/// Makes other items of an instance's, each with the factor of their capacity.
type Variants = fn(&[Item]) -> Vec<(u64, Vec<Item>)>;

struct Instance {
    items: Vec<Item>,
    capacity: u64,
}

/// A row of the report.
struct Group {
    name: String,
    instances: Vec<Instance>,
}

/// Planted instances, which have their capacity as the optimum.
pub(super) fn print_planted() {
    let groups: Vec<Group> = SHAPES.iter().map(|shape| of_shape(shape, SEEDS)).collect();
    print(&format!("Planted instances, {SEEDS} of each shape"), &groups, 1);
}

/// The instances in a folder.
pub(super) fn print_published(folder: &Path) -> Result {
    print("Published instances", &read(folder)?, ROUNDS);
    Ok(())
}

fn print(title: &str, groups: &[Group], rounds: usize) {
    let rows = groups.iter().map(|group| of_group(group, rounds));
    let header =
        "instance | resources | solved | ms, median | placements, median | best peer / capacity, least";
    println!("{title}, at their capacity. One thread.\n\n{}\n", table(header, rows));
    let varied: Vec<_> = groups.iter().flat_map(|group| group.instances.iter().take(VARIED)).collect();
    let variants: [(&str, Variants); 4] = [
        ("mirrored", |items| vec![(1, sources::mirrored(items))]),
        ("shuffled", |items| (0..4).map(|seed| (1, sources::shuffled(items, seed))).collect()),
        ("scaled", |items| {
            let scaled = |by| (by, sources::shuffled(&sources::scaled(items, 5, by), by));
            vec![scaled(3), scaled(7919), scaled(12_345)]
        }),
        ("3 to 10 % removed", |items| (0..THINNED).map(|seed| (1, sources::thinned(items, seed))).collect()),
    ];
    let rows = variants.iter().map(|(name, make)| {
        let instances = varied.iter().flat_map(|instance| {
            let of = |(by, items)| Instance { items, capacity: instance.capacity * by };
            make(&instance.items).into_iter().map(of)
        });
        of_variants(name, instances)
    });
    let header = "variant | solved | within 1 s | ms, median | ms, p90 | ms, max";
    println!("Variants of {} of them.\n\n{}\n\n", varied.len(), table(header, rows));
}

fn of_shape(shape: &Shape, seeds: u64) -> Group {
    let instance = |seed| Instance { items: shape.instance(seed).0, capacity: CAPACITY };
    Group { name: shape.name.to_owned(), instances: (0..seeds).map(instance).collect() }
}

/// The capacity is in the name of each file, before the ending.
fn read(folder: &Path) -> Result<Vec<Group>> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "csv"));
    files.sort();
    let group = |file: &PathBuf| -> Result<Group> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let capacity = name.rsplit('.').next().and_then(|text| text.parse().ok());
        let capacity = capacity.ok_or("there is no capacity before the ending")?;
        let items = csv::read(BufReader::new(File::open(file)?))?.items;
        Ok(Group { name, instances: vec![Instance { items, capacity }] })
    };
    let named = |file: &PathBuf| group(file).map_err(|error| format!("{}: {error}", file.display()).into());
    files.iter().map(named).collect()
}

fn options(instance: &Instance) -> PlanConfig {
    PlanConfig::new().capacity(instance.capacity).nodes(NODES)
}

fn of_group(group: &Group, rounds: usize) -> String {
    let (mut sizes, mut times, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut solved, mut best) = (0, f64::INFINITY);
    for instance in &group.instances {
        let (micros, plan) = tenure(&instance.items, &options(instance), rounds);
        sizes.push(instance.items.len());
        times.push(micros / 1e3);
        nodes.push(plan.nodes);
        solved += u32::from(plan.peak <= instance.capacity);
        best = best.min(best_peer(instance) as f64 / instance.capacity as f64);
    }
    let count = group.instances.len();
    let (size, nodes) = (median(sizes).unwrap_or(0), median(nodes).unwrap_or(0));
    let (name, times) = (&group.name, figure(median(times), 1));
    format!("{name} | {size} | {solved} of {count} | {times} | {nodes} | {best:.3}")
}

/// The lowest peak of the other planners.
fn best_peer(instance: &Instance) -> u64 {
    let planners = peers::ALL.iter().filter(|peer| peer.is_planner);
    planners.map(|peer| (peer.peak)(&instance.items)).min().unwrap_or(0)
}

fn of_variants(name: &str, variants: impl Iterator<Item = Instance>) -> String {
    let (mut solved, mut in_time, mut times) = (0, 0, Vec::new());
    for instance in variants {
        let (micros, plan) = tenure(&instance.items, &options(&instance), 1);
        let is_solved = plan.peak <= instance.capacity;
        solved += u32::from(is_solved);
        in_time += u32::from(is_solved && micros <= 1e6);
        times.push(micros / 1e3);
    }
    times.sort_by(f64::total_cmp);
    let count = times.len();
    let percentile = |percent: usize| {
        times.get((count * percent / 100).min(count.saturating_sub(1))).copied().unwrap_or_default()
    };
    let [half, nine_tenths, most] = [50, 90, 100].map(percentile);
    let in_time = 100.0 * f64::from(in_time) / count.max(1) as f64;
    format!("{name} | {solved} of {count} | {in_time:.1} % | {half:.1} | {nine_tenths:.1} | {most:.1}")
}

#[cfg(test)]
mod tests {
    use super::{SHAPES, best_peer, of_shape};

    #[test]
    fn no_peer_solves_a_planted_instance() {
        for group in SHAPES.iter().map(|shape| of_shape(shape, 2)) {
            let is_hard = group.instances.iter().all(|instance| best_peer(instance) > instance.capacity);
            assert!(is_hard, "{}", group.name);
        }
    }
}
