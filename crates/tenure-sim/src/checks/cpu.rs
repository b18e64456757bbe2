//! The CPU's own accesses through mappings, and its destruction of objects.

use std::ops::Range;

use tenure_core::device::DeviceError;

use crate::clock::SharedClock;
use crate::hazard::{Checks, HazardKind};
use crate::history::Access;
use crate::object::Label;
use crate::owners::Part;
use crate::resource::ResourceState;
use crate::shared::Shared;

impl Shared {
    /// Checks an access by the CPU to bytes of a mapped resource.
    pub(crate) fn cpu_access(
        &self,
        resource: &ResourceState,
        range: Range<u64>,
        write: bool,
    ) -> Result<(), DeviceError> {
        let call = if write { "Mapping::write" } else { "Mapping::read" };
        if let Some(freed) = resource.freed() {
            let kind = if write { HazardKind::WriteOfFreed } else { HazardKind::ReadOfFreed };
            let detail = || format!("its mapping is used after {freed} was destroyed");
            let objects = vec![Part { resource, range: range.clone() }.to_string()];
            self.report(Checks::LIFETIME, kind, objects, detail, call);
            return Err(DeviceError::InvalidCall {
                rule: "a mapping is not used after its resource is destroyed",
                value: range.start,
                limit: 0,
            });
        }
        if self.checks.contains(Checks::MAPPING) {
            self.check_mapping(resource, range.clone(), write, call);
        }
        if self.checks.contains(Checks::INITIALIZED) {
            self.check_cpu_contents(resource, range, write, call);
        }
        Ok(())
    }

    fn check_mapping(&self, resource: &ResourceState, range: Range<u64>, write: bool, call: &'static str) {
        // Most writes go to memory that nothing in flight uses: a few loads tell.
        if resource.last_use.first_after(&self.observed).is_none() {
            return;
        }
        let observed = self.observed.load();
        let conflict = resource.submitted.lock().conflict(range, write, &observed, None);
        if let Some((range, other)) = conflict {
            let detail = || {
                format!(
                    "the CPU {} bytes {}..{}, which submission {} on queue {} {} and has not been seen complete",
                    if write { "writes" } else { "reads" },
                    range.start,
                    range.end,
                    other.serial,
                    other.queue.0,
                    if other.write { "writes" } else { "reads" },
                )
            };
            let objects = vec![Part { resource, range: range.clone() }.to_string()];
            self.report(Checks::MAPPING, HazardKind::MappingHazard, objects, detail, call);
        }
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
            let detail = || format!("bytes {}..{} were never written", gap.start, gap.end);
            let objects = vec![Part { resource, range: gap.clone() }.to_string()];
            self.report(Checks::INITIALIZED, HazardKind::UninitializedRead, objects, detail, call);
        }
    }

    /// Notes what a submission will do to bytes that the CPU can see.
    pub(crate) fn note_submitted(&self, resource: &ResourceState, ranges: &[Range<u64>], access: Access) {
        let observed = self.observed.load();
        let mut submitted = resource.submitted.lock();
        for range in ranges {
            submitted.record(range.clone(), access, &observed);
        }
    }

    /// The CPU destroys an object, or resets a list: nothing in flight may use it.
    pub(crate) fn check_unused(
        &self,
        label: &Label,
        last_use: &SharedClock,
        kind: HazardKind,
        call: &'static str,
    ) {
        // Once the device is lost nothing runs any more.
        if self.alive().is_err() {
            return;
        }
        if let Some((queue, serial)) = last_use.first_after(&self.observed) {
            let seen = self.observed.load().get(queue);
            let detail = || {
                format!(
                    "submission {serial} on queue {} uses it, and the CPU has seen {seen} complete there",
                    queue.0
                )
            };
            self.report(Checks::LIFETIME, kind, vec![label.to_string()], detail, call);
        }
    }
}
