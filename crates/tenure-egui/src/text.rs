//! Texts: how numbers are written, and what stands for pictures.

use egui::{Response, WidgetInfo};
use humansize::{BINARY, format_size};
use tenure_core::memory::LocationKind;

/// Bytes in the largest unit that does not exceed them.
pub(crate) fn bytes(count: u64) -> String {
    format_size(count, BINARY)
}

/// A count with its noun, which takes an `s`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// How a resource has its memory.
pub(crate) const fn location(kind: LocationKind) -> &'static str {
    match kind {
        LocationKind::Committed => "memory of its own",
        LocationKind::Memoryless => "lazily allocated memory",
        LocationKind::Placed => "placed",
        LocationKind::Range => "range of a buffer",
        LocationKind::Page => "in a page",
        LocationKind::Transient => "transient",
        LocationKind::Reserved => "reserved",
        LocationKind::Adopted => "memory of the program",
        _ => "elsewhere",
    }
}

/// The text, or `instead` if it is empty.
pub(crate) fn or_else<'a>(text: &'a str, instead: &'a str) -> &'a str {
    if text.is_empty() { instead } else { text }
}

/// Adds a text to a painted element, for screen readers.
#[allow(deprecated, reason = "egui 0.37 has renamed the type; 0.33 has no other")]
pub(crate) fn describe_picture(response: &Response, text: impl Fn() -> String) {
    response.widget_info(|| WidgetInfo::labeled(egui::WidgetType::Label, true, text()));
}

/// Characters of a name or tag that are shown.
const MOST_CHARS: usize = 120;
/// Names of a list that are shown.
const MOST_NAMES: usize = 3;

/// A text of the program in one line, cut where it is very long.
pub(crate) fn shortened(text: &str) -> String {
    let line = || text.chars().map(|shown| if shown.is_control() { ' ' } else { shown });
    let cut: String = line().take(MOST_CHARS).collect();
    if line().nth(MOST_CHARS).is_some() { cut + "…" } else { cut }
}

/// The first names of a list, and how many there are besides.
pub(crate) fn names(all: &[String]) -> String {
    let shown: Vec<String> = all.iter().take(MOST_NAMES).map(|name| shortened(name)).collect();
    match all.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
