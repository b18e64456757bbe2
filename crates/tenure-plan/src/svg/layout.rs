//! The layout of a picture.

use std::collections::BTreeMap;

use super::Picture;
use super::text;

pub(super) const WIDTH: f64 = 1000.0;
/// The font size of labels.
pub(super) const FONT: f64 = 11.0;
/// The left edge of the plan.
pub(super) const LEFT: f64 = 78.0;
const RIGHT: f64 = 820.0;
const TOP: f64 = 64.0;
/// The height of all spaces, including the gaps between them.
const SPACES: f64 = 520.0;
const GAP: f64 = 26.0;
/// The minimum height of a space with labels.
const LEAST: f64 = 40.0;
/// The maximum number of spaces with labels. The picture grows with their number only up to this.
const LABELLED_SPACES: usize = 24;
/// The height of a queue's row.
pub(super) const QUEUE_ROW: f64 = 15.0;
/// The minimum width of a pass with a label.
const LABELLED: f64 = 11.0;
/// The maximum length of a pass label.
pub(super) const LONGEST_PASS: f64 = 130.0;

/// The mapping from time and addresses to coordinates.
pub(super) struct Layout {
    pub(super) earliest: u64,
    pub(super) latest: u64,
    /// Width per unit of time.
    across: f64,
    pub(super) spaces: BTreeMap<u32, Space>,
    /// Whether there is room for labels beside the address spaces.
    pub(super) has_labels: bool,
    /// The queues of passes, in the order of their first passes.
    pub(super) queues: Vec<String>,
    /// The y coordinate below the address spaces.
    pub(super) bottom: f64,
    pub(super) height: f64,
}

/// The address space of a class.
pub(super) struct Space {
    pub(super) peak: u64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Space {
    pub(super) fn y(&self, address: u64) -> f64 {
        let part = address as f64 / self.peak.max(1) as f64;
        self.bottom - part * (self.bottom - self.top)
    }
}

impl Layout {
    pub(super) fn of(picture: &Picture<'_>) -> Self {
        let spaces = spaces(picture);
        let bottom = spaces.values().map(|space| space.bottom).fold(TOP + LEAST, f64::max);
        let items = || picture.items.iter().zip(picture.offsets).map(|(item, _)| item);
        let earliest = items().map(|item| item.first).min().unwrap_or(0);
        let latest = items().map(|item| item.last).max().unwrap_or(0).max(earliest.saturating_add(1));
        let queues = queues(picture, earliest, latest);
        let mut layout = Self {
            earliest,
            latest,
            across: (RIGHT - LEFT) / (latest - earliest).max(1) as f64,
            has_labels: spaces.len() <= LABELLED_SPACES,
            spaces,
            queues,
            bottom,
            height: 0.0,
        };
        let labels = if layout.has_pass_names(picture) { layout.longest_pass(picture) } else { 14.0 };
        layout.height = layout.pass_labels() + labels + 34.0;
        layout
    }

    pub(super) fn x(&self, time: u64) -> f64 {
        LEFT + time.saturating_sub(self.earliest) as f64 * self.across
    }

    pub(super) const fn right(&self) -> f64 {
        RIGHT
    }

    /// The position of the labels of passes.
    pub(super) fn pass_labels(&self) -> f64 {
        self.bottom + 8.0 + self.queues.len() as f64 * QUEUE_ROW
    }

    /// Whether the picture has names of passes in this range.
    pub(super) fn has_pass_names(&self, picture: &Picture<'_>) -> bool {
        picture.passes.range(self.earliest..self.latest).any(|(_, pass)| !pass.name.is_empty())
    }

    /// The number of passes from one label to the next.
    pub(super) fn label_step(&self) -> u64 {
        ((LABELLED / self.across).ceil() as u64).max(1)
    }

    /// The height of the longest pass label, drawn at a slant.
    fn longest_pass(&self, picture: &Picture<'_>) -> f64 {
        let labels = picture.passes.range(self.earliest..self.latest);
        let widths = labels.map(|(_, pass)| text::width(pass.name, FONT).min(LONGEST_PASS));
        widths.fold(0.0, f64::max) * 0.87 + 14.0
    }
}

fn spaces(picture: &Picture<'_>) -> BTreeMap<u32, Space> {
    let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
    for (item, offset) in picture.items.iter().zip(picture.offsets) {
        let peak = peaks.entry(item.class).or_default();
        *peak = (*peak).max(offset.saturating_add(item.size));
    }
    let count = peaks.len() as f64;
    let bytes: f64 = peaks.values().map(|&peak| peak as f64).sum();
    let shrunk = (LABELLED_SPACES as f64 / count.max(1.0)).min(1.0);
    let (gap, least) = (GAP * shrunk, LEAST * shrunk);
    let shared = (SPACES - gap * (count - 1.0) - least * count).max(0.0);
    let mut bottom = TOP;
    // The first class is at the bottom.
    let mut spaces = BTreeMap::new();
    for (&class, &peak) in peaks.iter().rev() {
        let top = bottom + if spaces.is_empty() { 0.0 } else { gap };
        bottom = top + least + shared * peak as f64 / bytes.max(1.0);
        spaces.insert(class, Space { peak, top, bottom });
    }
    spaces
}

fn queues(picture: &Picture<'_>, earliest: u64, latest: u64) -> Vec<String> {
    let mut queues: Vec<String> = Vec::new();
    for (_, pass) in picture.passes.range(earliest..latest) {
        if !pass.queue.is_empty() && !queues.iter().any(|queue| queue == pass.queue) && queues.len() < 16 {
            queues.push(pass.queue.to_owned());
        }
    }
    queues
}
