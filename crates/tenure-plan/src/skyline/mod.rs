//! Plans in one pass: always fill the lowest place next.
//!
//! What has been placed has an upper edge, a row of plateaus. One that is lower than its neighbours
//! takes the first item in an order that lies within its sections, and falls into what remains to the
//! left, the item, and what remains to the right; if no item fits, it rises to its lower neighbour and
//! merges with it.

mod bits;
mod cells;
mod pins;
mod plateaus;

use crate::problem::Problem;
use bits::Bits;
use cells::Cells;
use pins::Pins;
use plateaus::Plateaus;

/// Where everything is put, in units, and the peak in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Placing {
    pub(crate) offsets: Vec<u64>,
    pub(crate) peak: u64,
}

/// A place: its sections, and how many of the alignments, from the finest on, suit its height.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
    levels: usize,
}

/// What has not been placed yet.
trait Left {
    /// Takes the first item in order that lies within a place, whose alignment suits it, and that
    /// `fits`.
    fn take(&mut self, place: Place, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32>;

    /// The rank of the first item in order that lies within a place, whatever its alignment.
    fn first(&self, place: Place) -> Option<u32>;

    /// The same of those whose alignment suits the place.
    fn suited(&self, place: Place) -> Option<u32>;

    /// The first of the further levels at which an item lies within a place, where the item of the rank
    /// `within` does.
    fn next_level(&self, place: Place, within: u32) -> Option<usize>;

    /// The item of a rank.
    fn item(&self, rank: u32) -> u32;

    /// Takes the item of a rank in the order, which is still there.
    fn remove(&mut self, rank: u32) -> u32;
}

/// What becomes of a place.
enum Next {
    /// The item comes to lie in it.
    Item(u32),
    /// It rises, if not to this level then to something else.
    Rise(Option<usize>),
}

/// How a pass ended.
pub(crate) struct Pass {
    /// The plan, unless the pass gave up.
    pub(crate) placing: Option<Placing>,
    /// How many items got a place.
    pub(crate) placed: u64,
    /// The first item that came to end above the goal.
    pub(crate) above: Option<u32>,
}

/// Makes plans of a problem by one order after the other.
pub(crate) struct Skyline<'a> {
    problem: &'a Problem,
    /// Whether every height will do, everywhere.
    is_plain: bool,
    pins: Pins,
    /// The alignments, from the finest on; empty if every height will do.
    levels: Vec<u64>,
    /// So much may stay empty below an item for the sake of its alignment, when it comes first.
    waste: u64,
    cells: Option<Cells>,
}

/// Up to this many items sets of bits are faster.
pub(crate) const FEW: usize = 1024;

/// Which part of the greatest load may stay empty below an item.
const WASTE: u64 = 200;

impl<'a> Skyline<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let mut levels = problem.align.clone();
        levels.sort_unstable();
        levels.dedup();
        let waste = problem.load.iter().copied().max().unwrap_or(0) / WASTE;
        let is_plain = problem.is_plain();
        Self { problem, is_plain, pins: Pins::new(&problem.pins), levels, waste, cells: None }
    }

    /// Of all items that could come next, the one with the lowest possible offset does; of several,
    /// the first in `order`. Gives up where the peak would reach `ceiling` bytes, or when told to stop.
    pub(crate) fn pass(
        &mut self,
        order: &[u32],
        ceiling: u64,
        stop: impl FnMut() -> bool,
    ) -> Option<Placing> {
        self.pass_towards(u64::MAX, order, ceiling, stop).placing
    }

    /// The same, and what was in the way of a peak of `goal` bytes.
    pub(crate) fn pass_towards(
        &mut self,
        goal: u64,
        order: &[u32],
        ceiling: u64,
        mut stop: impl FnMut() -> bool,
    ) -> Pass {
        if self.problem.len() <= FEW {
            let mut bits = Bits::new(self.problem, &self.levels, order);
            return self.fill(&mut bits, (goal, ceiling), &mut stop);
        }
        let mut cells = self.cells.take().unwrap_or_else(|| Cells::new(self.problem, &self.levels));
        cells.refill(order);
        let pass = self.fill(&mut cells, (goal, ceiling), &mut stop);
        self.cells = Some(cells);
        pass
    }

    fn fill(
        &self,
        left: &mut impl Left,
        (goal, ceiling): (u64, u64),
        stop: &mut impl FnMut() -> bool,
    ) -> Pass {
        let problem = self.problem;
        let mut plateaus = Plateaus::new(problem.sections(), &problem.base);
        let mut offsets = vec![0; problem.len()];
        let mut peak = problem.pinned_top();
        let mut pass = Pass { placing: None, placed: 0, above: None };
        let mut steps = 0u32;
        while pass.placed < problem.len() as u64 {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(256) && stop() {
                return pass;
            }
            let (start, end, height) = plateaus.next();
            if !self.is_plain
                && let Some((from, to, top)) = self.pins.reached(start, end, height)
            {
                plateaus.cut((start, end), (from, to), height, top);
                continue;
            }
            let place = Place { start, end, levels: self.levels_at(height) };
            let item = match self.next(left, place, height) {
                Next::Item(item) => item,
                Next::Rise(level) => {
                    let Some(height) = self.rise(&plateaus, place, height, level) else { return pass };
                    plateaus.raise(height);
                    continue;
                }
            };
            let at = item as usize;
            let end_of_item = problem.top(at, height);
            peak = peak.max(end_of_item);
            if end_of_item > goal {
                pass.above = pass.above.or(Some(item));
            }
            if peak >= ceiling {
                return pass;
            }
            offsets[at] = height;
            pass.placed += 1;
            let (from, to, top) = (problem.start[at], problem.end[at], height + problem.size[at]);
            plateaus.cut((start, end), (from, to), height, top);
        }
        pass.placing = Some(Placing { offsets, peak });
        pass
    }

    fn levels_at(&self, height: u64) -> usize {
        self.levels.iter().take_while(|&&level| height.is_multiple_of(level)).count()
    }

    fn next(&self, left: &mut impl Left, place: Place, height: u64) -> Next {
        if self.is_plain {
            return left.take(place, None).map_or(Next::Rise(None), Next::Item);
        }
        let bottom = self.pins.bottom_above(place.start, place.end, height);
        if place.levels == self.levels.len() {
            let item = match bottom {
                None => left.take(place, None),
                Some(bottom) => self.take_below_pins(left, place, height, bottom),
            };
            return item.map_or(Next::Rise(None), Next::Item);
        }
        let Some(first) = left.first(place) else { return Next::Rise(None) };
        let gap = self.gap(left.item(first), height);
        if 0 < gap && gap <= self.waste {
            // It can be there as soon as the place has risen a little.
            return Next::Rise(left.next_level(place, first));
        }
        let suited = match bottom {
            None if gap == 0 => Some(left.remove(first)),
            None => left.suited(place).map(|rank| left.remove(rank)),
            Some(bottom) => self.take_below_pins(left, place, height, bottom),
        };
        suited.map_or_else(|| Next::Rise(left.next_level(place, first)), Next::Item)
    }

    /// Takes the first item that ends below what is pinned above it, of which the lowest begins at
    /// `lowest` in all of the place.
    fn take_below_pins(&self, left: &mut impl Left, place: Place, height: u64, lowest: u64) -> Option<u32> {
        let fits = |item: u32| {
            let item = item as usize;
            let (start, end, top) =
                (self.problem.start[item], self.problem.end[item], height + self.problem.size[item]);
            top <= lowest || self.pins.bottom_above(start, end, height).is_none_or(|bottom| top <= bottom)
        };
        left.take(place, Some(&fits))
    }

    /// How far an item's alignment is above a height.
    fn gap(&self, item: u32, height: u64) -> u64 {
        height.next_multiple_of(self.problem.align(item as usize)) - height
    }

    /// How high a place rises in which nothing fits: to its lower neighbour, to what is pinned above
    /// it, or to where something that needs a coarser alignment does fit.
    fn rise(&self, plateaus: &Plateaus, place: Place, height: u64, level: Option<usize>) -> Option<u64> {
        let shore = plateaus.shore();
        if self.is_plain {
            return shore;
        }
        let bottom = self.pins.bottom_above(place.start, place.end, height);
        let aligned = level.map(|level| height.next_multiple_of(self.levels[level]));
        shore.into_iter().chain(bottom).chain(aligned).min()
    }
}
