//! Frames of a renderer.

use std::fmt::Write;
use std::time::Duration;

use tenure_plan::{Item, Options};

use super::measure::{TALLY_HEADER, Tally, table, tenure, timed};
use super::{ROUNDS, peers, sources};

pub(super) fn report() -> String {
    let frames: Vec<Vec<Item>> = sources::frames().into_iter().map(|(_, items)| items).collect();
    let mut text = format!(
        "Frames: {} with {:.0} resources on average. Peak over lower bound, and time for a plan.\n\n",
        frames.len(),
        frames.iter().map(Vec::len).sum::<usize>() as f64 / frames.len().max(1) as f64
    );
    let mut rows = peer_rows(&frames);
    rows.extend(tenure_rows(&frames, 20 * ROUNDS));
    let _infallible = writeln!(text, "{}\n", table(&TALLY_HEADER, rows));
    let variants: Vec<Vec<Item>> = (0..)
        .zip(&frames)
        .flat_map(|(seed, items)| {
            let mirrored = sources::mirrored(items);
            let thinned = [seed, seed + 1000].map(|seed| sources::thinned(items, seed));
            [mirrored, sources::shuffled(items, seed)].into_iter().chain(thinned)
        })
        .collect();
    let _infallible = writeln!(
        text,
        "The same frames mirrored in time, shuffled, and twice without 3 to 10 % of the resources.\n\n{}\n",
        table(&TALLY_HEADER, tenure_rows(&variants, 4 * ROUNDS))
    );
    text
}

fn peer_rows(frames: &[Vec<Item>]) -> Vec<Vec<String>> {
    let measured = |peer: peers::Peer| {
        let mut tally = Tally::default();
        for items in frames {
            let bound = tenure(items, &Options::new().nodes(0), 1).1.lower_bound;
            let (micros, peak) = timed(3, || (peer.peak)(items));
            tally.add(peak, bound, micros);
        }
        tally.row(peer.name)
    };
    peers::all().into_iter().map(measured).collect()
}

fn tenure_rows(frames: &[Vec<Item>], rounds: usize) -> Vec<Vec<String>> {
    let within = |micros| Options::new().time(Duration::from_micros(micros));
    let efforts = [
        ("tenure, one pass", Options::new().nodes(0)),
        ("tenure, within 100 µs", within(100)),
        ("tenure, within 500 µs", within(500)),
        ("tenure, by default", Options::new()),
    ];
    let measured = |(name, options): (&str, Options)| {
        let mut tally = Tally::default();
        for items in frames {
            let (micros, plan) = tenure(items, &options, rounds);
            tally.add(plan.peak, plan.lower_bound, micros);
        }
        tally.row(name)
    };
    efforts.into_iter().map(measured).collect()
}
