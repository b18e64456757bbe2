//! The inputs of the program: recordings and lists of resources in every encoding, from files and standard input.

use std::fs;
use std::io::Write;
use std::process::Output;
#[cfg(all(target_os = "linux", feature = "zstd"))]
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::running::{run_with_input, status, stderr, stdout};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[cfg(feature = "zstd")]
fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

fn plain(text: &[u8]) -> Vec<u8> {
    text.to_vec()
}

type Encode = fn(&[u8]) -> Vec<u8>;

const ENCODINGS: &[(&str, Encode)] = &[
    ("plain", plain),
    ("gzip", gzip),
    #[cfg(feature = "zstd")]
    ("zstd", zstd),
];

/// A subcommand with an input, and a valid file.
struct Reader {
    command: &'static str,
    header: &'static str,
    line: fn(usize) -> String,
    /// Part of the output for ten lines.
    told: &'static str,
}

const READERS: [Reader; 2] = [
    Reader {
        command: "replay",
        header: "op,id,size,align,kind,frame\n",
        line: |id| format!("alloc,{id},{},64,gpu_only+linear,0\n", 256 * (1 + id * 7919 % 977)),
        told: "\"ops\":10,",
    },
    Reader {
        command: "plan",
        header: "id,lower,upper,size\n",
        line: |id| format!("{id},{},{},{}\n", id % 7, id % 7 + 3, 1 + id * 7919 % 977),
        told: "\"buffers\":10,",
    },
];

impl Reader {
    fn text(&self, lines: usize) -> String {
        self.header.to_owned() + &(1..=lines).map(self.line).collect::<String>()
    }

    /// The output for standard input, and for a file whose name does not indicate the encoding.
    fn outputs(&self, bytes: &[u8]) -> [(String, Output); 2] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.csv").to_str().unwrap().to_owned();
        fs::write(&file, bytes).unwrap();
        let of_file = run_with_input(&[self.command, &file, "--json"], b"");
        [("stdin".to_owned(), run_with_input(&[self.command, "-", "--json"], bytes)), (file, of_file)]
    }

    fn check_refused(&self, bytes: &[u8], reason: &str) {
        for (name, output) in self.outputs(bytes) {
            let said = stderr(&output);
            assert_eq!((status(&output), stdout(&output).as_str()), (2, ""), "{}: {said}", self.command);
            assert!(said.starts_with(&format!("{name}:{reason}")), "{}, {reason}: {said}", self.command);
        }
    }
}

#[test]
fn every_encoding_is_read_with_and_without_a_byte_order_mark() {
    for reader in READERS {
        for (encoding, encode) in ENCODINGS {
            for mark in ["", "\u{feff}"] {
                let bytes = encode(format!("{mark}{}", reader.text(10)).as_bytes());
                for (name, output) in reader.outputs(&bytes) {
                    let (told, said) = (stdout(&output), stderr(&output));
                    // Recordings whose last allocations are live have leaks.
                    assert!(status(&output) < 2, "{} {name} {encoding}: {said}", reader.command);
                    assert!(told.contains(reader.told), "{} {name} {encoding}: {told}", reader.command);
                }
            }
        }
    }
}

#[test]
fn errors_of_a_line_are_reported_in_every_encoding() {
    for reader in READERS {
        for (_, encode) in ENCODINGS {
            reader.check_refused(&encode(format!("{}?\n", reader.text(10)).as_bytes()), "12: ");
            reader.check_refused(&encode(b"?\n"), "1: the header ");
            reader.check_refused(&encode(b""), "1: the header ");
            let long = format!("{}{}\n", reader.text(3), "a".repeat(100_000));
            reader.check_refused(&encode(long.as_bytes()), "5: the line is longer than ");
            let marks = format!("\u{feff}\u{feff}{}", reader.text(1));
            reader.check_refused(&encode(marks.as_bytes()), "1: the header ");
        }
    }
}

#[test]
fn damaged_encodings_are_named_with_their_line() {
    for reader in READERS {
        let whole = reader.text(20_000);
        for (encoding, encode) in &ENCODINGS[1..] {
            let bytes = encode(whole.as_bytes());
            reader.check_refused(&bytes[..6], &format!("1: cannot read ({encoding}): "));
            for damaged in [&bytes[..bytes.len() / 2], &[&bytes[..], b"and more"].concat()] {
                for (name, output) in reader.outputs(damaged) {
                    let said = stderr(&output);
                    assert_eq!(status(&output), 2, "{} {encoding}: {said}", reader.command);
                    let (line, reason) = said[name.len() + 1..].split_once(": ").unwrap();
                    let line: usize = line.parse().unwrap();
                    assert!(line > 1 && line <= 20_002, "{said}");
                    assert!(reason.starts_with(&format!("cannot read ({encoding}): ")), "{said}");
                }
            }
        }
    }
}

#[test]
fn files_compressed_twice_are_refused() {
    for reader in READERS {
        reader.check_refused(&gzip(&gzip(reader.text(10).as_bytes())), "1: ");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.csv.gz").to_str().unwrap().to_owned();
    for reader in READERS {
        let output = run_with_input(&[reader.command, &missing], b"");
        let said = stderr(&output);
        assert_eq!(status(&output), 2);
        assert!(said.starts_with(&format!("{missing}: cannot open: ")), "{said}");
        let output = run_with_input(&[reader.command, folder.path().to_str().unwrap()], b"");
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).starts_with(folder.path().to_str().unwrap()));
    }
}

#[cfg(all(target_os = "linux", feature = "zstd"))]
#[test]
fn endless_compressed_lines_take_no_memory() {
    use std::io::{self, Read};

    for reader in READERS {
        let endless = reader.header.as_bytes().chain(io::repeat(b'a').take(1 << 30));
        let bytes = zstd::encode_all(endless, 1).unwrap();
        let script = format!("ulimit -v 800000; '{}' {} -", env!("CARGO_BIN_EXE_tenure"), reader.command);
        let mut command = Command::new("sh");
        let streams = command.args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = streams.spawn().unwrap();
        let _closed = child.stdin.take().unwrap().write_all(&bytes);
        let output = child.wait_with_output().unwrap();
        assert_eq!(status(&output), 2);
        let said = stderr(&output);
        assert!(said.starts_with("stdin:2: the line is longer than "), "{said}");
    }
}
