//! Written recordings are read back, and the writer accepts only valid events.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use tenure_trace::{
    Encoding, Event, Header, Kind, Layout, MemoryKind, Reason, Trace, TraceError, TraceReader, TraceWriter,
    check, read_all,
};

const KIND: Kind = Kind::new(MemoryKind::GpuOnly, Layout::Linear);

/// A source with short and interrupted reads.
struct Dripping<'a> {
    rest: &'a [u8],
    calls: usize,
}

impl Read for Dripping<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = into.len().min(self.calls % 7 + 1);
        self.rest.read(&mut into[..count])
    }
}

proptest! {
    #[test]
    fn events_survive_a_round_trip(lines in crate::common::valid_lines()) {
        let expected = Trace::new(Header::default(), lines.clone()).unwrap();
        let events: Vec<_> = lines.iter().map(|(event, _)| *event).collect();
        for encoding in crate::common::encodings() {
            let file = crate::common::written(&lines, encoding);
            let trace = read_all(file.as_slice(), "t").unwrap();
            prop_assert!(trace.iter().map(|(event, details)| (*event, details.clone())).eq(lines.clone()));
            prop_assert_eq!(&trace, &expected);
            prop_assert_eq!(check(file.as_slice(), "t").unwrap(), trace.summary);

            let dripping = Dripping { rest: &file, calls: 0 };
            let reader = TraceReader::new(dripping, "t").unwrap();
            prop_assert_eq!(reader.encoding(), encoding);
            let dripped: Vec<_> = reader.map(Result::unwrap).collect();
            prop_assert_eq!(dripped, events.clone());
        }
    }

    #[test]
    fn compressed_files_put_together_are_one_text(lines in crate::common::valid_lines(), cut in any::<prop::sample::Index>()) {
        let text = crate::common::written(&lines, Encoding::Plain);
        let events: Vec<_> = lines.iter().map(|(event, _)| *event).collect();
        let (first, second) = text.split_at(cut.index(text.len()));
        let mut gzip = Vec::new();
        for part in [first, second] {
            let mut encoder = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
        }
        prop_assert_eq!(&read_all(gzip.as_slice(), "t").unwrap().events, &events);
        #[cfg(feature = "zstd")]
        {
            let zstd = [first, second].map(|part| zstd::encode_all(part, 1).unwrap()).concat();
            prop_assert_eq!(&read_all(zstd.as_slice(), "t").unwrap().events, &events);
        }
    }
}

/// Without its feature zstd is recognised, and refused with the remedy.
#[cfg(not(feature = "zstd"))]
#[test]
fn zstd_without_its_feature_is_an_error() {
    const HEAD: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 4, 0];
    let why = "this program was built without zstd (the feature `zstd` of the crate tenure-trace)";
    match read_all(&HEAD[..], "game.csv.zst").unwrap_err() {
        error @ TraceError::Read { encoding: Encoding::Zstd, .. } => {
            assert_eq!(error.to_string(), format!("game.csv.zst:1: cannot read (zstd): {why}"));
        }
        other => panic!("{other}"),
    }
    match TraceWriter::new(Vec::new(), Encoding::Zstd).map(drop) {
        Err(TraceError::Write { error }) => {
            assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::Unsupported, why));
        }
        other => panic!("{other:?}"),
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.csv.zst");
    std::fs::write(&file, "what was there").unwrap();
    assert!(matches!(TraceWriter::create(&file, Encoding::Zstd), Err(TraceError::Write { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), b"what was there");
}

#[test]
fn a_refused_event_leaves_no_trace() {
    let alloc = |id, size| Event::Alloc { id, size, align: 16, kind: KIND, frame: 0 };
    let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain).unwrap();
    writer.event(&alloc(1, 100)).unwrap();
    let refused = [
        (alloc(1, 100), Reason::ReusedId { id: 1 }),
        (alloc(2, 0), Reason::BadSize { size: 0 }),
        (Event::Free { id: 2, size: 100, frame: 0 }, Reason::UnknownId { id: 2 }),
        (
            Event::Free { id: 1, size: 99, frame: 0 },
            Reason::SizeMismatch { id: 1, freed: 99, allocated: 100 },
        ),
    ];
    for (event, expected) in refused {
        match writer.event(&event) {
            Err(TraceError::Refused { line: 4, reason }) => assert_eq!(reason, expected),
            other => panic!("{event:?} gave {other:?}"),
        }
    }
    writer.event(&alloc(2, 4)).unwrap();
    assert_eq!(writer.summary().live_at_end.len(), 2);
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(text.ends_with("\nalloc,2,4,16,gpu_only+linear,0,\n"));
}

/// A sink with room for a number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_by_finish_at_the_latest() {
    let lines = crate::common::frames(1..20_000);
    for encoding in crate::common::encodings() {
        let needed = crate::common::written(&lines, encoding).len();
        for room in [0, 1, needed / 2, needed - 1] {
            let mut writer = TraceWriter::new(Full(room), encoding).unwrap();
            let failed = lines.iter().any(|(event, _)| writer.event(event).is_err());
            assert!(!failed || writer.flush().is_err(), "{encoding}: works again after a failure");
            match writer.finish() {
                Err(TraceError::Write { error }) => {
                    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                }
                _ => panic!("{encoding}: {room} of {needed} bytes are not enough"),
            }
        }
        let mut writer = TraceWriter::new(Full(needed), encoding).unwrap();
        assert!(lines.iter().all(|(event, _)| writer.event(event).is_ok()));
        assert!(writer.finish().is_ok());
    }
}

#[test]
fn flushed_events_can_be_read_after_a_crash() {
    let events: Vec<_> = (1..1000).map(|number| Event::Frame { number }).collect();
    for encoding in crate::common::encodings() {
        let mut file = Vec::new();
        let mut writer = TraceWriter::new(&mut file, encoding).unwrap();
        for event in &events {
            writer.event(event).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        let reader = TraceReader::new(file.as_slice(), "t").unwrap();
        let read: Vec<_> = reader.map_while(Result::ok).collect();
        assert_eq!(read, events, "{encoding}");
    }
}

#[test]
fn recorders_may_be_shared_between_threads() {
    fn send<T: Send>() {}
    send::<Event>();
    send::<TraceWriter<std::fs::File>>();
    send::<TraceReader<std::fs::File>>();
    send::<tenure_trace::Generator>();
    assert!(size_of::<Event>() <= 40);
}
