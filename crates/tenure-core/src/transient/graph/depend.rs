//! What each pass must wait for: the declaration's rules, between two passes at a time.

use super::flow::{Flow, writes};
use super::grouped::Grouped;

/// The earlier passes that each pass depends on directly. Passes on one queue follow each other anyway.
///
/// A read depends on the write before it, a write on the reads since the write before it and on that one.
pub(super) fn dependencies(flow: &Flow) -> Grouped<usize> {
    let mut resources = vec![Since::default(); flow.resources];
    let mut found = Grouped::new();
    for (pass, uses) in flow.uses.iter().enumerate() {
        let mut direct: Vec<usize> = flow.after.get(pass).to_vec();
        for one in uses {
            let since = &mut resources[one.resource.index()];
            direct.extend(since.write);
            if writes(one.states) {
                direct.append(&mut since.reads);
                since.write = Some(pass);
            } else {
                since.reads.push(pass);
            }
        }
        direct.sort_unstable();
        direct.dedup();
        for earlier in direct {
            found.push(earlier);
        }
        found.finish();
    }
    found
}

/// The last write of a resource, and the reads since.
#[derive(Clone, Default)]
struct Since {
    write: Option<usize>,
    reads: Vec<usize>,
}
