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

#[test]
fn general_needs_no_more_than_best_fit() {
    let (general, best_fit) = (peer("General"), peer(PACKING_REFERENCE));
    // By workload: its name, and the sums over the seeds.
    let mut sums: Vec<(String, f64, f64)> = Vec::new();
    for seed in 1..=4 {
        for (workload, trace) in workloads::all(seed, Scale::Short).iter().enumerate() {
            let packing = |peer: &Contender| {
                suballoc::packing(peer, trace).unwrap_or_else(|| panic!("{} does not fit", trace.name))
            };
            if sums.len() == workload {
                sums.push((trace.name.to_string(), 0.0, 0.0));
            }
            let (_, ours, best) = &mut sums[workload];
            *ours += packing(&general);
            *best += packing(&best_fit);
        }
    }
    for (name, ours, best) in sums {
        println!("{name}: {:.3}, best fit {:.3}", ours / 4.0, best / 4.0);
        assert!(ours <= best * MARGIN, "{name}: {:.3} against {:.3}", ours / 4.0, best / 4.0);
    }
}
