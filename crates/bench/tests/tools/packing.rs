//! The general allocator packs like best fit.

use bench::suballoc;
use bench::suballoc::peers::{self, Contender, PACKING_REFERENCE};
use bench::suballoc::workloads::{self, Scale};

/// How much more memory than best fit it may need, in the mean of the seeds.
const MARGIN: f64 = 1.01;

fn peer(name: &str) -> Contender {
    let named = peers::all().into_iter().find(|peer| peer.name == name);
    named.unwrap_or_else(|| panic!("no peer is called {name}"))
}

fn mean_packing(peer: &Contender, workload: usize) -> f64 {
    let seeds = 1..=4;
    let count = seeds.clone().count() as f64;
    let packing = |seed| {
        let trace = &workloads::all(seed, Scale::Short)[workload];
        suballoc::packing(peer, trace).unwrap_or_else(|| panic!("{} does not fit", trace.name))
    };
    seeds.map(packing).sum::<f64>() / count
}

#[test]
fn general_needs_no_more_than_best_fit() {
    let (general, best_fit) = (peer("General"), peer(PACKING_REFERENCE));
    for (workload, trace) in workloads::all(1, Scale::Short).iter().enumerate() {
        let (ours, best) = (mean_packing(&general, workload), mean_packing(&best_fit, workload));
        println!("{}: {ours:.3}, best fit {best:.3}", trace.name);
        assert!(ours <= best * MARGIN, "{}: {ours:.3} against {best:.3}", trace.name);
    }
}
