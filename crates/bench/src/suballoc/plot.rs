//! Speed against packing, as a picture.

use std::fmt::Write;

/// Adds a line to a text, which cannot fail.
macro_rules! line {
    ($svg:expr, $($text:tt)*) => { let _ = writeln!($svg, $($text)*); };
}

/// A peer in the picture.
pub(super) struct Dot {
    pub(super) name: &'static str,
    pub(super) is_ours: bool,
    pub(super) has_blocks: bool,
    /// Time over that of `offset-allocator`.
    pub(super) time: f64,
    /// Memory over that of best fit.
    pub(super) memory: f64,
}

const TITLE: &str = "Suballocators: speed against packing";
/// Two colours that differ for everyone, and in brightness.
const OURS: &str = "#d55e00";
const OTHERS: &str = "#475569";
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 60.0;
/// Lines of text are so far apart.
const LINE: f64 = 14.0;

/// Logarithmic scale from the bounds of the values to those of the picture.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((1.0, 1.0), |(low, high): (f64, f64), it| (low.min(it), high.max(it)));
        Self { low: low / 1.08, high: high * 1.08, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    /// The round numbers within the bounds.
    fn marks(&self) -> impl Iterator<Item = f64> {
        const MARKS: [f64; 17] =
            [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0, 1000.0];
        MARKS.into_iter().filter(|&mark| mark >= self.low && mark <= self.high)
    }
}

/// The picture: lower is faster, further left is tighter.
pub(super) fn svg(dots: &[Dot]) -> String {
    let x = Axis::new(dots.iter().map(|dot| dot.memory), LEFT, WIDTH - RIGHT);
    let y = Axis::new(dots.iter().map(|dot| dot.time), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title desc\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title id=\"title\">{TITLE}</title>\n<desc id=\"desc\">{}</desc>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{TITLE}</text>\n",
        escaped(&described(dots))
    );
    axes(&mut svg, &x, &y);
    for (dot, label) in dots.iter().zip(labels(dots, &x, &y)) {
        let (at_x, at_y) = (x.at(dot.memory), y.at(dot.time));
        let color = if dot.is_ours { OURS } else { OTHERS };
        let fill = if dot.has_blocks { "#fff" } else { color };
        let (text_x, text_y) = (at_x + 9.0, label + 4.0);
        line!(
            svg,
            "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{color}\" \
             stroke-width=\"2\"><title>{}: {:.3} of the memory, {:.2} of the time</title></circle>\
             <text x=\"{text_x:.1}\" y=\"{text_y:.1}\" fill=\"{color}\">{}</text>",
            escaped(dot.name),
            dot.memory,
            dot.time,
            escaped(dot.name)
        );
    }
    legend(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

/// The dots in words, for whom the picture is read to.
fn described(dots: &[Dot]) -> String {
    let words = dots.iter().map(|Dot { name, memory, time, .. }| {
        format!("{name} takes {memory:.3} of the memory of best fit and {time:.2} of the time of offset-allocator.")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What the colours and the fillings mean.
fn legend(svg: &mut String) {
    let entries = [
        (OURS, OURS, "tenure"),
        (OTHERS, OTHERS, "others"),
        (OTHERS, "#fff", "hollow: a growing set of blocks"),
        (OTHERS, OTHERS, "filled: one range"),
    ];
    for (row, (stroke, fill, meaning)) in entries.into_iter().enumerate() {
        let y = HEIGHT - BOTTOM - 14.0 - LINE * 1.3 * (entries.len() - 1 - row) as f64;
        let x = WIDTH - RIGHT + 4.0;
        line!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{:.1}\">{meaning}</text>",
            x + 10.0,
            y + 4.0
        );
    }
}

fn axes(svg: &mut String, x: &Axis, y: &Axis) {
    for mark in x.marks() {
        let at = x.at(mark);
        line!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{mark}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0
        );
    }
    for mark in y.marks() {
        let at = y.at(mark);
        line!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
    }
    line!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">memory needed, over best fit (left is tighter)</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 16.0
    );
    line!(
        svg,
        "<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">\
         time per call, over offset-allocator (low is faster)</text>",
        (TOP + HEIGHT - BOTTOM) / 2.0
    );
    line!(
        svg,
        "<text x=\"{LEFT}\" y=\"36\">Geometric means over the workloads; both scales are logarithmic.</text>"
    );
}

/// The heights of the labels: at their dots, or lower where another label is in the way.
fn labels(dots: &[Dot], x: &Axis, y: &Axis) -> Vec<f64> {
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by(|&a, &b| y.at(dots[a].time).total_cmp(&y.at(dots[b].time)));
    let mut heights = vec![0.0; dots.len()];
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for at in order {
        let (left, mut height) = (x.at(dots[at].memory), y.at(dots[at].time));
        // A label is less than so many units long.
        let is_near = |other: f64| (other - left).abs() < 170.0;
        while let Some(&(_, other)) =
            placed.iter().find(|(other, there)| is_near(*other) && (there - height).abs() < LINE)
        {
            height = other + LINE;
        }
        placed.push((left, height));
        heights[at] = height;
    }
    heights
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Dot, svg};

    fn dot(name: &'static str, time: f64, memory: f64) -> Dot {
        Dot { name, is_ours: false, has_blocks: false, time, memory }
    }

    #[test]
    fn every_dot_is_inside_and_named() {
        let dots = [dot("a<b>", 0.5, 1.0), dot("c", 300.0, 1.5), dot("d", 0.5, 1.001)];
        let picture = svg(&dots);
        for name in ["a&lt;b&gt;", "c", "d"] {
            assert!(picture.contains(&format!(">{name}</text>")), "{name}");
        }
        assert_eq!(picture.matches("<circle").count(), 3 + 4, "the dots and the legend");
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }

    #[test]
    fn nothing_is_a_picture_too() {
        assert!(svg(&[]).ends_with("</svg>\n"));
    }
}
