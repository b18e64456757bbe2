//! The general allocator packs like best fit.

use bench::suballoc;
use bench::suballoc::peers::{self, PACKING_REFERENCE};
use bench::suballoc::workloads::{NAMES, Scale, named};

/// How much more memory than best fit it may need, in the mean of the seeds.
const MARGIN: f64 = 1.01;

#[test]
fn general_needs_no_more_than_best_fit() {
    let peers = peers::all();
    for workload in NAMES {
        let [ours, best] = ["General", PACKING_REFERENCE].map(|name| {
            let peer = peers.iter().find(|peer| peer.name == name).unwrap();
            let packing =
                |seed| suballoc::packing(peer, &named(workload, seed, Scale::Short).unwrap()).unwrap();
            (1..=4).map(packing).sum::<f64>() / 4.0
        });
        println!("{workload}: {ours:.3}, best fit {best:.3}");
        assert!(ours <= best * MARGIN, "{workload}: {ours:.3} against {best:.3}");
    }
}
