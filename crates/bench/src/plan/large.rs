//! Many items at random.

use tenure_plan::{Item, Options};

use super::measure::{table, tenure, timed};
use super::peers;
use super::random::{Lifetimes, random};

const SEEDS: u64 = 5;

pub(super) fn report(rounds: usize, with_million: bool) -> String {
    use Lifetimes::{Mixed, Short, Uniform};

    let mut rows = Vec::new();
    for lifetimes in [Short, Uniform, Mixed] {
        rows.push(of_tenure(lifetimes, 10_000, (0, SEEDS), rounds));
        rows.push(of_tenure(lifetimes, 10_000, (30_000, SEEDS), rounds));
        rows.push(of_tenure(lifetimes, 10_000, (120_000, SEEDS), rounds));
    }
    for lifetimes in [Short, Uniform, Mixed] {
        rows.push(of_tenure(lifetimes, 100_000, (0, SEEDS), 1));
        rows.push(of_tenure(lifetimes, 100_000, (200_000, SEEDS), 1));
    }
    if with_million {
        for lifetimes in [Short, Uniform, Mixed] {
            rows.push(of_tenure(lifetimes, 1_000_000, (0, 2), 1));
        }
    }
    for lifetimes in [Short, Uniform, Mixed] {
        rows.extend(of_peers(lifetimes, 10_000));
    }
    let header = ["planner", "items", "lifetimes", "peak / bound, mean", "max", "ms, mean", "ms, max"];
    format!("Random items, log-uniform sizes.\n\n{}\n", table(&header, rows))
}

fn of_tenure(lifetimes: Lifetimes, count: u64, (nodes, seeds): (u64, u64), rounds: usize) -> Vec<String> {
    let name = match nodes {
        0 => "tenure, one pass".to_owned(),
        nodes => format!("tenure, {nodes} placements more"),
    };
    let measured = |seed| {
        let items = random(lifetimes, count, seed);
        let (micros, plan) = tenure(&items, &Options::new().nodes(nodes), rounds);
        (plan.peak as f64 / plan.lower_bound as f64, micros / 1e3)
    };
    row(&name, count, lifetimes, &(0..seeds).map(measured).collect::<Vec<_>>())
}

/// Those that take seconds have a try.
fn of_peers(lifetimes: Lifetimes, count: u64) -> Vec<Vec<String>> {
    let items: Vec<Item> = random(lifetimes, count, 0);
    let bound = tenure(&items, &Options::new().nodes(0), 1).1.lower_bound;
    let planners = peers::all().into_iter().filter(|peer| peer.is_planner && !peer.name.contains("climb"));
    let measured = |peer: peers::Peer| {
        let (micros, peak) = timed(1, || (peer.peak)(&items));
        row(peer.name, count, lifetimes, &[(peak as f64 / bound as f64, micros / 1e3)])
    };
    planners.map(measured).collect()
}

fn row(name: &str, count: u64, lifetimes: Lifetimes, measured: &[(f64, f64)]) -> Vec<String> {
    let mean = |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
    let most = |of: fn(&(f64, f64)) -> f64| measured.iter().map(of).fold(0.0, f64::max);
    vec![
        name.to_owned(),
        count.to_string(),
        format!("{lifetimes:?}").to_lowercase(),
        format!("{:.4}", mean(|it| it.0)),
        format!("{:.4}", most(|it| it.0)),
        format!("{:.1}", mean(|it| it.1)),
        format!("{:.1}", most(|it| it.1)),
    ]
}
