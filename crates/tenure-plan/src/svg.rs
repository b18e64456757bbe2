//! A plan as a picture: time from left to right, addresses from bottom to top, a rectangle for each item.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::Item;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 800.0;
const MARGIN: f64 = 24.0;
/// The gap between the address spaces of two classes.
const GAP: f64 = 12.0;
/// The approximate width of a letter.
const LETTER: f64 = 6.0;

/// Writes a picture of the items at their offsets, as SVG. Every rectangle has a tooltip with its item's name,
/// size, offset and lifetime, and shows the name if it is large enough. Classes are drawn one above the other.
///
/// # Errors
/// Those of the sink.
///
/// ```
/// use tenure_plan::{Item, Options, plan, svg};
///
/// let items = [Item::new(0..2, 64), Item::new(1..3, 32)];
/// let offsets = plan(&items, &Options::new())?.offsets;
/// let mut picture = Vec::new();
/// svg::write(&mut picture, &items, &["depth", "bloom"], &offsets)?;
/// assert!(String::from_utf8(picture)?.contains(">depth</text>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    mut sink: impl Write,
    items: &[Item],
    names: &[impl AsRef<str>],
    offsets: &[u64],
) -> io::Result<()> {
    let frame = Frame::of(items, offsets);
    writeln!(
        sink,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"10\">"
    )?;
    writeln!(sink, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>")?;
    for (class, space) in &frame.spaces {
        let (top, bottom) = (frame.y(space, space.peak), frame.y(space, 0));
        writeln!(
            sink,
            "<rect x=\"{MARGIN}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"#eee\">\
             <title>class {class}: {} bytes</title></rect>",
            WIDTH - 2.0 * MARGIN,
            bottom - top,
            space.peak
        )?;
    }
    for (at, ((item, name), offset)) in items.iter().zip(names).zip(offsets).enumerate() {
        let Some(space) = frame.spaces.get(&item.class) else { continue };
        let (left, right) = (frame.x(item.first), frame.x(item.last));
        let (top, bottom) = (frame.y(space, offset.saturating_add(item.size)), frame.y(space, *offset));
        let name = escaped(name.as_ref());
        // Successive hues a golden angle apart: neighbours differ.
        let hue = at * 137 % 360;
        writeln!(
            sink,
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
             fill=\"hsl({hue},60%,72%)\" stroke=\"#333\" stroke-width=\"0.4\">\
             <title>{name}: {} bytes at {offset}, {} to {}</title></rect>",
            right - left,
            bottom - top,
            item.size,
            item.first,
            item.last
        )?;
        if bottom - top >= 10.0 && right - left >= LETTER * name.chars().count() as f64 {
            writeln!(
                sink,
                "<text x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"middle\" dominant-baseline=\"central\" \
                 pointer-events=\"none\">{name}</text>",
                (left + right) / 2.0,
                (top + bottom) / 2.0
            )?;
        }
    }
    writeln!(sink, "</svg>")
}

/// The mapping from time and addresses to coordinates.
struct Frame {
    earliest: u64,
    /// Per unit of time.
    across: f64,
    /// Per byte.
    up: f64,
    spaces: BTreeMap<u32, Space>,
}

/// The address space of a class.
struct Space {
    peak: u64,
    /// Bytes of the spaces below, and how many there are.
    below: f64,
    number: usize,
}

impl Frame {
    fn of(items: &[Item], offsets: &[u64]) -> Self {
        let mut spaces: BTreeMap<u32, Space> = BTreeMap::new();
        for (item, offset) in items.iter().zip(offsets) {
            let space = spaces.entry(item.class).or_insert(Space { peak: 0, below: 0.0, number: 0 });
            space.peak = space.peak.max(offset.saturating_add(item.size));
        }
        let mut bytes = 0.0;
        for (number, space) in spaces.values_mut().enumerate() {
            (space.below, space.number) = (bytes, number);
            bytes += space.peak as f64;
        }
        let gaps = GAP * spaces.len().saturating_sub(1) as f64;
        let earliest = items.iter().map(|item| item.first).min().unwrap_or(0);
        let latest = items.iter().map(|item| item.last).max().unwrap_or(0);
        Self {
            earliest,
            across: (WIDTH - 2.0 * MARGIN) / (latest.saturating_sub(earliest).max(1)) as f64,
            up: (HEIGHT - 2.0 * MARGIN - gaps).max(1.0) / f64::max(bytes, 1.0),
            spaces,
        }
    }

    fn x(&self, time: u64) -> f64 {
        MARGIN + (time - self.earliest) as f64 * self.across
    }

    fn y(&self, space: &Space, address: u64) -> f64 {
        let bytes = space.below + address as f64;
        HEIGHT - MARGIN - bytes * self.up - GAP * space.number as f64
    }
}

fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            // What XML 1.0 forbids even as a reference.
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                text.push('\u{fffd}')
            }
            letter => text.push(letter),
        }
    }
    text
}
