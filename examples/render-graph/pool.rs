//! The first solution of most engines: a pool in which a resource reuses an earlier one with an equal
//! description.

use deferred_frame::DeferredFrame;
use tenure::device::ResourceDesc;
use tenure::transient::graph::{Compiled, ResourceId};

/// A resource of the pool.
struct Pooled {
    desc: ResourceDesc,
    bytes: u64,
    user: Option<ResourceId>,
}

/// Bytes of a pool for the frame, as if its passes ran one after the other.
pub(crate) fn bytes(frame: &DeferredFrame, compiled: &Compiled) -> u64 {
    let mut pool: Vec<Pooled> = Vec::new();
    let lives = lives(frame);
    for pass in 0..frame.passes().len() {
        for ((id, desc), [first, _]) in frame.resources().iter().zip(&lives) {
            let Some(need) = compiled.need(*id).filter(|_| *first == pass) else { continue };
            let desc = desc.to_resource_desc();
            match pool.iter_mut().find(|pooled| pooled.user.is_none() && pooled.desc == desc) {
                Some(pooled) => pooled.user = Some(*id),
                None => pool.push(Pooled { desc, bytes: need.size, user: Some(*id) }),
            }
        }
        for ((id, _), [_, last]) in frame.resources().iter().zip(&lives) {
            if *last == pass {
                let used = pool.iter_mut().filter(|pooled| pooled.user == Some(*id));
                used.for_each(|pooled| pooled.user = None);
            }
        }
    }
    pool.iter().map(|pooled| pooled.bytes).sum()
}

/// The first and the last pass of each resource.
pub(crate) fn lives(frame: &DeferredFrame) -> Vec<[usize; 2]> {
    let mut lives = vec![[usize::MAX, 0]; frame.resources().len()];
    for (pass, uses) in frame.passes().iter().map(|pass| &pass.uses).enumerate() {
        for (resource, _) in uses {
            if let Some([first, last]) = lives.get_mut(*resource) {
                (*first, *last) = (pass.min(*first), pass.max(*last));
            }
        }
    }
    lives
}
