//! Counts the lines of Rust code in a file: those that have a token other than a comment.

use proc_macro2::{Delimiter, LexError, Span, TokenStream, TokenTree};

/// The `cfg` attributes of code that only tests have, without white space.
const TEST_ONLY: [&str; 4] = ["cfg(test)", "cfg(all(test,", "cfg(loom)", "cfg(doctest)"];

/// The lines of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// Lines of code without tests.
    pub(super) code: usize,
    /// Lines of code that only tests have.
    pub(super) tests: usize,
    /// The modules that only tests have, which may be files of their own.
    pub(super) test_modules: Vec<String>,
}

/// Counts the lines of a text.
pub(super) fn count(text: &str) -> Result<Lines, LexError> {
    let is_blank: Vec<bool> = text.lines().map(|line| line.trim().is_empty()).collect();
    let mut reader = Reader { lines: vec![None; is_blank.len()], test_modules: Vec::new() };
    reader.read(text.parse()?, false);
    let of = |is_test| {
        let lines = reader.lines.iter().zip(&is_blank);
        lines.filter(|(line, is_blank)| **line == Some(is_test) && !**is_blank).count()
    };
    Ok(Lines { code: of(false), tests: of(true), test_modules: reader.test_modules })
}

struct Reader {
    /// For each line with a token, whether the first one is of a test.
    lines: Vec<Option<bool>>,
    test_modules: Vec<String>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, is_test: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        let mut is_test_item = false;
        while let Some(token) = rest.first() {
            if let Some(length) = doc_comment(rest) {
                rest = &rest[length..];
                continue;
            }
            is_test_item |= is_test_attribute(rest);
            if let ([TokenTree::Ident(word), TokenTree::Ident(name), ..], true) = (rest, is_test_item)
                && word == "mod"
            {
                self.test_modules.push(name.to_string());
            }
            self.token(token, is_test || is_test_item);
            is_test_item &= !is_end_of_item(token);
            rest = &rest[1..];
        }
    }

    fn token(&mut self, token: &TokenTree, is_test: bool) {
        let TokenTree::Group(group) = token else { return self.mark(token.span(), is_test) };
        self.mark(group.span_open(), is_test);
        self.read(group.stream(), is_test);
        self.mark(group.span_close(), is_test);
    }

    fn mark(&mut self, span: Span, is_test: bool) {
        for line in &mut self.lines[span.start().line - 1..span.end().line] {
            line.get_or_insert(is_test);
        }
    }
}

/// The number of tokens of a `///` or `//!` comment, which reads as an attribute `doc` with a string.
fn doc_comment(tokens: &[TokenTree]) -> Option<usize> {
    let (length, hash, group) = match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..] => (2, hash, group),
        [TokenTree::Punct(hash), TokenTree::Punct(_), TokenTree::Group(group), ..] => (3, hash, group),
        _ => return None,
    };
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    let [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(_)] = &inside[..] else {
        return None;
    };
    (hash.as_char() == '#' && name == "doc").then_some(length)
}

fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else { return false };
    let text: String = group.stream().to_string().split_whitespace().collect();
    hash.as_char() == '#' && TEST_ONLY.iter().any(|cfg| text.starts_with(cfg))
}

fn is_end_of_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, count};

    fn of(text: &str) -> (usize, usize) {
        let Lines { code, tests, .. } = count(text).unwrap();
        (code, tests)
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        assert_eq!(
            of("//! a\n\n// b\n/// c\nfn d() {} // e\n/* f\ng */ fn h() {}\n/** i */\nstruct J;\n"),
            (3, 0)
        );
        assert_eq!(of("//! a\n#![no_std]\n#[doc(hidden)]\nfn b() {\n    // c\n\n}\n"), (4, 0));
    }

    #[test]
    fn text_in_strings_is_code() {
        assert_eq!(of("const A: &str = \"// b\n/* c\n\n#[cfg(test)] mod d {\";\nfn e() {}"), (4, 0));
        assert_eq!(of("const A: &str = r#\"\" // b\"#; // c\nconst B: char = '\"'; /* d */"), (2, 0));
    }

    #[test]
    fn code_of_tests_is_counted_separately() {
        let text = "fn a() {}\n#[cfg(test)]\nuse b;\n#[cfg(test)]\nmod c {\n    // d\n    fn e() { f(); }\n}\n\
                    #[cfg(all(test, not(loom)))]\nmod g;\n#[cfg(any(test, windows))]\nfn h() {}\n";
        let expected = Lines { code: 3, tests: 8, test_modules: vec!["c".to_owned(), "g".to_owned()] };
        assert_eq!(count(text).unwrap(), expected);
    }
}
