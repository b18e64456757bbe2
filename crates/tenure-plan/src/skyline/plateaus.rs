//! The upper edge of what has been placed: plateaus side by side, and a way from one that is lower
//! than both its neighbours to the next.
//!
//! Such plateaus do not share sections, so that no item fits into two of them: it does not matter
//! which comes first. The way thus needs no queue: from where something has changed it goes down, to
//! the left first. All that lies to the left of a place on the way is higher the further it is away.

/// Plateaus over all sections. A plateau is named by its first section.
pub(super) struct Plateaus {
    /// What begins at each section, and what ends before it; one more than there are sections.
    edges: Vec<Edge>,
    /// Where the way has come to.
    at: u32,
}

/// A section at which a plateau begins.
#[derive(Clone, Copy)]
struct Edge {
    height: u64,
    /// The section after the last one of the plateau.
    end: u32,
    /// The beginning of the plateau that ends before.
    before: u32,
}

/// Beyond the first and the last section.
const SHORE: u64 = u64::MAX;

impl Plateaus {
    /// One plateau of height 0, or what `base` says.
    pub(super) fn new(sections: usize, base: &[u64]) -> Self {
        let edge = Edge { height: SHORE, end: sections as u32, before: 0 };
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

    /// The next plateau that is lower than both its neighbours: start, end, height.
    pub(super) fn next(&mut self) -> (u32, u32, u64) {
        let mut start = self.at;
        let Edge { height, mut end, before } = self.edges[start as usize];
        let (mut height, mut before) = (height, before);
        loop {
            // What is to the left.
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

    /// Puts `[from, to)` at another height, where a plateau has `[start, end)` at `height`.
    pub(super) fn cut(&mut self, (start, end): (u32, u32), (from, to): (u32, u32), height: u64, top: u64) {
        self.set(from, to, top);
        if start < from {
            self.set(start, from, height);
        }
        if to < end {
            self.set(to, end, height);
        }
    }

    /// Raises the plateau that the way has come to.
    pub(super) fn raise(&mut self, height: u64) {
        self.edges[self.at as usize].height = height;
    }

    /// The height of the lower neighbour of what the way has come to, if there is any.
    pub(super) fn shore(&self) -> Option<u64> {
        let here = self.edges[self.at as usize];
        let left = if self.at > 0 { self.edges[here.before as usize].height } else { SHORE };
        let least = left.min(self.edges[here.end as usize].height);
        (least < SHORE).then_some(least)
    }

    fn set(&mut self, start: u32, end: u32, height: u64) {
        let edge = &mut self.edges[start as usize];
        edge.height = height;
        edge.end = end;
        self.edges[end as usize].before = start;
    }
}
