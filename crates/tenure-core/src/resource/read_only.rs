//! Resources that commands only read, and recordings need not name.

use super::Used;
use crate::context::Context;
use crate::device::{Device, ResourceDesc, State, Usage};
use crate::memory::LocationKind;
use crate::resource::Tracked;
use crate::state::{StateCell, StateError};
use crate::{Error, Name};

pub(super) const READ_ONLY_EVICTABLE: &str =
    "it is evictable, so that each recording that uses it must name it";
pub(super) const READ_ONLY_MAPPED: &str = "the CPU writes its memory: use MemoryUse::GpuOnly";
const SHARED: &str = "other devices or processes write its memory";

/// Checks the read states of a description. `rule`: the reason of a refusal that the caller has found.
pub(super) fn check_declared_reads<D: Device>(
    context: &Context<D>,
    (name, resource): (&Name, &ResourceDesc),
    states: State,
    rule: Option<&'static str>,
) -> Result<(), Error> {
    let rule = rule.or(resource.usage().contains(Usage::SHARED).then_some(SHARED));
    let cell = StateCell::on_device(resource, State::COMMON, context.device().properties(), true);
    let checked = match rule {
        Some(rule) => Err(StateError::CannotBeReadOnly { state: states, rule }),
        None => cell.check_to_be_read_only(states),
    };
    checked.map_err(|source| Error::State { name: name.clone(), source })
}

/// Refuses the description of a resource that cannot be read-only.
pub(crate) fn refuse_read_only(name: &Name, states: State, rule: &'static str) -> Result<(), Error> {
    if states.is_empty() {
        return Ok(());
    }
    let source = StateError::CannotBeReadOnly { state: states, rule };
    Err(Error::State { name: name.clone(), source })
}

impl<D: Device> Used<'_, D> {
    /// Checks that the resource can be read-only in these states. False if a submission has brought it into them.
    ///
    /// # Errors
    /// [`Error::State`] for a resource, or states, that cannot be read-only.
    pub(crate) fn is_to_be_published(&self, resource: &Tracked<D>, states: State) -> Result<bool, Error> {
        let cell = resource.as_ref();
        let checked = match self.never_read_only(resource) {
            Some(rule) => Err(StateError::CannotBeReadOnly { state: states, rule }),
            None => cell.check_to_be_read_only(states),
        };
        checked.map_err(|source| self.refuse(source))?;
        Ok(!cell.is_published())
    }

    /// The reason why the resource cannot be read-only, if there is one.
    fn never_read_only(&self, resource: &Tracked<D>) -> Option<&'static str> {
        let kind = self.location_kind();
        if self.is_shared_with_peers() {
            return Some(SHARED);
        }
        if resource.as_ref().allowed().contains(State::PRESENT) {
            return Some("it is an image of a swap chain");
        }
        if self.is_mapped() {
            return Some(READ_ONLY_MAPPED);
        }
        if self.may_share_its_buffer() {
            return Some("it shares an API buffer with others: BufferDesc::own_resource");
        }
        match kind {
            LocationKind::Transient => Some("its memory is shared over time with other resources"),
            LocationKind::Reserved => Some("its tiles can be changed"),
            _ => resource.0.block.map(|_| READ_ONLY_EVICTABLE),
        }
    }
}
