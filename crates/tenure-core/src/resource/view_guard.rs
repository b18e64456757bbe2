//! The shared part of all views of a resource.

use std::sync::{Arc, OnceLock};

use super::PlaceRef;
use super::handle::{FixedPlace, RetiredResource};
use super::tracked::check_states;
use crate::api_resource::ApiResource;
use crate::context::Context;
use crate::device::{Device, State, Subresource};
use crate::memory::{AliasedRange, MemoryUse, MovableBacking, PlaceHolds};
use crate::state::StateCell;
use crate::{Error, Name};

/// Shared by a resource's handle and its views: keeps the backing until the last view is dropped, so that no
/// view shows a freed resource, and finds it for the uses that descriptors declare.
pub(crate) struct ViewGuard<D: Device> {
    retired: OnceLock<RetiredResource<D>>,
    /// Name of the resource.
    name: Name,
    /// The requested memory.
    memory: MemoryUse,
    /// `None` only inside `drop`.
    place: Option<KeptBacking<D>>,
    /// Declared last, as in every handle.
    context: Arc<Context<D>>,
}

/// The backing of a resource with views.
pub(super) enum KeptBacking<D: Device> {
    /// Its share in a heap, if it is transient.
    Fixed(Arc<ApiResource<D>>, Option<Arc<AliasedRange<D>>>),
    Movable(Arc<MovableBacking<D>>),
}

impl<D: Device> ViewGuard<D> {
    pub(super) fn new(
        context: &Arc<Context<D>>,
        name: &Name,
        memory: MemoryUse,
        place: KeptBacking<D>,
    ) -> Self {
        let (name, place) = (name.clone(), Some(place));
        Self { retired: OnceLock::new(), name, memory, place, context: context.clone() }
    }

    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) const fn context(&self) -> &Arc<Context<D>> {
        &self.context
    }

    /// The API object, if its memory allows the use in `state`; it does not change while the holds exist.
    ///
    /// # Errors
    /// [`Error::State`], [`Error::FixedState`].
    pub(crate) fn check_place(
        &self,
        part: Subresource,
        state: State,
        holds: &mut PlaceHolds<D>,
    ) -> Result<PlaceRef<'_, D>, Error> {
        let written = state.intersects(State::WRITES).then_some(part);
        let place = match &self.place {
            Some(KeptBacking::Fixed(api_resource, aliased_range)) => {
                PlaceRef::Fixed(FixedPlace { api_resource, aliased_range: aliased_range.as_ref() }, 0)
            }
            Some(KeptBacking::Movable(movable)) => PlaceRef::Movable(holds.hold(movable, written)),
            None => unreachable!(),
        };
        check_states(&self.context, &self.name, self.memory, place.api_resource(), state)?;
        Ok(place)
    }

    /// Calls `visit` with the states of its present place, unless it is read-only or mapped: mapped memory needs no
    /// barriers for the writes of the CPU.
    pub(crate) fn with_states(&self, visit: impl FnOnce(&StateCell)) {
        let visit = |cell: &StateCell| {
            if cell.read_only().is_none() {
                visit(cell);
            }
        };
        match &self.place {
            Some(KeptBacking::Fixed(api_resource, _)) if !self.memory.is_mapped() => {
                visit(&api_resource.states)
            }
            Some(KeptBacking::Movable(movable)) => visit(&movable.place().api_resource.states),
            _ => {}
        }
    }

    /// Notes that the handle was dropped.
    pub(super) fn retire(&self, retired: RetiredResource<D>) {
        self.context.registry.note_dropped(retired.registry_key, self.context.current_frame());
        // There is one handle, and it is dropped once.
        let _was_empty = self.retired.set(retired);
    }
}

impl<D: Device> Drop for ViewGuard<D> {
    fn drop(&mut self) {
        // The release looks for other references to the API object.
        drop(self.place.take());
        if let Some(retired) = self.retired.take() {
            retired.release(&self.context);
        }
    }
}
