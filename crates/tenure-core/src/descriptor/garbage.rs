//! Descriptors on their way back (spec D4, T4).

use std::sync::Arc;

use super::cpu_heaps::CpuSlot;
use super::dynamic_part::PieceId;
use super::recorded_sets::RecordedSets;
use super::set::LastingSet;
use super::set_layout::Form;
use super::static_part::StaticRange;
use crate::device::{DescriptorKind, Device};
use crate::gpu::{Garbage, Shared};
use crate::time::{Stamp, SyncPoint};

/// Descriptors that were dropped.
pub(crate) enum DescriptorGarbage<D: Device> {
    /// Of a view or a sampler.
    Cpu(CpuSlot<D>),
    /// Of a table.
    Table(DescriptorKind, StaticRange),
    /// Of a recording; the piece that it took last.
    Pieces(DescriptorKind, PieceId),
    /// A set that lasted.
    Set(Box<LastingSet<D>>),
    /// Sets of a recording.
    Sets(Box<RecordedSets<D>>),
    /// A layout, with its blocks.
    Form(Arc<Form<D>>),
}

impl<D: Device> Shared<D> {
    /// Queues descriptors that were dropped.
    #[inline]
    pub(super) fn release_descriptors(&self, garbage: DescriptorGarbage<D>, born: Stamp) {
        self.release(Garbage::Descriptors(garbage), born, 0);
    }

    /// Queues descriptors that one recording had, and nothing but its submission uses.
    pub(crate) fn release_recorded(&self, garbage: DescriptorGarbage<D>, submission: SyncPoint) {
        self.releases.push_after(Garbage::Descriptors(garbage), submission, 0);
    }

    /// Gives descriptors back that nothing uses any more.
    pub(crate) fn give_back_descriptors(&self, garbage: DescriptorGarbage<D>) {
        match garbage {
            DescriptorGarbage::Cpu(slot) => self.descriptors.cpu.release(self, slot),
            DescriptorGarbage::Table(kind, range) => {
                if let Some(heap) = self.descriptors.visible.get(kind) {
                    heap.release_static(self.device(), &range);
                }
            }
            DescriptorGarbage::Pieces(kind, last) => {
                if let Some(heap) = self.descriptors.visible.get(kind) {
                    heap.release_dynamic(self.device(), last);
                }
            }
            DescriptorGarbage::Set(set) => {
                let LastingSet { slot, form, name } = *set;
                form.release_lasting(self, slot, &name);
            }
            DescriptorGarbage::Sets(sets) => self.descriptors.recorded_sets.put_back(sets, self),
            DescriptorGarbage::Form(form) => self.give_back_form(form),
        }
    }

    fn give_back_form(&self, form: Arc<Form<D>>) {
        let id = form.id;
        match Arc::try_unwrap(form) {
            Ok(form) => {
                self.descriptors.forms.remove(id);
                form.destroy(self);
            }
            // Sets of it are still on their way: once more, next time.
            Err(form) => {
                let garbage = Garbage::Descriptors(DescriptorGarbage::Form(form));
                self.releases.push_after(garbage, SyncPoint::NONE, 0);
            }
        }
    }
}
