//! A plan as a picture: time from left to right, addresses from bottom to top, a rectangle for each item.
//!
//! The picture is self-explanatory: it has a title, axes with units, the passes and their queues, the peak and the
//! lower bound, and a legend of kinds. Its colours suit any colour vision, every rectangle has a tooltip, and text
//! for screen readers is included. It is readable at a width of 1000 pixels.

mod axis;
mod draw;
mod layout;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use crate::Item;
use draw::Canvas;
use layout::Layout;

/// A picture of items at their offsets.
///
/// Times are pass numbers. Items of different classes are drawn in separate spaces, one above the other. Missing data
/// is left out: without names, rectangles have no labels; without kinds there is no legend, and neighbours have
/// different colours.
///
/// Names may contain any characters: they are escaped, and cut if they do not fit.
///
/// ```
/// use tenure_plan::svg::Picture;
/// use tenure_plan::{Item, PlanConfig, plan};
///
/// let items = [Item::new(0..2, 64 << 20), Item::new(1..3, 32 << 20)];
/// let plan = plan(&items, &PlanConfig::new())?;
/// let picture = Picture::new(&items, &plan.offsets)
///     .title("A small frame")
///     .names(["depth", "bloom"])
///     .kinds(["target", "storage"])
///     .pass(0, "shadows", "graphics")
///     .pass(1, "lights", "compute")
///     .lower_bound(0, plan.lower_bound);
/// let mut svg = Vec::new();
/// picture.write(&mut svg)?;
/// let svg = String::from_utf8(svg)?;
/// for text in ["A small frame", "depth", "lights", "compute", "storage", "96 MiB"] {
///     assert!(svg.contains(text), "{text}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    items: &'a [Item],
    offsets: &'a [u64],
    title: &'a str,
    names: Vec<&'a str>,
    kinds: Vec<&'a str>,
    passes: BTreeMap<u64, Pass<'a>>,
    classes: BTreeMap<u32, &'a str>,
    lower_bounds: BTreeMap<u32, u64>,
}

/// Name and queue of a pass.
#[derive(Clone, Copy, Debug)]
struct Pass<'a> {
    name: &'a str,
    queue: &'a str,
}

impl<'a> Picture<'a> {
    /// A picture of items at their offsets, in bytes. Items without an offset are not drawn.
    #[must_use]
    pub const fn new(items: &'a [Item], offsets: &'a [u64]) -> Self {
        Self {
            items,
            offsets,
            title: "Memory plan",
            names: Vec::new(),
            kinds: Vec::new(),
            passes: BTreeMap::new(),
            classes: BTreeMap::new(),
            lower_bounds: BTreeMap::new(),
        }
    }

    /// The title. Default: `Memory plan`.
    #[must_use]
    pub const fn title(mut self, title: &'a str) -> Self {
        self.title = title;
        self
    }

    /// The names of the items, in their order.
    #[must_use]
    pub fn names(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.names = names.into_iter().collect();
        self
    }

    /// The kinds of the items, in their order, for colours and the legend. An empty kind means none.
    #[must_use]
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = &'a str>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self
    }

    /// The name of the pass at a time, and its queue; empty if unknown.
    #[must_use]
    pub fn pass(mut self, time: u64, name: &'a str, queue: &'a str) -> Self {
        self.passes.insert(time, Pass { name, queue });
        self
    }

    /// The name of a class. Default: `class` and its number, if there are several.
    #[must_use]
    pub fn class(mut self, class: u32, name: &'a str) -> Self {
        self.classes.insert(class, name);
        self
    }

    /// The lower bound of a class's peak in bytes, drawn as a line.
    #[must_use]
    pub fn lower_bound(mut self, class: u32, bytes: u64) -> Self {
        self.lower_bounds.insert(class, bytes);
        self
    }

    /// Writes the picture as SVG. O(items); a bounded number of passes have labels.
    ///
    /// # Errors
    /// The sink's errors.
    pub fn write(&self, sink: impl Write) -> io::Result<()> {
        let layout = Layout::of(self);
        let mut canvas = Canvas { sink, picture: self, layout: &layout };
        canvas.draw(&self.colours())
    }

    fn name(&self, item: usize) -> &'a str {
        self.names.get(item).copied().unwrap_or_default()
    }

    fn kind(&self, item: usize) -> &'a str {
        self.kinds.get(item).copied().unwrap_or_default()
    }

    /// Numbers the kinds in the order of their first items.
    fn colours(&self) -> KindNumbers<'a> {
        let mut kinds = KindNumbers::default();
        for &kind in self.kinds.iter().take(self.items.len()).filter(|kind| !kind.is_empty()) {
            let next = kinds.order.len();
            kinds.numbers.entry(kind).or_insert_with(|| {
                kinds.order.push(kind);
                next
            });
        }
        kinds
    }
}

/// The kinds of items.
#[derive(Default)]
struct KindNumbers<'a> {
    order: Vec<&'a str>,
    numbers: HashMap<&'a str, usize>,
}
