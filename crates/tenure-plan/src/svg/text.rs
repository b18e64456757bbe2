//! Text in a picture: escaping, measuring, cutting.

/// Escapes text for XML. Replaces characters that XML 1.0 forbids even as a reference, and characters that change the
/// direction of text.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                safe.push('\u{fffd}')
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// The approximate width of a text, in units of the picture.
pub(super) fn width(text: &str, font: f64) -> f64 {
    text.chars().map(|letter| letter_width(letter, font)).sum()
}

fn letter_width(letter: char, font: f64) -> f64 {
    let em = match letter {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ' ' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' => 0.9,
        letter if letter.is_ascii() => 0.6,
        letter if letter < '\u{1100}' => 0.65,
        _ => 1.0,
    };
    em * font
}

/// The part of a text that fits, with a mark if it was cut; `None` if not even two characters fit.
pub(super) fn fitted(text: &str, room: f64, font: f64) -> Option<String> {
    if width(text, font) <= room {
        return Some(text.to_owned());
    }
    let room = room - letter_width('…', font);
    let mut taken = 0.0;
    let begin: String = text
        .chars()
        .take_while(|&letter| {
            taken += letter_width(letter, font);
            taken <= room
        })
        .collect();
    (begin.chars().count() >= 2).then(|| format!("{begin}…"))
}

#[cfg(test)]
mod tests {
    use super::{escaped, fitted, width};

    #[test]
    fn special_characters_are_escaped() {
        let hostile = "</text><script>alert('1')</script>&\"\u{0}\u{1b}\u{202e}\u{ffff}";
        let safe = escaped(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{0}', '\u{1b}', '\u{202e}', '\u{ffff}']));
        assert_eq!(safe.matches('&').count(), safe.matches(';').count());
    }

    #[test]
    fn text_is_cut_to_the_available_width() {
        assert_eq!(fitted("gbuffer", 1000.0, 10.0).as_deref(), Some("gbuffer"));
        let cut = fitted("a rather long name", 40.0, 10.0).unwrap();
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 40.0, "{cut}");
        assert_eq!(fitted("gbuffer", 12.0, 10.0), None);
    }
}
