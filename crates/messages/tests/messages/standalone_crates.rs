//! The errors of the crates that can be used alone.

use std::io;

use tenure_heap::{
    Answer, HeapError, InvalidProperties, InvalidSetup, MemoryError, MemoryTypeId, RequestField, Step,
};
use tenure_plan::csv::CsvReason;
use tenure_plan::{Fault, PlanError};
use tenure_suballoc::{AllocError, BlockError, BlockSuballocator as _, FreeError, GeneralBlocks};
use tenure_trace::{Column, Encoding, Kind, Layout, MemoryKind, Reason, TraceError, Workload};

use crate::table::Table;

const MEMORY: MemoryTypeId = MemoryTypeId(2);

pub(crate) fn make(table: &mut Table) {
    suballoc(table);
    plan(table);
    heap(table);
    trace(table);
}

fn suballoc(table: &mut Table) {
    table.all([
        AllocError::ZeroSize,
        AllocError::BadAlignment { align: 48 },
        AllocError::TooLarge { size: 5000, capacity: 4096 },
        AllocError::Full { size: 512, align: 256, free_bytes: 900, largest_free: 300 },
    ]);
    table.all([FreeError::DoubleFree, FreeError::Foreign]);
    table.all([
        BlockError::TooSmall { capacity: 16, min: 256 },
        BlockError::TooLarge { capacity: 1 << 60, max: 1 << 40 },
        BlockError::BadGranule { granule: 48 },
        BlockError::TooManyBlocks,
    ]);
    let mut blocks = GeneralBlocks::new(256).unwrap();
    let block = blocks.add_block(4096).unwrap();
    let taken = blocks.allocate(1000, 1).unwrap();
    table.add(&blocks.remove_block(block).unwrap_err());
    blocks.free(taken.handle).unwrap();
    blocks.remove_block(block).unwrap();
    table.add(&blocks.remove_block(block).unwrap_err());
}

fn plan(table: &mut Table) {
    table.all([
        PlanError::EmptyLifetime { item: 3, first: 7, last: 7 },
        PlanError::BadAlignment { item: 3, alignment: 48 },
        PlanError::PinnedUnaligned { item: 3, offset: 100, alignment: 256 },
        PlanError::PinnedConflict { item: 3, other: 5 },
        PlanError::TooLarge { item: 3 },
        PlanError::TooMany { items: 1 << 31 },
    ]);
    table.all([
        Fault::Count { items: 3, offsets: 2 },
        Fault::Misaligned { item: 3, offset: 100, alignment: 256 },
        Fault::NotWherePinned { item: 3, offset: 0, pinned: 256 },
        Fault::Overflow { item: 3, offset: u64::MAX, size: 16 },
        Fault::Overlap { item: 3, other: 5 },
    ]);
    let field = || "many".to_owned();
    table.all([
        CsvReason::Io(io::Error::other("the disk is gone")),
        CsvReason::LineTooLong,
        CsvReason::InvalidUtf8 { valid_bytes: 4 },
        CsvReason::TooManyItems { read: 1000 },
        CsvReason::MissingColumn("lower"),
        CsvReason::DuplicateColumn("lower"),
        CsvReason::MissingField("size"),
        CsvReason::NotANumber { column: "size", field: field() },
        CsvReason::Negative { column: "size", field: "-1".to_owned() },
        CsvReason::TooLarge { column: "size", field: "99999999999999999999".to_owned() },
        CsvReason::EmptyLifetime { lower: 7, upper: 7 },
        CsvReason::BadAlignment(48),
        CsvReason::DuplicateId { id: "bloom".to_owned(), first: 2 },
    ]);
    table.add(&tenure_plan::csv::read("id,lower\n".as_bytes()).unwrap_err());
}

fn heap(table: &mut Table) {
    let properties = [
        InvalidProperties::MemoryTypes { types: 0, max: 32 },
        InvalidProperties::MemoryHeap { heap: 3, heaps: 2 },
        InvalidProperties::NotPowerOfTwo { property: "heap_alignment", value: 48 },
    ];
    table.all(properties);
    table.all([
        InvalidSetup::OutOfRange { field: "blocks.min", value: 1, min: 4096, max: 1 << 40 },
        InvalidSetup::NotPowerOfTwo { field: "blocks.min", value: 5000 },
        InvalidSetup::Properties(properties[0]),
    ]);
    table.all([RequestField::Size, RequestField::Alignment]);
    let refusals = [
        HeapError::OutOfMemory { requested: 4096, memory: MEMORY },
        HeapError::NotGranted { requested: 4096, memory: MEMORY },
        HeapError::OutOfHostMemory { what: "create_heap" },
        HeapError::TooManyAllocations { limit: 4096 },
        HeapError::Unsupported { feature: "heaps of textures" },
        HeapError::Lost { reason: "unplugged".to_owned() },
        HeapError::Failed { call: "create_heap", code: 17 },
    ];
    table.all(refusals.clone());
    let steps = [Step::WithinBudget, Step::AfterTrim, Step::BeyondBudget, Step::AfterWait];
    table.all(steps);
    let answer = |step| Answer { memory: MEMORY, step, refusal: refusals[0].clone() };
    table.all([
        MemoryError::InvalidRequest { field: RequestField::Size, value: 0 },
        MemoryError::InvalidRequest { field: RequestField::Alignment, value: 48 },
        MemoryError::NoMemoryType,
        MemoryError::OutOfMemory {
            name: "rock".into(),
            size: 4096,
            alignment: 256,
            memory: MEMORY,
            largest_free: 1024,
            answers: steps.map(answer).to_vec(),
        },
        MemoryError::Device { name: "rock".into(), source: refusals[5].clone() },
        MemoryError::DoubleFree,
        MemoryError::Foreign,
    ]);
}

fn trace(table: &mut Table) {
    let kind = |memory| Kind { memory, layout: Layout::Linear };
    let reasons = [
        Reason::BadHeader { found: "op;id".to_owned() },
        Reason::BadHeaderLine { found: "api".to_owned() },
        Reason::RepeatedKey { key: "api".to_owned() },
        Reason::TooManyHeaderLines,
        Reason::LateHeader,
        Reason::BadColumns { found: "op,id".to_owned() },
        Reason::LineTooLong,
        Reason::InvalidUtf8 { valid_bytes: 4 },
        Reason::WrongColumns { found: 3, expected: 7 },
        Reason::UnknownOperation { found: "take".to_owned() },
        Reason::BadNumber { column: Column::Size, found: "many".to_owned() },
        Reason::NotEmpty { column: Column::Align, found: "4".to_owned() },
        Reason::UnknownKind { found: "rock".to_owned() },
        Reason::BadWord { found: "type=rock".to_owned() },
        Reason::MissingWord { word: "of" },
        Reason::NameTooLong { bytes: 300 },
        Reason::BadSize { size: 0 },
        Reason::BadAlign { align: 48 },
        Reason::ReusedId { id: 7 },
        Reason::UnknownId { id: 7 },
        Reason::DoubleFree { id: 7 },
        Reason::SizeMismatch { id: 7, freed: 2, allocated: 1 },
        Reason::AlignMismatch { id: 7, freed: 2, allocated: 1 },
        Reason::KindMismatch {
            id: 7,
            freed: kind(MemoryKind::GpuOnly),
            allocated: kind(MemoryKind::CpuToGpu),
        },
        Reason::FrameBackwards { frame: 3, previous: 4 },
        Reason::FrameRepeated { number: 3 },
        Reason::UnknownResource { id: 7 },
        Reason::OutsideResource { id: 7, offset: 60, size: 8, resource_size: 64 },
        Reason::ReusedBlock { id: 2 },
        Reason::UnknownBlock { id: 2 },
        Reason::BlockSizeMismatch { id: 2, freed: 64, allocated: 128 },
        Reason::OutsideBlock { id: 2, offset: 120, size: 16, block_size: 128 },
        Reason::ReusedSubmission { number: 5 },
        Reason::UnknownSubmission { number: 5 },
        Reason::DoneTwice { number: 5 },
        Reason::TooManyEvents { kept: 1000 },
        Reason::TooMuchLive { live_bytes: u64::MAX, size: 16 },
    ];
    table.all(reasons.clone());
    let (name, error) = (|| "world.csv".to_owned(), || io::Error::other("the disk is gone"));
    table.all([
        TraceError::Open { name: name(), error: error() },
        TraceError::Read { name: name(), line: 3, encoding: Encoding::Gzip, error: error() },
        TraceError::Line { name: name(), line: 3, reason: reasons[18].clone() },
        TraceError::Refused { line: 3, reason: reasons[20].clone() },
        TraceError::Write { error: error() },
    ]);
    table.all([Column::Id, Column::Size, Column::Align, Column::Kind, Column::Frame]);
    table.all(Encoding::ALL);
    table.all(Workload::ALL);
    table.add(&"rocks".parse::<Workload>().unwrap_err());
}
