//! One-pass plans by the skyline heuristic, which always fills the lowest segment next.
//!
//! The upper edge of the placed items is a row of plateaus. A plateau lower than its neighbours takes the first item,
//! in some order, that fits within its sections. This divides it into a rest on the left, the item, and a rest on the
//! right. If no item fits, it rises to its lower neighbour and merges with it.

mod bits;
mod cells;
mod pins;
mod plateaus;

use crate::problem::Problem;
use bits::Bits;
use cells::Cells;
use pins::Pins;
use plateaus::Plateaus;

/// The offsets of all items in units, and the peak in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) offsets: Vec<u64>,
    pub(crate) peak: u64,
}

/// A segment of the skyline: its sections, and the number of alignments, from the finest, that suit its height.
#[derive(Clone, Copy)]
struct Segment {
    start: u32,
    end: u32,
    levels: usize,
}

/// The unplaced items.
trait Unplaced {
    /// Takes the first item in order that lies within a segment, has a suitable alignment, and `fits`.
    fn take(&mut self, segment: Segment, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32>;

    /// The rank of the first item in order within a segment, for any alignment.
    fn first(&self, segment: Segment) -> Option<u32>;

    /// The rank of the first item with a suitable alignment.
    fn suited(&self, segment: Segment) -> Option<u32>;

    /// The first coarser level with an item within a segment. The item of the rank `within` must be in the segment.
    fn next_level(&self, segment: Segment, within: u32) -> Option<usize>;

    /// The item of a rank.
    fn item(&self, rank: u32) -> u32;

    /// Takes the unplaced item of a rank.
    fn remove(&mut self, rank: u32) -> u32;
}

/// The next action for a segment.
enum Next {
    /// The item is placed in it.
    Item(u32),
    /// The segment rises: to a multiple of this level, its lower neighbour or a pinned item, whichever is lowest.
    Rise(Option<usize>),
}

/// The result of a pass.
pub(crate) struct Pass {
    /// The plan, unless the pass gave up.
    pub(crate) layout: Option<Layout>,
    /// The number of placed items.
    pub(crate) placed: u64,
    /// The first item that ends above the goal.
    pub(crate) above: Option<u32>,
}

/// Makes plans of a problem with different orders.
pub(crate) struct Skyline<'a> {
    problem: &'a Problem,
    /// Whether every height suits every item.
    is_plain: bool,
    pins: Pins,
    /// The alignments, finest first; empty if every height suits every item.
    levels: Vec<u64>,
    /// The units that may stay empty below the first item because of its alignment.
    waste: u64,
    cells: Option<Cells>,
}

/// The number of items up to which bit sets are faster than a tree.
pub(crate) const FEW: usize = 1024;

/// The fraction of the greatest load that may stay empty below an item.
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

    pub(crate) const fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Places items by lowest possible offset; on a tie the first in `order`. Gives up if the peak would reach
    /// `ceiling` bytes, or if `stop` returns true.
    pub(crate) fn pass(&mut self, order: &[u32], ceiling: u64, stop: impl FnMut() -> bool) -> Option<Layout> {
        self.pass_towards(u64::MAX, order, ceiling, stop).layout
    }

    /// Like [`pass`](Self::pass), and reports the first item that ends above `goal` bytes.
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
        unplaced: &mut impl Unplaced,
        (goal, ceiling): (u64, u64),
        stop: &mut impl FnMut() -> bool,
    ) -> Pass {
        let problem = self.problem;
        let mut plateaus = Plateaus::new(problem.sections(), &problem.base);
        let mut offsets = vec![0; problem.len()];
        let mut peak = problem.pinned_top();
        let mut pass = Pass { layout: None, placed: 0, above: None };
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
            let segment = Segment { start, end, levels: self.levels_at(height) };
            let item = match self.next(unplaced, segment, height) {
                Next::Item(item) => item,
                Next::Rise(level) => {
                    let Some(height) = self.rise(&plateaus, segment, height, level) else { return pass };
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
        pass.layout = Some(Layout { offsets, peak });
        pass
    }

    fn levels_at(&self, height: u64) -> usize {
        self.levels.iter().take_while(|&&level| height.is_multiple_of(level)).count()
    }

    fn next(&self, unplaced: &mut impl Unplaced, segment: Segment, height: u64) -> Next {
        if self.is_plain {
            return unplaced.take(segment, None).map_or(Next::Rise(None), Next::Item);
        }
        let bottom = self.pins.bottom_above(segment.start, segment.end, height);
        if segment.levels == self.levels.len() {
            let item = match bottom {
                None => unplaced.take(segment, None),
                Some(bottom) => self.take_below_pins(unplaced, segment, height, bottom),
            };
            return item.map_or(Next::Rise(None), Next::Item);
        }
        let Some(first) = unplaced.first(segment) else { return Next::Rise(None) };
        let gap = self.gap(unplaced.item(first), height);
        if 0 < gap && gap <= self.waste {
            // It can be placed after the segment has risen a little.
            return Next::Rise(unplaced.next_level(segment, first));
        }
        let suited = match bottom {
            None if gap == 0 => Some(unplaced.remove(first)),
            None => unplaced.suited(segment).map(|rank| unplaced.remove(rank)),
            Some(bottom) => self.take_below_pins(unplaced, segment, height, bottom),
        };
        suited.map_or_else(|| Next::Rise(unplaced.next_level(segment, first)), Next::Item)
    }

    /// Takes the first item that ends below the items pinned above it. The lowest of those in the whole segment
    /// begins at `lowest`.
    fn take_below_pins(
        &self,
        unplaced: &mut impl Unplaced,
        segment: Segment,
        height: u64,
        lowest: u64,
    ) -> Option<u32> {
        let fits = |item: u32| {
            let item = item as usize;
            let (start, end, top) =
                (self.problem.start[item], self.problem.end[item], height + self.problem.size[item]);
            top <= lowest || self.pins.bottom_above(start, end, height).is_none_or(|bottom| top <= bottom)
        };
        unplaced.take(segment, Some(&fits))
    }

    /// The distance from a height to the next multiple of an item's alignment.
    fn gap(&self, item: u32, height: u64) -> u64 {
        height.next_multiple_of(self.problem.align(item as usize)) - height
    }

    /// The new height of a segment in which no item fits: that of its lower neighbour, of the lowest pinned item
    /// above it, or one at which an item with a coarser alignment fits.
    fn rise(&self, plateaus: &Plateaus, segment: Segment, height: u64, level: Option<usize>) -> Option<u64> {
        let lower_neighbour = plateaus.lower_neighbour();
        if self.is_plain {
            return lower_neighbour;
        }
        let bottom = self.pins.bottom_above(segment.start, segment.end, height);
        let aligned = level.map(|level| height.next_multiple_of(self.levels[level]));
        lower_neighbour.into_iter().chain(bottom).chain(aligned).min()
    }
}
