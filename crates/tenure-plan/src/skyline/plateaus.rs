//! The skyline, the upper edge of the placed items, as a row of plateaus, and the descent to the next plateau that is
//! lower than both neighbours.
//!
//! Such local minima do not share sections, so no item fits into two of them, and their order does not matter. No
//! queue is needed: from the last change the descent goes to lower neighbours, left first. To the left of the current
//! plateau, heights rise with the distance.

/// Plateaus over all sections, identified by their first section.
pub(super) struct Plateaus {
    /// The plateau that begins at each section, and the one that ends before it; one entry more than sections.
    edges: Vec<Edge>,
    /// The current plateau.
    at: u32,
}

/// A section at which a plateau begins.
#[derive(Clone, Copy)]
struct Edge {
    height: u64,
    /// The section after the last one of the plateau.
    end: u32,
    /// The first section of the plateau that ends before.
    before: u32,
}

/// The height outside all sections.
const BOUNDARY: u64 = u64::MAX;

impl Plateaus {
    /// One plateau of height 0, or the plateaus of `base`.
    pub(super) fn new(sections: usize, base: &[u64]) -> Self {
        let edge = Edge { height: BOUNDARY, end: sections as u32, before: 0 };
        let mut plateaus = Self { edges: vec![edge; sections + 1], at: 0 };
        plateaus.set(0, sections as u32, 0);
        let mut start = 0;
        for level in base.chunk_by(|a, b| a == b) {
            let end = start + level.len() as u32;
            plateaus.set(start, end, level[0]);
            start = end;
        }
        plateaus
    }

    /// The next plateau lower than both neighbours: start, end, height.
    pub(super) fn next(&mut self) -> (u32, u32, u64) {
        let mut start = self.at;
        let Edge { height, mut end, before } = self.edges[start as usize];
        let (mut height, mut before) = (height, before);
        loop {
            if start > 0 {
                let left = self.edges[before as usize];
                if left.height <= height {
                    if left.height < height {
                        end = start;
                        height = left.height;
                    } else {
                        self.set(before, end, height);
                    }
                    start = before;
                    before = left.before;
                    continue;
                }
            }
            let right = self.edges[end as usize];
            if right.height > height {
                self.at = start;
                return (start, end, height);
            }
            if right.height == height {
                end = right.end;
                self.set(start, end, height);
            } else {
                (before, start, end, height) = (start, end, right.end, right.height);
            }
        }
    }

    /// Sets `[from, to)` to the height `top`, in a plateau with `[start, end)` at `height`.
    pub(super) fn cut(&mut self, (start, end): (u32, u32), (from, to): (u32, u32), height: u64, top: u64) {
        self.set(from, to, top);
        if start < from {
            self.set(start, from, height);
        }
        if to < end {
            self.set(to, end, height);
        }
    }

    /// Raises the current plateau.
    pub(super) fn raise(&mut self, height: u64) {
        self.edges[self.at as usize].height = height;
    }

    /// The height of the current plateau's lower neighbour, if any.
    pub(super) fn lower_neighbour(&self) -> Option<u64> {
        let here = self.edges[self.at as usize];
        let left = if self.at > 0 { self.edges[here.before as usize].height } else { BOUNDARY };
        let least = left.min(self.edges[here.end as usize].height);
        (least < BOUNDARY).then_some(least)
    }

    fn set(&mut self, start: u32, end: u32, height: u64) {
        let edge = &mut self.edges[start as usize];
        edge.height = height;
        edge.end = end;
        self.edges[end as usize].before = start;
    }
}
