//! Submission of closed lists to a queue.

mod native;
mod tiles;

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{CallRule, Device, DeviceError, QueueId, QueueSerial, SubmitSync, check};

pub use self::native::NativeQueue;
use crate::calls::{CallKind, Request};
use crate::command::{Command, Recorded};
use crate::descriptors::At;
use crate::hazard::{Checks, HazardKind};
use crate::list::List;
use crate::memory::Access;
use crate::points::ExternalPoint;
use crate::timeline::{Job, Queues, Work};

impl Queues {
    pub(crate) fn submit(
        &self,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, impl Device<ExternalPoint = ExternalPoint>>,
    ) -> Result<(), DeviceError> {
        self.call(CallKind::Submit, Request::default(), || {
            let recorded = self.check_lists(queue, lists)?;
            let at = QueueSerial { queue, serial: sync.signal };
            let mut timeline = self.timeline.lock();
            timeline.check(self, queue, sync.waits, sync.signal)?;
            self.check_paging_point(sync.paging)?;
            self.note_lists(at, lists, &recorded);
            let batch = Work {
                uses: self.note_block_uses(&recorded),
                paging: sync.paging.0,
                job: Job::Lists(recorded),
                waits: sync.waits.into(),
                external_waits: self.note_external_waits(at, sync.external_waits, "submit"),
                external_signals: self.note_external_signals(at, sync.external_signals, "submit"),
                is_last: true,
            };
            timeline.push(self, queue, batch);
            drop(timeline);
            self.changed.notify_all();
            Ok(())
        })
    }

    /// The content of the lists, if they can be submitted to the queue.
    fn check_lists(&self, queue: QueueId, lists: &[&List]) -> Result<SmallVec<[Recorded; 2]>, DeviceError> {
        if lists.iter().any(|list| !list.is_from(self)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let recorded = lists.iter().map(|list| recorded(queue, list)).collect::<Result<_, _>>()?;
        check_once(lists)?;
        Ok(recorded)
    }

    /// Notes that a submission uses lists and their objects.
    fn note_lists(&self, at: QueueSerial, lists: &[&List], recorded: &[Recorded]) {
        for (list, recorded) in lists.iter().zip(recorded) {
            list.note_submitted();
            list.state.last_use.raise(at.queue, at.serial);
            self.note_uses(at.queue, at.serial, &recorded.commands);
        }
    }

    /// Notes the submission on each object that it uses, for the checks when it is destroyed or mapped.
    fn note_uses(&self, queue: QueueId, serial: u64, commands: &[Command]) {
        if !self.checks.intersects(Checks::LIFETIME | Checks::MAPPING | Checks::DESCRIPTORS) {
            return;
        }
        for command in commands {
            if let Command::Query(query) = command {
                query.heap.last_use.raise(queue, serial);
            }
            command.structures(|structure| structure.last_use.raise(queue, serial));
            command.descriptors(|at| self.note_read(queue, serial, at));
            command.resources(|resource| {
                resource.last_use.raise(queue, serial);
                if let Some(heap) = resource.heap() {
                    heap.last_use.raise(queue, serial);
                }
            });
            if self.checks.contains(Checks::MAPPING) {
                command.accesses(|resource, span, write| {
                    if resource.is_host_visible() {
                        let ranges = resource.layout.ranges(&span);
                        self.note_submitted(resource, &ranges, Access { queue, serial, write });
                    }
                });
            }
        }
    }

    /// Notes that a submission reads a descriptor. A set is recorded with its current content: a later change
    /// invalidates the lists recorded with it.
    fn note_read(&self, queue: QueueId, serial: u64, at: &At) {
        if !at.note(queue, serial, &self.observed) {
            let detail = format!("{at} is used by commands recorded before the set was changed");
            let kind = HazardKind::DescriptorInUse;
            self.report(Checks::DESCRIPTORS, kind, &[at.label()], detail, "submit");
        }
    }
}

/// Vulkan's command buffers are recorded for one submission.
fn check_once(lists: &[&List]) -> Result<(), DeviceError> {
    let is_again = |(index, list): (usize, &&List)| {
        list.is_submitted() || lists[..index].iter().any(|other| core::ptr::eq(*other, *list))
    };
    if lists.iter().enumerate().any(is_again) {
        return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
    }
    Ok(())
}

fn recorded(queue: QueueId, list: &List) -> Result<Recorded, DeviceError> {
    check::list_queue(queue, list.queue)?;
    let commands = list.closed().ok_or_else(|| DeviceError::broken_rule(CallRule::SubmittedClosed))?;
    Ok(Recorded { label: Arc::clone(&list.state.label), commands })
}
