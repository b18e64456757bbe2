//! Reading the lines of a log, whose format is in the documentation of `tenure-capture`.

use std::str::{FromStr, SplitAsciiWhitespace};

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Microseconds since the creation of the device.
    pub(super) time: u64,
    pub(super) thread: u32,
    /// The keyword of the event.
    pub(super) event: &'a str,
    /// The rest of the line.
    pub(super) values: &'a str,
}

/// The valid lines of a log. Damaged lines are skipped, such as an incomplete last line of a killed process.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').filter_map(|line| {
        let mut parts = line.strip_suffix('\n')?.splitn(4, ' ');
        let (time, thread) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Line { time, thread, event: parts.next()?, values: parts.next().unwrap_or_default() })
    })
}

pub(super) struct Values<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Values<'a> {
    pub(super) fn of(line: &Line<'a>) -> Self {
        Self(line.values.split_ascii_whitespace())
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }

    pub(super) fn hexadecimal(&mut self) -> Option<u64> {
        u64::from_str_radix(self.word()?, 16).ok()
    }

    /// The remaining words.
    pub(super) fn rest(self) -> Vec<&'a str> {
        self.0.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Values, lines};

    #[test]
    fn whole_lines_are_read_and_others_skipped() {
        let text = "5 0 capture 1\n6 0 device A card  (2)\n7 1 end\nnonsense\n8 x M 1\n9 0 M 1 20";
        let found: Vec<_> = lines(text).collect();
        let line = |time, thread, event, values| Line { time, thread, event, values };
        let expected =
            [line(5, 0, "capture", "1"), line(6, 0, "device", "A card  (2)"), line(7, 1, "end", "")];
        assert_eq!(found, expected);
    }

    #[test]
    fn values_are_numbers_and_words() {
        let line = lines("5 0 R 12 b ff sparse more\n").next().unwrap();
        let mut values = Values::of(&line);
        assert_eq!(
            (values.number::<u64>(), values.word(), values.hexadecimal()),
            (Some(12), Some("b"), Some(255))
        );
        assert_eq!(values.rest(), ["sparse", "more"]);
    }
}
