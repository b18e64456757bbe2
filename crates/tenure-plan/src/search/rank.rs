//! In which order the search tries items.

use core::ops::Range;

use super::Unit;
use super::arena::View;
use crate::mix::{log2, mix};
use crate::problem::Problem;

/// What an order looks at; greater is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchKey {
    /// The greatest load left during the item's life.
    Load,
    /// How long it lives.
    Width,
    /// How many sections it covers.
    Sections,
    /// Width times size.
    Area,
    /// How many others it overlaps.
    Overlaps,
    /// log2 of the most failures of a section during its life.
    Failures,
    /// The most failures of a section during its life.
    ExactFailures,
    /// log2 of the failures of the sections during its life.
    AllFailures,
    /// Its width, times a random factor between 1 and 2.
    NoisyWidth,
    /// Its area, times a random factor between 1 and e^2.
    NoisyArea,
}

/// An order.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    pub(super) keys: &'static [SearchKey],
    pub(super) seed: u64,
}

impl Guide {
    /// What of a state lies in a part of it, best first.
    pub(super) fn rank<T: Unit>(
        &self,
        problem: &Problem,
        view: View<'_, T>,
        failures: &[u32],
        part: &Range<usize>,
    ) -> Vec<usize> {
        let overlaps =
            if self.keys.contains(&SearchKey::Overlaps) { Overlaps::new(view) } else { Overlaps::default() };
        let value = |k: usize, key: SearchKey| {
            let item = view.item[k] as usize;
            let (start, end) = (problem.start[item], problem.end[item]);
            let (width, area) = (problem.width[item], problem.width[item].saturating_mul(problem.size[item]));
            let failures = &failures[start as usize..end as usize];
            let most = || u64::from(failures.iter().copied().max().unwrap_or(0));
            let noise = || mix(self.seed ^ (item as u64) << 32) >> 54;
            match key {
                SearchKey::Load => view.rem[view.range(k)].iter().copied().max().unwrap_or_default().units(),
                SearchKey::Width => width,
                SearchKey::Sections => u64::from(end - start),
                SearchKey::Area => area,
                SearchKey::Overlaps => overlaps.of(view, k),
                SearchKey::Failures => log2(most()) / 1024,
                SearchKey::ExactFailures => most(),
                SearchKey::AllFailures => log2(failures.iter().map(|&f| u64::from(f)).sum()) / 1024,
                SearchKey::NoisyWidth => width.saturating_mul(1024 + noise()),
                SearchKey::NoisyArea => log2(area) + noise() * 2955 / 1024,
            }
        };
        let members = (0..view.len()).filter(|&k| part.contains(&view.start[k].index()));
        let mut ranked: Vec<_> = members
            .map(|k| {
                let mut keys = [0; 3];
                for (slot, &key) in keys.iter_mut().zip(self.keys) {
                    *slot = !value(k, key);
                }
                (keys, view.item[k], k)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., k)| k).collect()
    }
}

/// How many items of a state have begun, and ended, up to each section.
#[derive(Default)]
struct Overlaps {
    begun: Vec<u64>,
    ended: Vec<u64>,
}

impl Overlaps {
    fn new<T: Unit>(view: View<'_, T>) -> Self {
        let sections = view.rem.len();
        let mut counts = Self { begun: vec![0; sections + 1], ended: vec![0; sections + 1] };
        for k in 0..view.len() {
            let range = view.range(k);
            counts.begun[range.start + 1] += 1;
            counts.ended[range.end] += 1;
        }
        for x in 0..sections {
            counts.begun[x + 1] += counts.begun[x];
            counts.ended[x + 1] += counts.ended[x];
        }
        counts
    }

    /// How many items overlap this one, itself included: those that begin before it ends, less those
    /// that end before it begins.
    fn of<T: Unit>(&self, view: View<'_, T>, k: usize) -> u64 {
        let range = view.range(k);
        self.begun[range.end] - self.ended[range.start]
    }
}
