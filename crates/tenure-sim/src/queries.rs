//! Heaps of queries, and their commands.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{CallRule, DeviceError, QueryHeapDesc, QueryKind, State};

use crate::clock::SharedClock;
use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;
use crate::object::{Label, ObjectKind, debug_by_label};
use crate::resource::{Resource, ResourceState};
use crate::shared::Shared;
use crate::structures::StructureState;

/// Maximum number of queries in a heap.
const MOST_QUERIES: u32 = 1 << 20;

/// The counters of a result.
type Counters = [u64; QueryKind::STATISTICS];

/// The content of a query.
#[derive(Clone, Copy)]
enum Slot {
    /// Undefined: it must be reset (Vulkan).
    Undefined,
    Ready,
    /// Begun, with the counters at that time.
    Begun(Counters),
    Written(Counters),
}

/// The state of a heap, shared with the lists that use it.
pub(crate) struct QueryHeapState {
    pub(crate) label: Arc<Label>,
    pub(crate) desc: QueryHeapDesc,
    pub(crate) last_use: SharedClock,
    slots: Mutex<Vec<Slot>>,
}

/// Queries in a row: a handle for
/// [`Device::destroy_query_heap`](tenure_core::device::QueryDevice::destroy_query_heap). Dropping it without that
/// is a leak and is reported as one.
pub struct QueryHeap {
    pub(crate) state: Arc<QueryHeapState>,
}

debug_by_label!(QueryHeap);

/// A command about queries.
pub(crate) enum QueryStep {
    Reset,
    Timestamp,
    Begin,
    End,
    CompactedSize(Arc<StructureState>),
    Resolve { dst: Arc<ResourceState>, offset: u64 },
}

/// A command about queries of a heap.
pub(crate) struct QueryCommand {
    pub(crate) heap: Arc<QueryHeapState>,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) step: QueryStep,
}

impl QueryCommand {
    /// The name of the method that records it.
    pub(crate) const fn name(&self) -> &'static str {
        match self.step {
            QueryStep::Reset => "reset_queries",
            QueryStep::Timestamp => "write_timestamp",
            QueryStep::Begin => "begin_query",
            QueryStep::End => "end_query",
            QueryStep::CompactedSize(_) => "write_compacted_size",
            QueryStep::Resolve { .. } => "resolve_queries",
        }
    }

    /// The buffer that it writes, and the bytes.
    pub(crate) fn written(&self) -> Option<(&Arc<ResourceState>, Span)> {
        let QueryStep::Resolve { dst, offset } = &self.step else { return None };
        let bytes = u64::from(self.count) * self.heap.desc.kind.result_bytes();
        Some((dst, Span::Bytes { start: *offset, end: offset + bytes }))
    }
}

/// Checks the buffer that results go to.
pub(crate) fn check_results(
    heap: &QueryHeap,
    count: u32,
    dst: &Resource,
    offset: u64,
) -> Result<(), DeviceError> {
    if !dst.state.is_buffer() {
        return Err(DeviceError::invalid_value(CallRule::IsBuffer, dst.state.label.id));
    }
    heap.state.desc.check_results(count, offset, dst.state.layout.bytes())
}

impl Shared {
    pub(crate) fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        self.properties.check_query_heap(desc)?;
        if desc.count > MOST_QUERIES {
            return Err(DeviceError::OutOfHostMemory { what: "queries" });
        }
        let first = if self.properties.queries.must_reset { Slot::Undefined } else { Slot::Ready };
        let label = self.register.create(ObjectKind::QueryHeap);
        let slots = Mutex::new(vec![first; desc.count as usize]);
        let state = QueryHeapState { label, desc: *desc, last_use: SharedClock::default(), slots };
        Ok(QueryHeap { state: Arc::new(state) })
    }

    pub(crate) fn destroy_query_heap(&self, heap: &QueryHeap) {
        let QueryHeapState { label, last_use, .. } = &*heap.state;
        self.check_unused(label, last_use, HazardKind::DestroyedInUse, "destroy_query_heap");
        self.register.destroy(label);
    }
}

impl Execution<'_> {
    pub(crate) fn query(&mut self, command: &QueryCommand) {
        let QueryCommand { heap, first, count, step } = command;
        if heap.label.is_destroyed() {
            let kind = HazardKind::WriteOfFreed;
            return self.report(Checks::QUERIES, kind, &[&heap.label], "it was destroyed");
        }
        if let QueryStep::Resolve { dst, offset } = step {
            return self.resolve_queries(command, dst, *offset);
        }
        let size = match step {
            QueryStep::CompactedSize(structure) => self.compacted_size(structure),
            _ => None,
        };
        let mut slots = heap.slots.lock();
        let Some(slots) = slots.get_mut(*first as usize..(*first + *count) as usize) else { return };
        for (query, slot) in (*first..).zip(slots) {
            *slot = self.next_slot(heap, query, *slot, step);
            if let Some(size) = size {
                let mut counters = Counters::default();
                counters[0] = size;
                *slot = Slot::Written(counters);
            }
        }
    }

    /// The content of a query after a command that changes it.
    fn next_slot(&self, heap: &QueryHeapState, query: u32, slot: Slot, step: &QueryStep) -> Slot {
        if matches!(step, QueryStep::Reset) {
            return Slot::Ready;
        }
        let is_end = matches!(step, QueryStep::End);
        let must_reset = self.shared.properties.queries.must_reset;
        if !is_end && must_reset && !matches!(slot, Slot::Ready) {
            let detail = format!("query {query} is used again without a reset or a resolve since");
            self.report(Checks::QUERIES, HazardKind::QueryNotReady, &[&heap.label], detail);
        }
        match (step, slot) {
            (QueryStep::Timestamp, _) => Slot::Written(self.ticks()),
            (QueryStep::Begin, _) => Slot::Begun(self.counters),
            (QueryStep::End, Slot::Begun(begun)) => Slot::Written(self.counted_since(heap.desc.kind, &begun)),
            (_, slot) => slot,
        }
    }

    fn ticks(&self) -> Counters {
        let bits = self.shared.properties.timestamp_clock(self.queue).bits;
        let mask = 1_u64.checked_shl(bits).map_or(u64::MAX, |beyond| beyond - 1);
        let mut counters = Counters::default();
        counters[0] = self.shared.query_clock.now() & mask;
        counters
    }

    fn counted_since(&self, kind: QueryKind, begun: &Counters) -> Counters {
        let mut counted = self.counters;
        counted.iter_mut().zip(begun).for_each(|(now, begun)| *now -= begun);
        match kind {
            QueryKind::Occlusion => counted[0] = counted[7],
            QueryKind::BinaryOcclusion => counted[0] = u64::from(counted[7] > 0),
            _ => {}
        }
        counted
    }

    fn resolve_queries(&mut self, command: &QueryCommand, dst: &Arc<ResourceState>, offset: u64) {
        let QueryCommand { heap, first, count, .. } = command;
        let words = (heap.desc.kind.result_bytes() / 8) as usize;
        let mut bytes = Vec::with_capacity(*count as usize * words * 8);
        let mut missing = None;
        let mut slots = heap.slots.lock();
        for query in *first..first + count {
            let Some(slot) = slots.get_mut(query as usize) else { return };
            let Slot::Written(counters) = *slot else {
                missing.get_or_insert(query);
                bytes.resize(bytes.len() + words * 8, 0xff);
                continue;
            };
            bytes.extend(counters[..words].iter().flat_map(|word| word.to_le_bytes()));
            *slot = Slot::Ready;
        }
        drop(slots);
        if let Some(query) = missing {
            let detail =
                format!("query {query} is resolved, and was not written or ended since it was ready");
            self.report(Checks::QUERIES, HazardKind::QueryNotWritten, &[&heap.label], detail);
        }
        let Some((_, span)) = command.written() else { return };
        if self.uses_one(dst, span, State::COPY_DST) {
            dst.memory.write(offset, &bytes);
        }
    }
}
