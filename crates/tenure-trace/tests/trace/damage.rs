//! Damaged files: each kind of damage is reported with its reason and line, and none causes a panic.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};

use proptest::prelude::*;
use tenure_trace::{
    Column, Encoding, Event, HEADER, Kind, Layout, MAX_LINE_BYTES, MemoryKind, Reason, Trace, TraceError,
    TraceReader, Validator, read_all,
};

const A: &str = "alloc,1,100,16,gpu_only+linear,5\n";
const F: &str = "free,1,100,,gpu_only+linear,5\n";
const KIND: Kind = Kind::new(MemoryKind::GpuOnly, Layout::Linear);

fn read(lines: &str) -> Result<Trace, TraceError> {
    read_all(format!("{HEADER}\n{lines}").as_bytes(), "game.csv")
}

/// Checks that only the last line is damaged, for this reason.
#[track_caller]
fn damaged(lines: &str, expected: Reason) {
    let error = read(lines).unwrap_err();
    let last = 1 + lines.lines().count();
    assert_eq!(error.to_string(), format!("game.csv:{last}: {expected}"));
    assert_eq!(error.reason(), Some(&expected));
    assert_eq!(error.line(), Some(last as u64));
    assert_eq!(error.name(), Some("game.csv"));
}

#[test]
fn headers() {
    for text in
        ["", "\n", "op,id,size,align,kind", "alloc,1,1,1,gpu_only+linear,0\n", " op,id,size,align,kind,frame"]
    {
        let error = read_all(text.as_bytes(), "t").unwrap_err();
        let found = text.trim_end_matches('\n').to_owned();
        assert_eq!(error.line(), Some(1), "{text:?}");
        assert_eq!(error.reason(), Some(&Reason::BadHeader { found }));
    }
    let long = "x".repeat(MAX_LINE_BYTES + 1);
    let error = read_all(long.as_bytes(), "t").unwrap_err();
    assert_eq!(error.reason(), Some(&Reason::LineTooLong));
    assert_eq!(error.line(), Some(1));
}

#[test]
fn shapes_of_lines() {
    damaged("\n", Reason::WrongColumns { found: 1, expected: 6 });
    damaged("frame,,,,1", Reason::WrongColumns { found: 5, expected: 6 });
    damaged("frame,,,,,1,", Reason::WrongColumns { found: 7, expected: 6 });
    damaged("Frame,,,,,1", Reason::UnknownOperation { found: "Frame".into() });
    damaged(&"x".repeat(MAX_LINE_BYTES + 1), Reason::LineTooLong);
    damaged(&",".repeat(MAX_LINE_BYTES), Reason::WrongColumns { found: MAX_LINE_BYTES + 1, expected: 6 });
    damaged("frame,7,,,,1", Reason::NotEmpty { column: Column::Id, found: "7".into() });
    damaged("frame,,,,gpu_only,1", Reason::NotEmpty { column: Column::Kind, found: "gpu_only".into() });
    let error = read_all([HEADER.as_bytes(), b"\nframe,\xff,,,,1\n"].concat().as_slice(), "t");
    assert_eq!(error.unwrap_err().reason(), Some(&Reason::InvalidUtf8 { valid_bytes: 6 }));
}

#[test]
fn numbers_and_kinds() {
    for found in ["", "+1", "-1", " 1", "1.0", "0x1", "18446744073709551616", "١"] {
        damaged(
            &format!("alloc,{found},1,1,gpu_only+linear,0"),
            Reason::BadNumber { column: Column::Id, found: found.into() },
        );
    }
    damaged(
        "alloc,1,1,,gpu_only+linear,0",
        Reason::BadNumber { column: Column::Align, found: String::new() },
    );
    damaged("frame,,,,,", Reason::BadNumber { column: Column::Frame, found: String::new() });
    for found in
        ["", "gpu_only", "linear+gpu_only", "gpu_only+", "gpu_only+linear+optimal", "GPU_ONLY+linear"]
    {
        damaged(&format!("alloc,1,1,1,{found},0"), Reason::UnknownKind { found: found.into() });
    }
}

#[test]
fn sizes_and_alignments() {
    for size in [0, (1 << 44) + 1, u64::MAX] {
        damaged(&format!("alloc,1,{size},1,gpu_only+linear,0"), Reason::BadSize { size });
    }
    for align in [0, 3, 48, 1 << 31, u64::MAX] {
        damaged(&format!("alloc,1,1,{align},gpu_only+linear,0"), Reason::BadAlign { align });
    }
    assert!(read("alloc,1,17592186044416,1073741824,gpu_only+linear,0").is_ok());
}

#[test]
fn ids() {
    damaged(&format!("{A}{A}"), Reason::ReusedId { id: 1 });
    damaged(&format!("{A}{F}{A}"), Reason::ReusedId { id: 1 });
    damaged(F, Reason::UnknownId { id: 1 });
    damaged(&format!("{A}{F}{F}"), Reason::DoubleFree { id: 1 });
    let far = A.replace(",1,", ",18446744073709551615,");
    damaged(&format!("{A}{far}{F}{F}"), Reason::DoubleFree { id: 1 });
}

#[test]
fn repeated_fields_of_a_free_must_match() {
    damaged(
        &format!("{A}free,1,101,,gpu_only+linear,5"),
        Reason::SizeMismatch { id: 1, freed: 101, allocated: 100 },
    );
    damaged(
        &format!("{A}free,1,100,32,gpu_only+linear,5"),
        Reason::AlignMismatch { id: 1, freed: 32, allocated: 16 },
    );
    let freed = Kind::new(MemoryKind::GpuOnly, Layout::Optimal);
    damaged(
        &format!("{A}free,1,100,,gpu_only+optimal,5"),
        Reason::KindMismatch { id: 1, freed, allocated: KIND },
    );
    for free in ["free,1,100,,,5", "free,1,100,16,,5", "free,1,100,16,gpu_only+linear,5\r\n"] {
        assert!(read(&format!("{A}{free}")).unwrap().summary.live_at_end.is_empty());
    }
}

#[test]
fn frames() {
    damaged("frame,,,,,2\nframe,,,,,1", Reason::FrameBackwards { frame: 1, previous: 2 });
    damaged("frame,,,,,2\nframe,,,,,2", Reason::FrameRepeated { number: 2 });
    damaged(&format!("frame,,,,,6\n{A}"), Reason::FrameBackwards { frame: 5, previous: 6 });
    damaged(&format!("{A}frame,,,,,4"), Reason::FrameBackwards { frame: 4, previous: 5 });
    assert!(read(&format!("frame,,,,,0\n{A}frame,,,,,5\n{F}frame,,,,,18446744073709551615")).is_ok());
}

#[test]
fn more_live_bytes_than_can_be_counted() {
    let huge = |id| Event::Alloc { id, size: 1 << 44, align: 1, kind: KIND, frame: 0 };
    let mut validator = Validator::new();
    let fits = (1 << 20) - 1;
    for id in 0..fits {
        validator.check(&huge(id)).unwrap();
    }
    let size = 1 << 44;
    let live_bytes = size * fits;
    assert_eq!(validator.check(&huge(fits)), Err(Reason::TooMuchLive { live_bytes, size }));
    validator.check(&Event::Free { id: 0, size, frame: 0 }).unwrap();
    validator.check(&huge(fits)).unwrap();
    assert_eq!(validator.summary().peak_live_bytes, live_bytes);
}

#[test]
fn the_end_of_the_file() {
    let trace = read(A.trim_end()).unwrap();
    assert_eq!(trace.events.len(), 1, "the last line may lack its line end");
    let live = trace.summary.live_at_end[0];
    assert_eq!((live.id, live.size, live.align, live.kind), (1, 100, 16, KIND));
}

#[test]
fn the_reader_ends_after_an_error() {
    let text = format!("{HEADER}\n{A}oops\n{F}");
    let mut reader = TraceReader::new(text.as_bytes(), "t").unwrap();
    assert!(reader.next().unwrap().is_ok());
    assert!(reader.next().unwrap().is_err());
    assert_eq!(reader.line(), 3);
    assert!(reader.next().is_none());
    assert_eq!(reader.summary().allocs, 1);
}

/// A source without end and without line feeds.
struct Endless(u64);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0 += into.len() as u64;
        assert!(self.0 < 1 << 20, "the reader does not give up");
        into.fill(b'7');
        Ok(into.len())
    }
}

#[test]
fn an_endless_line_ends() {
    let source = format!("{HEADER}\nalloc,");
    let error = read_all(source.as_bytes().chain(Endless(0)), "t").unwrap_err();
    assert_eq!(error.reason(), Some(&Reason::LineTooLong));
    assert_eq!(error.line(), Some(2));
    // The same compressed: megabytes of one byte in a few kilobytes.
    let mut text = source.into_bytes();
    text.resize(64 << 20, b'7');
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&text).unwrap();
    let gzip = bomb.finish().unwrap();
    #[cfg(not(feature = "zstd"))]
    let bombs = [gzip];
    #[cfg(feature = "zstd")]
    let bombs = [gzip, zstd::encode_all(text.as_slice(), 1).unwrap()];
    for bomb in bombs {
        let error = read_all(bomb.as_slice(), "t").unwrap_err();
        assert_eq!(error.reason(), Some(&Reason::LineTooLong));
    }
}

#[test]
fn failing_sources_are_distinguished_from_damaged_lines() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let source = format!("{HEADER}\n{A}");
    match read_all(source.as_bytes().chain(Broken), "t").unwrap_err() {
        TraceError::Read { line: 3, error, .. } => {
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        }
        other => panic!("{other}"),
    }
    assert!(matches!(read_all(Broken, "t"), Err(TraceError::Read { line: 1, .. })));
    let missing = TraceReader::open("no/such/file.csv").unwrap_err();
    assert!(matches!(missing, TraceError::Open { .. }));
    assert_eq!(missing.name(), Some("no/such/file.csv"));
}

/// A second, simple implementation of the rules.
#[derive(Default)]
struct Oracle {
    live: HashMap<u64, u64>,
    used: HashSet<u64>,
    frame: u64,
    marks: HashSet<u64>,
    bytes: u64,
    peak: (u64, u64),
}

impl Oracle {
    fn accepts(&mut self, event: &Event) -> bool {
        if event.frame() < self.frame {
            return false;
        }
        let fits = match *event {
            Event::Alloc { id, size, align, .. } => {
                let fits = size != 0
                    && size <= 1 << 44
                    && align.count_ones() == 1
                    && align <= 1 << 30
                    && self.used.insert(id);
                if fits {
                    self.live.insert(id, size);
                    self.bytes += size;
                }
                fits
            }
            Event::Free { id, size, .. } => {
                let fits = self.live.get(&id) == Some(&size);
                if fits {
                    self.live.remove(&id);
                    self.bytes -= size;
                }
                fits
            }
            Event::Frame { number } => self.marks.insert(number),
            _ => unreachable!("see `any_event`"),
        };
        if fits {
            self.frame = event.frame();
            self.peak.0 = self.peak.0.max(self.bytes);
            self.peak.1 = self.peak.1.max(self.live.len() as u64);
        }
        fits
    }
}

/// Events that often break a rule.
fn any_event() -> impl Strategy<Value = Event> {
    let size = prop_oneof![8 => 1..4_u64, 1 => Just(0), 1 => any::<u64>()];
    let align = prop_oneof![4 => Just(4_u64), 1 => 0..20_u64, 1 => any::<u64>()];
    let frame = prop_oneof![8 => Just(3_u64), 1 => 0..6_u64];
    (0..3_u8, 0..12_u64, size, align, crate::common::kind(), frame).prop_map(
        |(op, id, size, align, kind, frame)| match op {
            0 => Event::Alloc { id, size, align, kind, frame },
            1 => Event::Free { id, size, frame },
            _ => Event::Frame { number: frame },
        },
    )
}

fn mutate(file: &mut Vec<u8>, mutations: &[(u8, prop::sample::Index, u8)]) {
    for &(how, place, byte) in mutations {
        if file.is_empty() {
            return;
        }
        let place = place.index(file.len());
        match how {
            0 => file[place] = byte,
            1 => file[place] ^= 1 << (byte % 8),
            2 => file.insert(place, byte),
            3 => drop(file.remove(place)),
            4 => file.truncate(place),
            _ => {
                // Repeat a piece.
                let end = file.len().min(place + usize::from(byte));
                file.extend_from_within(place..end);
            }
        }
    }
}

proptest! {
    #[test]
    fn the_validator_agrees_with_the_rules(events in prop::collection::vec(any_event(), 0..200)) {
        let mut validator = Validator::new();
        let mut oracle = Oracle::default();
        for event in &events {
            prop_assert_eq!(validator.check(event).is_ok(), oracle.accepts(event), "{:?}", event);
        }
        let summary = validator.summary();
        prop_assert_eq!((summary.peak_live_bytes, summary.peak_live_allocations), oracle.peak);
        prop_assert_eq!(summary.allocs, oracle.used.len() as u64);
        prop_assert_eq!(summary.allocs - summary.frees, oracle.live.len() as u64);
        prop_assert_eq!(summary.frames, oracle.marks.len() as u64);
        let live: HashMap<_, _> = summary.live_at_end.iter().map(|live| (live.id, live.size)).collect();
        prop_assert_eq!(live, oracle.live);
    }

    #[test]
    fn damage_never_panics_and_never_passes_as_valid(
        lines in crate::common::valid_lines(),
        mutations in prop::collection::vec((0..6_u8, any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        for encoding in crate::common::encodings() {
            let mut file = crate::common::written(&lines, encoding);
            mutate(&mut file, &mutations);
            match read_all(file.as_slice(), "t") {
                Ok(trace) => {
                    let lines = trace.iter().map(|(event, details)| (*event, details.clone()));
                    let again = Trace::new(trace.header.clone(), lines).unwrap();
                    prop_assert_eq!(again, trace);
                }
                Err(error) => {
                    prop_assert!(error.line().is_some_and(|line| line >= 1));
                    prop_assert!(error.to_string().starts_with("t:"));
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), magic in 0..5) {
        let magic: &[u8] = match magic {
            0 => b"op,id,size,align,kind,frame\n",
            4 => b"#tenure-recording=2\n",
            1 => &[0x1f, 0x8b, 8, 0],
            2 => &[0x28, 0xb5, 0x2f, 0xfd],
            _ => &[],
        };
        let file = [magic, &bytes].concat();
        if let Ok(trace) = read_all(file.as_slice(), "t") {
            prop_assert!(trace.events.is_empty(), "{:?}", trace);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn compressed_files_cut_short_or_followed_by_garbage_are_errors(
        lines in crate::common::valid_lines(),
        garbage in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        // A case reads every prefix: few lines are enough.
        let lines = &lines[..lines.len().min(60)];
        for encoding in crate::common::encodings().filter(|encoding| *encoding != Encoding::Plain) {
            let file = crate::common::written(lines, encoding);
            for length in 0..file.len() {
                prop_assert!(read_all(&file[..length], "t").is_err(), "{} of {}", length, file.len());
            }
            let longer = [file.as_slice(), &garbage].concat();
            prop_assert!(read_all(longer.as_slice(), "t").is_err(), "{encoding}");
        }
    }
}
