//! Offsets in as many address spaces as the limits on their sizes need.

use core::ops::Range;
use std::collections::BTreeMap;

use tenure_plan::{Item, Options, PlanError, Stability, plan};

/// Something to be placed: a resource, or several as one block.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) life: Range<usize>,
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) class: u32,
    /// Where it was, if anywhere.
    pub(super) previous: Option<Spot>,
}

/// A place in one of the address spaces of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Which of its class the address space is.
    pub(super) ordinal: usize,
    pub(super) offset: u64,
}

/// Where parcels go.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    pub(super) spots: Vec<Spot>,
    /// No plan of these parcels has a lower peak; 0 if that is not known.
    pub(super) lower_bound: u64,
}

/// How large an address space of a class may be; without limit for one that is not there.
pub(super) type Limits = BTreeMap<u32, u64>;

/// Places the parcels. No parcel is larger than the limit of its class.
///
/// What ends above the limit goes to another address space of the same class, and all is planned again;
/// what was where no longer matters then, lest a heap is added to keep things in place.
pub(super) fn pack(parcels: &[Parcel], limits: &Limits, options: &Options) -> Result<Packed, PlanError> {
    let mut spaces = Spaces::default();
    let mut of_parcel: Vec<usize> = parcels.iter().map(|parcel| spaces.of(parcel.class, 0)).collect();
    let mut options = *options;
    loop {
        let pairs = parcels.iter().zip(&of_parcel);
        let items: Vec<Item> = pairs.map(|(parcel, &space)| parcel.item(space, &spaces)).collect();
        let plan = plan(&items, &options)?;
        let is_settled = options.stability == Stability::Ignored;
        let mut fits = true;
        for ((parcel, space), offset) in parcels.iter().zip(&mut of_parcel).zip(&plan.offsets) {
            let limit = limits.get(&parcel.class).copied().unwrap_or(u64::MAX);
            // What begins at 0 stays, so that this comes to an end.
            if *offset > 0 && offset.saturating_add(parcel.size) > limit {
                fits = false;
                if is_settled {
                    let ordinal = spaces.ordinal(*space);
                    *space = spaces.of(parcel.class, ordinal + 1);
                }
            }
        }
        if fits {
            let pairs = of_parcel.iter().zip(plan.offsets);
            let spots =
                pairs.map(|(&space, offset)| Spot { ordinal: spaces.ordinal(space), offset }).collect();
            // Other ways to divide a class between address spaces may leave less between resources.
            let is_whole = spaces.known.iter().all(|(_, ordinal)| *ordinal == 0);
            return Ok(Packed { spots, lower_bound: if is_whole { plan.lower_bound } else { 0 } });
        }
        options = options.stability(Stability::Ignored);
    }
}

impl Parcel {
    fn item(&self, space: usize, spaces: &Spaces) -> Item {
        let life = self.life.start as u64..self.life.end as u64;
        let class = u32::try_from(space).unwrap_or(u32::MAX);
        let item = Item::new(life, self.size).aligned(self.alignment).in_class(class);
        let is_here = |spot: &Spot| spot.ordinal == spaces.ordinal(space);
        self.previous.filter(is_here).map_or(item, |spot| item.previously_at(spot.offset))
    }
}

/// The address spaces in use: class, and which of it.
#[derive(Default)]
struct Spaces {
    known: Vec<(u32, usize)>,
    index: BTreeMap<(u32, usize), usize>,
}

impl Spaces {
    fn of(&mut self, class: u32, ordinal: usize) -> usize {
        *self.index.entry((class, ordinal)).or_insert_with(|| {
            self.known.push((class, ordinal));
            self.known.len() - 1
        })
    }

    fn ordinal(&self, space: usize) -> usize {
        self.known.get(space).map_or(0, |(_, ordinal)| *ordinal)
    }
}
