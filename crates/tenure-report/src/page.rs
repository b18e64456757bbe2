//! The page: markup, style, script and data in one file.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::encode::encode;
use crate::history::History;

const TEMPLATE: &str = include_str!("../page/report.html");
const STYLE: &str = include_str!("../page/report.css");

/// The scripts, in the order of their dependencies.
const SCRIPTS: [&str; 7] = [
    include_str!("../page/data.js"),
    include_str!("../page/draw.js"),
    include_str!("../page/timeline.js"),
    include_str!("../page/own.js"),
    include_str!("../page/map.js"),
    include_str!("../page/tables.js"),
    include_str!("../page/main.js"),
];

impl History {
    /// Writes the page. The history is embedded as compressed data only, so that no name is ever read as markup;
    /// the page's policy permits no network, and no script and no style but its own.
    ///
    /// # Errors
    /// The sink's errors.
    pub fn write_html(&self, sink: &mut impl Write) -> io::Result<()> {
        let script = format!("\"use strict\";\n{}", SCRIPTS.concat());
        let data = STANDARD.encode(encode(self)?);
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE),
        );
        let parts =
            [("{policy}", policy.as_str()), ("{style}", STYLE), ("{data}", &data), ("{script}", &script)];
        let mut rest = TEMPLATE;
        for (mark, part) in parts {
            let (before, after) =
                rest.split_once(mark).ok_or_else(|| io::Error::other("a part of the page has no place"))?;
            sink.write_all(before.as_bytes())?;
            sink.write_all(part.as_bytes())?;
            rest = after;
        }
        sink.write_all(rest.as_bytes())
    }
}

/// A source of a content security policy that permits only this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use tenure_trace::{OwnAlive, OwnMemory};

    use super::{SCRIPTS, STYLE};
    use crate::columns::reading::unpack;
    use crate::encode::encode;
    use crate::history::History;

    #[test]
    fn the_page_refers_to_nothing_outside() {
        let mut page = Vec::new();
        History::default().write_html(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        for outside in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn no_part_ends_the_element_that_it_is_in() {
        assert!(!STYLE.contains("</"));
        assert!(SCRIPTS.iter().all(|script| !script.contains("</") && !script.contains("<!--")));
    }

    #[test]
    fn names_are_in_the_compressed_data_alone() {
        let mut history =
            History { title: "</script><img src=x onerror=alert(1)>".to_owned(), ..History::default() };
        history.strings.number("<b>brick</b>");
        let mut own = OwnMemory::default();
        own.alive.push(OwnAlive { name: Some("<i>mortar</i>".to_owned()), ..OwnAlive::default() });
        history.own = Some(own);
        let mut page = Vec::new();
        history.write_html(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let names = ["onerror", "brick", "mortar"];
        assert!(names.iter().all(|name| !page.contains(name)));
        let (header, _) = unpack(&encode(&history).unwrap()).unwrap();
        let header = String::from_utf8(header).unwrap();
        assert!(names.iter().all(|name| header.contains(name)), "{header}");
    }
}
