//! Where the resources of one graph were in the plan of another.

use rustc_hash::FxHashMap;

use super::layout::Layout;
use super::pack::Spot;
use super::{Compiled, Need, TransientDesc};

/// Where the resources of a graph were in the plan of another one: those that have the same name,
/// description and class. Of several that are declared alike, the first is the first, and so on.
pub(super) fn places(descs: &[TransientDesc], needs: &[Option<Need>], other: &Compiled) -> Vec<Option<Spot>> {
    let mut known: FxHashMap<&TransientDesc, Vec<(u32, Spot)>> = FxHashMap::default();
    for (index, desc) in other.graph().resources.iter().enumerate().rev() {
        if let Some(spot) = other.plan.layout.spot(index) {
            known.entry(desc).or_default().push(spot);
        }
    }
    let find = |(desc, need): (&TransientDesc, &Option<Need>)| {
        let need = (*need)?;
        let (class, spot) = known.get_mut(desc)?.pop()?;
        (class == need.class && class != Need::ALONE).then_some(spot)
    };
    descs.iter().zip(needs).map(find).collect()
}

/// How many resources that were somewhere are elsewhere now.
pub(super) fn moved(previous: &[Option<Spot>], layout: &Layout) -> usize {
    let is_moved = |(resource, spot): (usize, &Option<Spot>)| {
        spot.is_some_and(|spot| layout.spot(resource).is_none_or(|(_, now)| now != spot))
    };
    previous.iter().enumerate().filter(|pair| is_moved(*pair)).count()
}
