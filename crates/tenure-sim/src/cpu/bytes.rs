//! CPU accesses through mappings.

use std::ops::Range;

use tenure_core::device::DeviceError;

use crate::hazard::{Checks, HazardKind};
use crate::memory::{Access, Store};
use crate::resource::{Part, ResourceState};
use crate::shared::Shared;
use crate::states::Shown;

impl Shared {
    /// Checks a CPU access to bytes of a mapped resource.
    pub(crate) fn cpu_access(
        &self,
        resource: &ResourceState,
        range: Range<u64>,
        write: bool,
    ) -> Result<(), DeviceError> {
        let call = if write { "Mapping::write" } else { "Mapping::read" };
        if let Some(freed) = resource.freed() {
            let kind = if write { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
            let detail = format!("its mapping is used after {freed} was destroyed");
            let part = Part { resource, range: range.clone() };
            self.report(Checks::LIFETIME, kind, &[&part], detail, call);
            return Err(DeviceError::invalid_value(
                "a mapping is not used after its resource is destroyed",
                range.start,
            ));
        }
        let held = resource.sharing.as_ref().map_or(Ok(()), |sharing| sharing.check_use(resource.device));
        if let Err(wrong) = held {
            let part = Part { resource, range: range.clone() };
            self.report(Checks::SHARING, HazardKind::HeldByPeer, &[&part], wrong, call);
        }
        if self.checks.contains(Checks::MAPPING) {
            let races = self.check_mapping(resource, range.clone(), write, call);
            self.check_visible(resource, range.clone(), write || races, call);
        }
        if self.checks.contains(Checks::INITIALIZED) {
            self.check_cpu_contents(resource, range, write, call);
        }
        Ok(())
    }

    /// True, with a hazard, if the GPU may be accessing the same bytes.
    fn check_mapping(
        &self,
        resource: &ResourceState,
        range: Range<u64>,
        write: bool,
        call: &'static str,
    ) -> bool {
        // A flush includes bytes of neighbours.
        let atom = if write && resource.needs_flushes() { self.properties.non_coherent_atom } else { 1 };
        let last_use = resource.heap().filter(|_| atom > 1).map_or(&resource.last_use, |heap| &heap.last_use);
        // Most writes are to memory that no work in flight uses: a few loads detect that.
        if last_use.first_after(&self.observed).is_none() {
            return false;
        }
        let mut races = false;
        // Mappable resources have no tiles, so they are contiguous.
        resource.memory.pieces(range.clone(), |store, piece| {
            let Some(store) = store else { return };
            if let Some(detail) = self.cpu_conflict(store, piece, &range, write, atom) {
                let part = Part { resource, range: range.clone() };
                self.report(Checks::MAPPING, HazardKind::MappingHazard, &[&part], detail, call);
                races = true;
            }
        });
        races
    }

    /// The conflict of a CPU access to `piece` of a memory, the bytes `range` of its resource, if any; a write
    /// includes whole atoms of `atom` bytes.
    fn cpu_conflict(
        &self,
        store: &Store,
        piece: Range<u64>,
        range: &Range<u64>,
        write: bool,
        atom: u64,
    ) -> Option<String> {
        let observed = self.observed.load();
        let submitted = store.submitted.lock();
        let by = |other: Access| {
            let does = if other.write { "writes" } else { "reads" };
            format!(
                "which submission {} on queue {} {does} and has not been seen complete",
                other.serial, other.queue.0
            )
        };
        if let Some((bytes, other)) = submitted.conflict(piece.clone(), write, &observed, None) {
            let in_resource = |at: u64| at - piece.start + range.start;
            let (from, to) = (in_resource(bytes.start), in_resource(bytes.end));
            let does = if write { "writes" } else { "reads" };
            return Some(format!("the CPU {does} bytes {from}..{to}, {}", by(other)));
        }
        let flushed = piece.start / atom * atom..piece.end.next_multiple_of(atom);
        let (bytes, other) = submitted.conflict(flushed, false, &observed, None)?;
        let count = bytes.end - bytes.start;
        let place = if bytes.start < piece.start { "before" } else { "after" };
        let Range { start, end } = range;
        Some(format!(
            "the memory is not coherent: a flush of bytes {start}..{end} takes whole atoms of {atom} bytes, and so \
             {count} bytes {place} them, {}",
            by(other),
        ))
    }

    fn check_cpu_contents(
        &self,
        resource: &ResourceState,
        range: Range<u64>,
        write: bool,
        call: &'static str,
    ) {
        if write {
            resource.written.insert(range);
        } else if let Some(gap) = resource.written.first_gap(range) {
            let detail = format!("bytes {}..{} were never written", gap.start, gap.end);
            let part = Part { resource, range: gap };
            self.report(Checks::INITIALIZED, HazardKind::UninitializedRead, &[&part], detail, call);
        }
    }

    /// Notes the accesses of a submission to CPU-visible bytes.
    pub(crate) fn note_submitted(&self, resource: &ResourceState, ranges: &[Range<u64>], access: Access) {
        let observed = self.observed.load();
        for range in ranges {
            resource.memory.pieces(range.clone(), |store, piece| {
                if let Some(store) = store {
                    store.submitted.lock().record(piece, access, &observed);
                }
            });
        }
    }

    /// Checks that the bytes read by the CPU are visible to it. `is_known`: the CPU wrote these bytes itself, or
    /// a barrier made them visible.
    fn check_visible(&self, resource: &ResourceState, range: Range<u64>, is_known: bool, call: &'static str) {
        let mut hidden = resource.hidden.lock();
        let found = if is_known { None } else { hidden.first(&self.host_barriers, &range) };
        // Reported once.
        hidden.forget(range);
        drop(hidden);
        if let Some((range, queue, state)) = found {
            let (start, end, queue, state) = (range.start, range.end, queue.0, Shown(state));
            let detail = format!(
                "the CPU reads bytes {start}..{end}, which queue {queue} wrote as {state}, and no barrier made them visible \
                 to it"
            );
            let part = Part { resource, range };
            self.report(Checks::MAPPING, HazardKind::NotVisibleToCpu, &[&part], detail, call);
        }
    }
}
