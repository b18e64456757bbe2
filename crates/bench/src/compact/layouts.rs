//! Layouts to compact: each a list of requests and frees.

use std::path::PathBuf;

use tenure_trace::{Kind, Layout, MemoryKind, Workload, generate};
use test_random::Rng;

use crate::Result;
use crate::recordings::scripts;
use crate::script::{Call, Request, Script};

const KIB: u64 = 1 << 10;

const MADE: [&str; 2] = ["a tenth of 10,000 live", "a third of 60,000 live"];

/// True for a generated layout, with enough blocks for dense compaction.
pub(super) fn is_made(script: &Script) -> bool {
    MADE.contains(&script.name.as_str())
}

/// The generated layouts, and those of recordings.
///
/// # Errors
/// A recording cannot be read.
pub(super) fn all(files: &[PathBuf]) -> Result<Vec<Script>> {
    let mut all = vec![
        thinned(MADE[0], 10_000, 32 * KIB..72 * KIB, 10),
        thinned(MADE[1], 60_000, 512..32 * KIB, 3),
        sparsest(Script::new("fragment", generate(Workload::Fragment, 7, 40_000).map(Ok))?),
    ];
    all.extend(scripts(files)?.into_iter().map(sparsest));
    Ok(all)
}

/// `count` allocations, and frees at random of all except one in `left`.
fn thinned(name: &str, count: usize, sizes: std::ops::Range<u64>, left: u64) -> Script {
    let (mut rng, kind) = (Rng::new(1), Kind::new(MemoryKind::GpuOnly, Layout::Linear));
    let mut size = || sizes.start + rng.below(sizes.end - sizes.start);
    let requests: Vec<_> = (0..count).map(|_| Request { size: size(), align: 256, kind }).collect();
    let peak_bytes = requests.iter().map(|request| request.size).sum();
    let mut calls: Vec<_> =
        requests.into_iter().enumerate().map(|(slot, request)| Call::Allocate { slot, request }).collect();
    calls.extend((0..count).filter(|_| rng.below(left) > 0).map(|slot| Call::Free { slot }));
    Script { name: name.to_owned(), calls, slots: count, peak_bytes, own: None }
}

/// A script up to the point with the most freed bytes since its peak.
fn sparsest(mut script: Script) -> Script {
    let mut sizes = vec![0; script.slots];
    let (mut live, mut peak, mut most, mut end) = (0_u64, 0, 0, 0);
    for (index, call) in script.calls.iter().enumerate() {
        match call {
            Call::Allocate { slot, request } => {
                sizes[*slot] = request.size;
                live += request.size;
            }
            Call::Free { slot } => live -= std::mem::take(&mut sizes[*slot]),
            Call::EndFrame => {}
        }
        peak = live.max(peak);
        // The rest must not be negligible.
        if peak - live >= most && live * 20 >= peak {
            (most, end) = (peak - live, index + 1);
        }
    }
    script.calls.truncate(end);
    script
}
