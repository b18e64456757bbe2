//! The recordings of the repository are valid and match their README.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use tenure_trace::{COLUMNS, Encoding, Event, FIRST_LINE, TraceReader, TraceWriter, read_all};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

/// Name to numbers: allocations, frames, peak live bytes, peak live allocations.
fn table() -> BTreeMap<String, [u64; 4]> {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let number = |cell: &str| cell.replace(',', "").parse().unwrap();
        let numbers = [3, 4, 5, 6].map(|column| number(cells[column]));
        (cells[1].trim_matches('`').to_owned(), numbers)
    })
    .collect()
}

#[test]
fn the_table_in_the_readme_is_correct() {
    let found: BTreeMap<_, _> = files()
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let reader = TraceReader::open(&path).unwrap();
            assert_eq!(reader.encoding(), Encoding::Gzip);
            let summary = reader.finish().unwrap();
            assert_eq!(summary.live_at_end, [], "{name}");
            assert_eq!(summary.allocs, summary.frees, "{name}");
            let numbers =
                [summary.allocs, summary.frames, summary.peak_live_bytes, summary.peak_live_allocations];
            (name, numbers)
        })
        .collect();
    assert!(found.len() >= 9);
    assert_eq!(found, table());
}

#[test]
fn recordings_of_version_1_can_be_converted_to_version_2() {
    for path in files() {
        let file = fs::read(&path).unwrap();
        let trace = read_all(file.as_slice(), "original").unwrap();
        let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain).unwrap();
        for event in &trace.events {
            writer.event(event).unwrap();
        }
        let written = writer.finish().unwrap();
        assert!(read_all(written.as_slice(), "again").unwrap() == trace, "{}", path.display());

        let mut expected = format!("{FIRST_LINE}\n{COLUMNS}\n");
        let original = BufReader::new(flate2::read::GzDecoder::new(file.as_slice()));
        original.lines().skip(1).for_each(|line| expected += &format!("{},\n", line.unwrap()));
        assert!(written == expected.as_bytes(), "{}", path.display());
    }
}

#[test]
fn the_frame_column_is_the_last_mark() {
    for path in files() {
        let mut last = 0;
        for event in TraceReader::open(&path).unwrap() {
            let event = event.unwrap();
            if let Event::Frame { number } = event {
                assert_eq!(number, last + 1);
                last = number;
            }
            assert_eq!(event.frame(), last);
        }
    }
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect()
}
