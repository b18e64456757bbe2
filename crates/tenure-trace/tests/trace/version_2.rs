//! Recordings of version 2: headers, words and the operations besides allocations.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use tenure_trace::{
    COLUMNS, Details, Encoding, Event, FIRST_LINE, HEADER, Header, HeapKind, Kind, Layout, MAX_HEADER_LINES,
    MAX_LINE_BYTES, MAX_NAME_BYTES, MemoryKind, Reason, Trace, TraceError, TraceReader, TraceWriter,
    Validator, read_all,
};

const KIND: Kind = Kind::new(MemoryKind::GpuOnly, Layout::Linear);

fn read(lines: &str) -> Result<Trace, TraceError> {
    read_all(format!("{FIRST_LINE}\n{COLUMNS}\n{lines}").as_bytes(), "game.tenure")
}

/// Checks that only the last line is damaged, for this reason.
#[track_caller]
fn damaged(lines: &str, expected: Reason) {
    let error = read(lines).unwrap_err();
    let last = 2 + lines.lines().count();
    assert_eq!(error.to_string(), format!("game.tenure:{last}: {expected}"));
    assert_eq!(error.reason(), Some(&expected));
}

#[test]
fn a_recording_has_all_facts_of_a_capture() {
    let text = "#tenure-recording=2\n\
                #api=vulkan\n\
                #device=NVIDIA, 50 %25\n\
                #type.0=1,0\n\
                #type.1=14,1\n\
                #later-key=\n\
                op,id,size,align,kind,frame,more\n\
                block,1,65536,,,0,type=1 t=17 later-flag\n\
                block,2,4096,,,0,import\n\
                alloc,1,2304,64,cpu_to_gpu+linear,0,block=1 offset=63232 type=1 heap=host usage=0x82 later=key\n\
                alloc,2,4096,4096,gpu_only+optimal,0,block=2 import dedicated extent=64x16x1 format=37 mips=5 \
                layers=2 samples=1 priority=0.5 name=rock%20wall needs-dedicated wants-dedicated address device=3\n\
                alias,3,256,256,gpu_only+linear,0,of=1 offset=2048 linear-image thread=2\n\
                submit,9,,,,0,\n\
                frame,,,,,1,\n\
                done,9,,,,1,\n\
                map,1,,,,1,t=9\n\
                unmap,1,,,,1,\n\
                free,1,2304,,,1,final\n\
                unblock,1,65536,,,1,\n\
                free,3,256,,gpu_only+linear,1,\n";
    let trace = read_all(text.as_bytes(), "t").unwrap();
    assert_eq!(trace.header.get("device"), Some("NVIDIA, 50 %"));
    assert_eq!(trace.header.get("later-key"), Some(""));
    let types = [0, 1, 2].map(|number| trace.header.memory_type(number));
    assert!(types[0].unwrap().is_local() && !types[1].unwrap().is_local() && types[2].is_none());

    let frame = 0;
    assert_eq!(trace.events[0], Event::Block { id: 1, size: 65536, frame });
    assert_eq!(trace.events[5], Event::Submit { number: 9, frame });
    assert_eq!(trace.events[7], Event::Done { number: 9, frame: 1 });
    assert_eq!(trace.events[8..10], [Event::Map { id: 1, frame: 1 }, Event::Unmap { id: 1, frame: 1 }]);
    assert_eq!(trace.events[11], Event::Unblock { id: 1, size: 65536, frame: 1 });
    let block = Details { memory_type: Some(1), time_us: Some(17), ..Details::default() };
    assert_eq!(trace.details(0), &block);
    let buffer = Details {
        block: Some(1),
        offset: Some(63232),
        memory_type: Some(1),
        heap: Some(HeapKind::Host),
        usage: Some(0x82),
        ..Details::default()
    };
    assert_eq!(trace.details(2), &buffer);
    let image = Details {
        block: Some(2),
        is_import: true,
        is_dedicated: true,
        wants_dedicated: true,
        needs_dedicated: true,
        has_address: true,
        extent: Some([64, 16, 1]),
        format: Some(37),
        mips: Some(5),
        layers: Some(2),
        samples: Some(1),
        priority: Some(500),
        device: Some(3),
        ..Details::default()
    };
    assert_eq!(trace.details(3), &image.named("rock wall"));
    let alias = Details {
        of: Some(1),
        offset: Some(2048),
        is_linear_image: true,
        thread: Some(2),
        ..Details::default()
    };
    assert_eq!(trace.details(4), &alias);
    assert_eq!(trace.details(6), &Details::default());
    assert!(trace.details(10).is_final);
    assert_eq!(trace.details(1 << 40), &Details::default());

    let summary = &trace.summary;
    assert_eq!((summary.allocs, summary.frees, summary.final_frees), (1, 1, 1));
    assert_eq!((summary.aliases, summary.imports, summary.submissions), (1, 1, 1));
    assert_eq!((summary.peak_live_bytes, summary.peak_live_allocations), (2304, 1));
    assert_eq!((summary.blocks, summary.peak_blocks, summary.peak_block_bytes), (1, 1, 65536));
    assert_eq!(summary.live_at_end, [], "imports are not the program's memory");
}

#[test]
fn details_are_those_of_the_last_event() {
    let text = format!("{FIRST_LINE}\n#api=d3d12\n{COLUMNS}\nframe,,,,,1,t=5\nframe,,,,,2,\n");
    let mut reader = TraceReader::new(text.as_bytes(), "t").unwrap();
    assert_eq!(reader.header().get("api"), Some("d3d12"));
    assert_eq!(reader.details(), &Details::default());
    for (line, time_us) in [(4, Some(5)), (5, None)] {
        reader.next().unwrap().unwrap();
        assert_eq!((reader.line(), reader.details().time_us), (line, time_us));
    }
}

#[test]
fn headers() {
    let read = |text: &str| read_all(text.as_bytes(), "t");
    let expect = |text: &str, line, reason| {
        let error = read(text).unwrap_err();
        assert_eq!((error.line(), error.reason()), (Some(line), Some(&reason)), "{text:?}");
    };
    let many: String = (0..MAX_HEADER_LINES).map(|number| format!("#key{number}=value\n")).collect();
    assert!(read(&format!("{FIRST_LINE}\r\n{many}{COLUMNS}\r\n")).unwrap().events.is_empty());
    let text = format!("{FIRST_LINE}\n{many}#more=value\n{COLUMNS}\n");
    expect(&text, 2 + MAX_HEADER_LINES as u64, Reason::TooManyHeaderLines);
    for first in ["#tenure-recording=3", "#tenure-recording=", "#tenure-recording=2 ", "#api=vulkan"] {
        expect(first, 1, Reason::BadHeader { found: first.into() });
    }
    for found in
        ["", "api", "=vulkan", "a b=c", "a=%", "a=%ff", "schlüssel=1", &format!("{}=", "k".repeat(65))]
    {
        let expected = Reason::BadHeaderLine { found: found.into() };
        expect(&format!("{FIRST_LINE}\n#{found}\n{COLUMNS}\n"), 2, expected);
    }
    for found in ["", HEADER, "frame,,,,,1,", "op,id,size,align,kind,frame,more,even more"] {
        expect(&format!("{FIRST_LINE}\n{found}\n"), 2, Reason::BadColumns { found: found.into() });
    }
    expect(FIRST_LINE, 2, Reason::BadColumns { found: String::new() });
    for key in ["api", "tenure-recording"] {
        let text = format!("{FIRST_LINE}\n#api=a\n#{key}=2\n{COLUMNS}\n");
        expect(&text, 3, Reason::RepeatedKey { key: key.into() });
    }
    let long = format!("{FIRST_LINE}\n#a={}\n", "b".repeat(MAX_LINE_BYTES));
    expect(&long, 2, Reason::LineTooLong);
    let long = format!("{FIRST_LINE}\n#a={}\n", "b".repeat(513));
    assert!(matches!(read(&long).unwrap_err().reason(), Some(Reason::BadHeaderLine { .. })));
}

#[test]
fn the_writer_refuses_the_same_as_the_reader() {
    let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain).unwrap();
    for (key, value) in [("", "a"), ("a=b", "c"), ("tenure-recording", "3"), ("a", &"b".repeat(513))] {
        let mut header = Header::default();
        header.set(key, value);
        assert!(matches!(writer.set_header(header), Err(TraceError::Refused { line: 2, .. })), "{key}");
    }
    let mut header = Header::default();
    (0..=MAX_HEADER_LINES).for_each(|number| header.set(number.to_string(), ""));
    let refused = writer.set_header(header).unwrap_err();
    assert_eq!(refused.reason(), Some(&Reason::TooManyHeaderLines));
    let mut header = Header::default();
    header.set("device", "line\nfeed");
    writer.set_header(header.clone()).unwrap();
    for bad in [Details { priority: Some(1001), ..Details::default() }, {
        let name = Some("x".repeat(MAX_NAME_BYTES + 1).into());
        Details { name, ..Details::default() }
    }] {
        let refused = writer.event_with(&Event::Frame { number: 1 }, &bad);
        assert!(matches!(refused, Err(TraceError::Refused { line: 4, .. })), "{refused:?}");
    }
    writer.event(&Event::Frame { number: 1 }).unwrap();
    let late = writer.set_header(Header::default()).unwrap_err();
    assert_eq!(late.reason(), Some(&Reason::LateHeader));
    let file = writer.finish().unwrap();
    assert_eq!(
        file,
        b"#tenure-recording=2\n#device=line%0Afeed\nop,id,size,align,kind,frame,more\nframe,,,,,1,\n"
    );
    assert_eq!(read_all(file.as_slice(), "t").unwrap().header, header);
}

#[test]
fn the_longest_line_can_be_read() {
    let number = u64::MAX;
    let details = Details {
        time_us: Some(number),
        device: Some(u32::MAX),
        thread: Some(u32::MAX),
        is_final: true,
        block: Some(number),
        of: Some(number),
        offset: Some(0),
        memory_type: Some(u32::MAX),
        heap: Some(HeapKind::Local),
        wants_dedicated: true,
        needs_dedicated: true,
        is_dedicated: true,
        is_import: true,
        priority: Some(1000),
        has_address: true,
        is_linear_image: true,
        usage: Some(number),
        format: Some(u32::MAX),
        extent: Some([u32::MAX; 3]),
        mips: Some(u32::MAX),
        layers: Some(u32::MAX),
        samples: Some(u32::MAX),
        name: Some(" ".repeat(MAX_NAME_BYTES).into()),
    };
    let (size, align, kind) = (1 << 44, 1 << 30, Kind::new(MemoryKind::CpuToGpu, Layout::Optimal));
    let plain = Details::default;
    let lines = vec![
        (Event::Block { id: number, size, frame: number }, plain()),
        (Event::Alloc { id: number, size, align, kind, frame: number }, plain()),
        (Event::Alias { id: number - 1, size, align, kind, frame: number }, details),
    ];
    let file = crate::common::written(&lines, Encoding::Plain);
    let longest = file.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap();
    assert!((1200..1300).contains(&longest) && longest < MAX_LINE_BYTES, "{longest}");
    assert_eq!(read_all(file.as_slice(), "t").unwrap(), Trace::new(Header::default(), lines).unwrap());
}

#[test]
fn long_names_are_cut_between_characters() {
    let name = format!("{}ä", "x".repeat(MAX_NAME_BYTES - 1));
    assert_eq!(Details::default().named(&name).name.unwrap().len(), MAX_NAME_BYTES - 1);
    assert_eq!(Details::default().named("ä").name.as_deref(), Some("ä"));
}

#[test]
fn shapes_of_lines() {
    damaged("frame,,,,,1", Reason::WrongColumns { found: 6, expected: 7 });
    damaged("frame,,,,,1,a,b", Reason::WrongColumns { found: 8, expected: 7 });
    damaged("move,,,,,1,", Reason::UnknownOperation { found: "move".into() });
    damaged("#api=vulkan", Reason::WrongColumns { found: 1, expected: 7 });
    for line in ["submit,1,5,,,0,", "done,1,5,,,0,", "block,1,5,1,,0,", "unblock,1,5,1,,0,", "map,1,5,,,0,"] {
        assert!(matches!(read(line).unwrap_err().reason(), Some(Reason::NotEmpty { .. })), "{line}");
    }
    for op in ["alias", "submit", "done", "block", "unblock", "map", "unmap"] {
        let text = format!("{HEADER}\n{op},1,16,1,gpu_only+linear,0\n");
        let error = read_all(text.as_bytes(), "t").unwrap_err();
        assert_eq!(error.reason(), Some(&Reason::UnknownOperation { found: op.into() }), "version 1");
    }
}

#[test]
fn known_words_have_known_values() {
    for found in [
        "t=",
        "t=-1",
        "t=18446744073709551616",
        "device=4294967296",
        "thread=x",
        "block=",
        "of=+1",
        "offset=0x1",
        "type=a",
        "heap=both",
        "heap=",
        "priority=2",
        "priority=nan",
        "priority=",
        "usage=82",
        "usage=0x",
        "usage=0x+1",
        "usage=0x10000000000000000",
        "format=RGBA8",
        "extent=1x2",
        "extent=1x2x3x4",
        "extent=1x-2x3",
        "mips=",
        "layers=1.0",
        "samples=4x",
        "name=%",
        "name=%C3",
    ] {
        damaged(&format!("frame,,,,,1,{found}"), Reason::BadWord { found: found.into() });
    }
    let name = "x".repeat(MAX_NAME_BYTES + 1);
    damaged(&format!("frame,,,,,1,name={name}"), Reason::NameTooLong { bytes: MAX_NAME_BYTES + 1 });
    for unknown in ["final=1", "offset", "Final", "t:5", "  ", "=", "later=%", "later=a=b"] {
        let trace = read(&format!("frame,,,,,1,{unknown}")).unwrap();
        assert_eq!(trace.details(0), &Details::default(), "{unknown}");
    }
    let trace = read("frame,,,,,1,  mips=1  mips=2 priority=1 usage=0xAb").unwrap();
    let expected = Details { mips: Some(2), priority: Some(1000), usage: Some(0xab), ..Details::default() };
    assert_eq!(trace.details(0), &expected);
}

#[test]
fn submissions() {
    damaged("submit,1,,,,0,\nsubmit,1,,,,0,", Reason::ReusedSubmission { number: 1 });
    damaged("submit,1,,,,0,\ndone,2,,,,0,", Reason::UnknownSubmission { number: 2 });
    damaged("submit,1,,,,0,\ndone,1,,,,0,\ndone,1,,,,0,", Reason::DoneTwice { number: 1 });
    damaged("submit,1,,,,0,\ndone,1,,,,0,\nsubmit,1,,,,0,", Reason::ReusedSubmission { number: 1 });
    damaged("frame,,,,,2,\nsubmit,1,,,,1,", Reason::FrameBackwards { frame: 1, previous: 2 });
    assert!(read("submit,7,,,,0,\nsubmit,3,,,,0,\ndone,3,,,,0,\ndone,7,,,,0,").is_ok());
}

#[test]
fn blocks() {
    const B: &str = "block,1,100,,,0,\n";
    damaged("block,1,0,,,0,", Reason::BadSize { size: 0 });
    damaged(&format!("{B}{B}"), Reason::ReusedBlock { id: 1 });
    damaged("unblock,1,100,,,0,", Reason::UnknownBlock { id: 1 });
    damaged("map,1,,,,0,", Reason::UnknownBlock { id: 1 });
    damaged(&format!("{B}map,1,,,,0,\nunblock,1,100,,,0,\nunmap,1,,,,0,"), Reason::UnknownBlock { id: 1 });
    damaged(&format!("{B}unblock,1,100,,,0,\nunblock,1,100,,,0,"), Reason::UnknownBlock { id: 1 });
    damaged(&format!("{B}unblock,1,100,,,0,\n{B}"), Reason::ReusedBlock { id: 1 });
    damaged(&format!("{B}unblock,1,99,,,0,"), Reason::BlockSizeMismatch { id: 1, freed: 99, allocated: 100 });
    let alloc = |words: &str| format!("{B}alloc,1,40,1,gpu_only+linear,0,{words}\n");
    assert!(read(&alloc("block=1 offset=60")).is_ok());
    assert!(read(&alloc("offset=9999")).is_ok(), "an offset in an unknown block");
    damaged(&alloc("block=2"), Reason::UnknownBlock { id: 2 });
    for offset in [61, u64::MAX] {
        let (id, size, block_size) = (1, 40, 100);
        damaged(
            &alloc(&format!("block=1 offset={offset}")),
            Reason::OutsideBlock { id, offset, size, block_size },
        );
    }
    // Vulkan allows memory to be freed before its resources.
    let early = alloc("block=1") + "unblock,1,100,,,0,\nfree,1,40,,,0,\n";
    assert!(read(&early).unwrap().summary.live_at_end.is_empty());
    damaged(&(early + "alloc,2,40,1,gpu_only+linear,0,block=1"), Reason::UnknownBlock { id: 1 });
}

#[test]
fn aliases() {
    const A: &str = "alloc,1,100,1,gpu_only+linear,0,\n";
    let alias = |words: &str| format!("alias,2,40,1,gpu_only+optimal,0,{words}\n");
    damaged(&format!("{A}{}", alias("")), Reason::MissingWord { word: "of" });
    damaged(&format!("{A}{}", alias("of=3")), Reason::UnknownResource { id: 3 });
    damaged(&format!("{A}free,1,100,,,0,\n{}", alias("of=1")), Reason::UnknownResource { id: 1 });
    damaged(&format!("{A}{}", alias("of=2")), Reason::UnknownResource { id: 2 });
    for offset in [61, u64::MAX] {
        let expected = Reason::OutsideResource { id: 1, offset, size: 40, resource_size: 100 };
        damaged(&format!("{A}{}", alias(&format!("of=1 offset={offset}"))), expected);
    }
    damaged(&format!("{A}{}{A}", alias("of=1")), Reason::ReusedId { id: 1 });
    damaged(&format!("{A}{}{}", alias("of=1"), alias("of=1")), Reason::ReusedId { id: 2 });
    let nested = "alias,3,20,1,gpu_only+linear,0,of=2 offset=20\nfree,2,40,,gpu_only+optimal,0,\n";
    let valid = format!("{A}{}{nested}free,1,100,,,0,\n", alias("of=1 offset=60"));
    assert_eq!(read(&valid).unwrap().summary.peak_live_bytes, 100);
    damaged(&(valid.clone() + "free,3,40,,,0,"), Reason::SizeMismatch { id: 3, freed: 40, allocated: 20 });
    damaged(&(valid + "free,2,40,,,0,"), Reason::DoubleFree { id: 2 });
}

/// A second, simple implementation of the rules of version 2.
#[derive(Default)]
struct Oracle {
    live: HashMap<u64, u64>,
    used: HashSet<u64>,
    blocks: HashMap<u64, u64>,
    used_blocks: HashSet<u64>,
    submissions: HashMap<u64, bool>,
}

impl Oracle {
    fn accepts(&mut self, event: &Event, details: &Details) -> bool {
        let offset = u128::from(details.offset.unwrap_or(0));
        let ends_before = |whole: Option<&u64>, size: u64| {
            whole.is_some_and(|whole| offset + u128::from(size) <= u128::from(*whole))
        };
        match *event {
            Event::Alloc { id, size, .. } => {
                let has_room = details.block.is_none_or(|block| ends_before(self.blocks.get(&block), size));
                has_room && self.used.insert(id) && self.live.insert(id, size).is_none()
            }
            Event::Alias { id, size, .. } => {
                let has_room = details.of.is_some_and(|of| ends_before(self.live.get(&of), size));
                has_room && self.used.insert(id) && self.live.insert(id, size).is_none()
            }
            Event::Free { id, size, .. } => {
                self.live.get(&id) == Some(&size) && self.live.remove(&id).is_some()
            }
            Event::Submit { number, .. } => {
                !self.submissions.contains_key(&number) && self.submissions.insert(number, false).is_none()
            }
            Event::Done { number, .. } => {
                self.submissions.get(&number) == Some(&false)
                    && self.submissions.insert(number, true).is_some()
            }
            Event::Block { id, size, .. } => {
                self.used_blocks.insert(id) && self.blocks.insert(id, size).is_none()
            }
            Event::Unblock { id, size, .. } => {
                self.blocks.get(&id) == Some(&size) && self.blocks.remove(&id).is_some()
            }
            Event::Map { id, .. } | Event::Unmap { id, .. } => self.blocks.contains_key(&id),
            _ => true,
        }
    }
}

/// Lines that often break a rule.
fn any_line() -> impl Strategy<Value = (Event, Details)> {
    let place = (prop::option::of(0..4_u64), prop::option::of(0..4_u64), prop::option::of(0..4_u64));
    (0..9_u8, 0..4_u64, 1..4_u64, place).prop_map(|(op, id, size, (block, of, offset))| {
        let (align, frame) = (1, 0);
        let mut details = Details { offset, ..Details::default() };
        let event = match op {
            0 => {
                details.block = block;
                Event::Alloc { id, size, align, kind: KIND, frame }
            }
            1 => {
                details.of = of;
                Event::Alias { id, size, align, kind: KIND, frame }
            }
            2 => Event::Free { id, size, frame },
            3 => Event::Submit { number: id, frame },
            4 => Event::Done { number: id, frame },
            5 => Event::Block { id, size, frame },
            6 => Event::Unblock { id, size, frame },
            7 => Event::Map { id, frame },
            _ => Event::Unmap { id, frame },
        };
        (event, details)
    })
}

proptest! {
    #[test]
    fn the_validator_agrees_with_the_rules(lines in prop::collection::vec(any_line(), 0..200)) {
        let (mut validator, mut oracle) = (Validator::new(), Oracle::default());
        for (event, details) in &lines {
            let accepted = validator.check_with(event, details).is_ok();
            prop_assert_eq!(accepted, oracle.accepts(event, details), "{:?} {:?}", event, details);
        }
    }

    #[test]
    fn any_header_is_refused_or_read_back(lines in prop::collection::vec((any::<String>(), any::<String>()), 0..5)) {
        let mut header = Header::default();
        for (index, (key, value)) in lines.into_iter().enumerate() {
            // Every second key is valid.
            header.set(if index % 2 == 0 { key } else { format!("key.{index}") }, value);
        }
        let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain).unwrap();
        if writer.set_header(header.clone()).is_ok() {
            let file = writer.finish().unwrap();
            prop_assert_eq!(read_all(file.as_slice(), "t").unwrap().header, header);
        }
    }

    #[test]
    fn random_words_never_panic(words in "[a-z=%x0-9 .-]{0,200}") {
        if let Ok(trace) = read(&format!("frame,,,,,1,{words}\n")) {
            let lines = trace.iter().map(|(event, details)| (*event, details.clone()));
            prop_assert_eq!(Trace::new(Header::default(), lines).unwrap(), trace);
        }
    }
}
