//! Percent-encoding of text in words and in the header.

/// Appends `text`, with `%` and control characters as `%XX`; words also escape spaces and commas.
pub(crate) fn encode(out: &mut Vec<u8>, text: &str, is_word: bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        let is_plain = !byte.is_ascii_control() && byte != b'%' && !(is_word && matches!(byte, b' ' | b','));
        if is_plain {
            out.push(byte);
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            out.extend([b'%', high, low]);
        }
    }
}

/// The text; `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit =
                || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let (high, low) = (digit()?, digit()?);
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    fn encoded(text: &str, is_word: bool) -> String {
        let mut out = Vec::new();
        encode(&mut out, text, is_word);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn words_have_no_spaces_and_no_commas() {
        assert_eq!(encoded("rock, 50 %\n", true), "rock%2C%2050%20%25%0A");
        assert_eq!(encoded("rock, 50 %\n", false), "rock, 50 %25%0A");
        assert_eq!(decode("rock%2c%2050 %25").as_deref(), Some("rock, 50 %"));
        for damaged in ["%", "%4", "%4g", "%g4", "%FF", "%+4"] {
            assert_eq!(decode(damaged), None, "{damaged}");
        }
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>(), is_word in any::<bool>()) {
            let written = encoded(&text, is_word);
            let unwanted: &[char] = if is_word { &['\n', ' ', ','] } else { &['\n'] };
            prop_assert!(!written.contains(unwanted));
            prop_assert_eq!(decode(&written), Some(text));
        }
    }
}
