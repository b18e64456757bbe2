//! Drawing of a picture.

use std::fmt::Display;
use std::io::{self, Write};

use super::axis::{Unit, round_step};
use super::layout::{FONT, LEFT, LONGEST_PASS, Layout, QUEUE_ROW, Space, WIDTH};
use super::text::{escaped, fitted, width};
use super::{KindNumbers, Picture};

/// Colours that remain distinguishable with any colour vision (Okabe and Ito, "Color Universal Design", 2008), and
/// keep black text legible.
const COLOURS: [&str; 8] =
    ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#7aa0d8", "#bbbbbb"];
/// The colour of items without a kind, if others have one.
const NO_KIND: &str = "#ffffff";
/// The maximum number of kinds in the legend; further ones share an entry.
const LEGEND: usize = 24;
/// The maximum number of items with tooltips.
const TOOLTIPS: usize = 100_000;

/// The output of the drawing functions.
pub(super) struct Canvas<'a, W> {
    pub(super) sink: W,
    pub(super) picture: &'a Picture<'a>,
    pub(super) layout: &'a Layout,
}

impl<W: Write> Canvas<'_, W> {
    pub(super) fn draw(&mut self, kinds: &KindNumbers<'_>) -> io::Result<()> {
        self.head()?;
        self.hatching()?;
        for (&class, space) in &self.layout.spaces {
            self.space(class, space)?;
        }
        self.items(kinds)?;
        for (&class, space) in &self.layout.spaces {
            self.peak(class, space)?;
        }
        self.queues()?;
        self.passes()?;
        self.legend(kinds)?;
        writeln!(self.sink, "</svg>")
    }

    fn head(&mut self) -> io::Result<()> {
        let (picture, layout) = (self.picture, self.layout);
        let (title, summary) = (escaped(picture.title), self.summary());
        let height = layout.height;
        writeln!(
            self.sink,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title desc\" font-family=\"sans-serif\" \
             font-size=\"{FONT}\">\n<title id=\"title\">{title}</title>\n<desc id=\"desc\">{} Time runs from left to \
             right, addresses from bottom to top; each rectangle is a resource.</desc>\n\
             <rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#fff\"/>",
            escaped(&summary)
        )?;
        let shown = escaped(&fitted(picture.title, WIDTH - 2.0 * 16.0, 16.0).unwrap_or_default());
        writeln!(self.sink, "<text x=\"16\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{shown}</text>")?;
        self.text(16.0, 42.0, "start", &summary)
    }

    /// The plan in words.
    fn summary(&self) -> String {
        let layout = self.layout;
        let count = self.picture.items.len().min(self.picture.offsets.len());
        let peak = layout.spaces.values().fold(0_u64, |sum, space| sum.saturating_add(space.peak));
        let bounds = layout.spaces.keys().map(|class| self.picture.lower_bounds.get(class).copied());
        let bound = bounds.sum::<Option<u64>>().filter(|_| !layout.spaces.is_empty());
        let resources = if count == 1 { "resource" } else { "resources" };
        let (peak_text, unit) = (Unit::of(peak).written(peak), Unit::of(peak));
        let colours = if self.picture.kinds.iter().all(|kind| kind.is_empty()) {
            " Colours only tell neighbours apart."
        } else {
            ""
        };
        let size = match bound {
            Some(bound) if bound >= peak => {
                format!("{count} {resources} in {peak_text}, which is optimal.")
            }
            Some(bound) => {
                format!("{count} {resources} in {peak_text}; the lower bound is {}.", unit.written(bound))
            }
            None => format!("{count} {resources} in {peak_text}."),
        };
        format!("{size}{colours}")
    }

    /// The pattern that distinguishes kinds beyond the colours.
    fn hatching(&mut self) -> io::Result<()> {
        writeln!(
            self.sink,
            "<defs><pattern id=\"hatching\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#000\" stroke-opacity=\"0.45\" \
             stroke-width=\"2\"/></pattern></defs>"
        )
    }

    fn space(&mut self, class: u32, space: &Space) -> io::Result<()> {
        let Space { top, bottom, peak } = *space;
        let (layout, right) = (self.layout, self.layout.right());
        let (across, up) = (right - LEFT, bottom - top);
        writeln!(
            self.sink,
            "<rect x=\"{LEFT}\" y=\"{top:.2}\" width=\"{across:.2}\" height=\"{up:.2}\" fill=\"#f2f2f2\"/>"
        )?;
        if !layout.has_labels {
            return Ok(());
        }
        let unit = Unit::of(peak);
        let (ticks, digits) = unit.ticks(peak, ((up / 34.0) as usize).max(1));
        for tick in ticks {
            let y = space.y(tick as u64);
            writeln!(self.sink, "<path d=\"M{LEFT} {y:.2}H{right}\" stroke=\"#d0d0d0\"/>")?;
            let number = unit.of_bytes(tick);
            self.text(LEFT - 6.0, y + 4.0, "end", format_args!("{number:.digits$}"))?;
        }
        let middle = f64::midpoint(top, bottom);
        let label = if up > 110.0 { format!("address ({})", unit.name) } else { unit.name.to_owned() };
        writeln!(
            self.sink,
            "<text transform=\"translate(14 {middle:.2}) rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        )?;
        let several = layout.spaces.len() > 1;
        let name = match self.picture.classes.get(&class) {
            Some(name) => escaped(&fitted(name, across, FONT).unwrap_or_default()),
            None if several => format!("class {class}"),
            None => return Ok(()),
        };
        // Above the space, where it overlaps nothing.
        writeln!(self.sink, "<text x=\"{LEFT}\" y=\"{:.2}\" fill=\"#444\">{name}</text>", top - 5.0)
    }

    fn items(&mut self, kinds: &KindNumbers<'_>) -> io::Result<()> {
        let (picture, layout) = (self.picture, self.layout);
        let has_tooltips = picture.items.len() <= TOOLTIPS;
        for (at, (item, &offset)) in picture.items.iter().zip(picture.offsets).enumerate() {
            let Some(space) = layout.spaces.get(&item.class) else { continue };
            let (left, right) = (layout.x(item.first), layout.x(item.last));
            let (top, bottom) = (space.y(offset.saturating_add(item.size)), space.y(offset));
            let (across, up) = (right - left, bottom - top);
            let kind = kinds.numbers.get(picture.kind(at)).copied();
            let (fill, hatched) = match kind {
                Some(kind) => (COLOURS[kind % COLOURS.len()], kind >= COLOURS.len()),
                None if kinds.order.is_empty() => (COLOURS[at % COLOURS.len()], false),
                None => (NO_KIND, false),
            };
            let rect =
                format!("<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{across:.2}\" height=\"{up:.2}\"");
            write!(self.sink, "<g>{rect} fill=\"{fill}\" stroke=\"#333\" stroke-width=\"0.5\"/>")?;
            if hatched {
                write!(self.sink, "{rect} fill=\"url(#hatching)\"/>")?;
            }
            if has_tooltips {
                self.tooltip(at)?;
            }
            self.label(picture.name(at), (left, across), (top, up))?;
            writeln!(self.sink, "</g>")?;
        }
        Ok(())
    }

    fn tooltip(&mut self, at: usize) -> io::Result<()> {
        let picture = self.picture;
        let (Some(item), Some(offset)) = (picture.items.get(at), picture.offsets.get(at)) else {
            return Ok(());
        };
        let (name, kind) = (picture.name(at), picture.kind(at));
        let separator = if name.is_empty() { "" } else { ": " };
        let kind = if kind.is_empty() { String::new() } else { format!("{}, ", escaped(kind)) };
        let pass = |time: u64| match picture.passes.get(&time).filter(|pass| !pass.name.is_empty()) {
            Some(pass) => format!("{time} ({})", escaped(pass.name)),
            None => time.to_string(),
        };
        let (first, last) = (pass(item.first), pass(item.last.saturating_sub(1)));
        write!(
            self.sink,
            "<title>{}{separator}{kind}{} ({} bytes) at {offset}, passes {first} to {last}</title>",
            escaped(name),
            Unit::of(item.size).written(item.size),
            item.size
        )
    }

    /// The name in a rectangle, if it fits.
    fn label(&mut self, name: &str, (left, across): (f64, f64), (top, up): (f64, f64)) -> io::Result<()> {
        if up < FONT + 1.0 || across < 2.0 * FONT {
            return Ok(());
        }
        let Some(shown) = fitted(name, across - 4.0, FONT).filter(|shown| !shown.is_empty()) else {
            return Ok(());
        };
        let (x, y) = (left + across / 2.0, top + up / 2.0 + FONT * 0.35);
        self.text(x, y, "middle", shown)
    }

    fn peak(&mut self, class: u32, space: &Space) -> io::Result<()> {
        if !self.layout.has_labels {
            return Ok(());
        }
        let (right, unit) = (self.layout.right(), Unit::of(space.peak));
        let bound = self.picture.lower_bounds.get(&class).copied();
        let peak = unit.written(space.peak);
        let what = if bound.is_some_and(|bound| bound >= space.peak) { "peak = lower bound" } else { "peak" };
        let y = space.y(space.peak);
        writeln!(
            self.sink,
            "<path d=\"M{LEFT} {y:.2}H{:.2}\" stroke=\"#b00000\" stroke-width=\"2\"/>",
            right + 6.0
        )?;
        self.text(right + 10.0, y + 1.0, "start", format_args!("{what}"))?;
        self.text(right + 10.0, y + 14.0, "start", peak)?;
        let Some(bound) = bound.filter(|&bound| bound < space.peak) else { return Ok(()) };
        let y = space.y(bound);
        writeln!(
            self.sink,
            "<path d=\"M{LEFT} {y:.2}H{:.2}\" stroke=\"#0000b0\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"/>",
            right + 6.0
        )?;
        // Below the two lines of the peak, if it is too close to them.
        let y = y.max(space.top + 27.0);
        self.text(right + 10.0, y + 4.0, "start", "lower bound")?;
        self.text(right + 10.0, y + 17.0, "start", unit.written(bound))
    }

    /// A row for each queue, with a mark for each of its passes.
    fn queues(&mut self) -> io::Result<()> {
        let (picture, layout) = (self.picture, self.layout);
        for (row, queue) in layout.queues.iter().enumerate() {
            let top = layout.bottom + 6.0 + row as f64 * QUEUE_ROW;
            let shown = fitted(queue, LEFT - 8.0, FONT).unwrap_or_default();
            self.text(LEFT - 6.0, top + 10.0, "end", shown)?;
            for (&time, pass) in picture.passes.range(layout.earliest..layout.latest) {
                if pass.queue == queue {
                    let (left, across) = (layout.x(time), layout.x(time + 1) - layout.x(time));
                    writeln!(
                        self.sink,
                        "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{across:.2}\" height=\"{:.2}\" fill=\"#666\" \
                         stroke=\"#fff\" stroke-width=\"0.5\"><title>{} runs on {}</title></rect>",
                        QUEUE_ROW - 4.0,
                        escaped(pass.name),
                        escaped(queue)
                    )?;
                }
            }
        }
        Ok(())
    }

    fn passes(&mut self) -> io::Result<()> {
        let (picture, layout) = (self.picture, self.layout);
        let y = layout.pass_labels();
        if layout.has_pass_names(picture) {
            let step = layout.label_step();
            let named = picture.passes.range(layout.earliest..layout.latest);
            for (&time, pass) in named.filter(|(time, _)| (*time - layout.earliest).is_multiple_of(step)) {
                let x = f64::midpoint(layout.x(time), layout.x(time + 1)) + 4.0;
                let shown = escaped(&fitted(pass.name, LONGEST_PASS, FONT).unwrap_or_default());
                writeln!(
                    self.sink,
                    "<text transform=\"translate({x:.2} {:.2}) rotate(-60)\" text-anchor=\"end\">{shown}</text>",
                    y + 6.0
                )?;
            }
        } else {
            self.pass_numbers(y)?;
        }
        let what = "passes, in the order of their execution";
        self.text(f64::midpoint(LEFT, layout.right()), layout.height - 10.0, "middle", what)
    }

    /// Numbers at the beginnings of passes.
    fn pass_numbers(&mut self, y: f64) -> io::Result<()> {
        let layout = self.layout;
        let longest = width(&layout.latest.to_string(), FONT) + 10.0;
        let most = ((layout.right() - LEFT) / longest).max(1.0);
        let step = round_step(((layout.latest - layout.earliest) as f64 / most).max(1.0)) as u64;
        let first = layout.earliest.div_ceil(step.max(1)).saturating_mul(step.max(1));
        let mut time = first;
        while time <= layout.latest {
            let x = layout.x(time);
            writeln!(self.sink, "<path d=\"M{x:.2} {:.2}v4\" stroke=\"#333\"/>", layout.bottom)?;
            self.text(x, y + 10.0, "middle", time)?;
            let Some(next) = time.checked_add(step.max(1)) else { break };
            time = next;
        }
        Ok(())
    }

    fn legend(&mut self, kinds: &KindNumbers<'_>) -> io::Result<()> {
        let (x, room) = (self.layout.right() + 60.0, WIDTH - self.layout.right() - 84.0);
        if kinds.order.is_empty() {
            return Ok(());
        }
        let mut y = self.layout.bottom - 18.0 * kinds.order.len().min(LEGEND + 1) as f64;
        self.text(x, y - 8.0, "start", "kinds")?;
        for (kind, name) in kinds.order.iter().take(LEGEND).enumerate() {
            let swatch = format!("<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"14\" height=\"12\"");
            let colour = COLOURS[kind % COLOURS.len()];
            writeln!(self.sink, "{swatch} fill=\"{colour}\" stroke=\"#333\" stroke-width=\"0.5\"/>")?;
            if kind >= COLOURS.len() {
                writeln!(self.sink, "{swatch} fill=\"url(#hatching)\"/>")?;
            }
            self.text(x + 20.0, y + 10.0, "start", fitted(name, room, FONT).unwrap_or_default())?;
            y += 18.0;
        }
        if kinds.order.len() > LEGEND {
            self.text(x + 20.0, y + 10.0, "start", format_args!("and {} more", kinds.order.len() - LEGEND))?;
        }
        Ok(())
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: impl Display) -> io::Result<()> {
        let text = escaped(&text.to_string());
        writeln!(
            self.sink,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" pointer-events=\"none\">{text}</text>"
        )
    }
}
