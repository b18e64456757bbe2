//! Resources shared with other devices, processes or APIs.

use super::Commands;
use crate::Error;
use crate::device::{Api, Barrier, CommandList, Device, QueueId, QueueTransfer, State, Subresource};
use crate::resource::{Tracked, Used};
use crate::state::{ResourceKind, StateError};

impl<D: Device> Commands<D> {
    /// Hands a whole [shared](crate::BufferDesc::shared) resource to another device, process or API, in `state`. From the end
    /// of the submission on the peer owns it: nothing on this side may use it until a recording
    /// [acquires](Self::acquire_from_peer) it.
    ///
    /// The submission comes after all earlier uses of the resource, on any queue. The peer must wait for the submission:
    /// through a shared semaphore or fence, which the recording [signals](crate::Recording::signal_external), or because this
    /// process reports that it is complete.
    ///
    /// | API | `state` |
    /// | --- | --- |
    /// | Vulkan | must be the same on both sides: the peer acquires it with the same layout from the queue family `EXTERNAL`, or `FOREIGN` if it is shared [across drivers](crate::BufferDesc::shared_across_drivers) |
    /// | Direct3D 12 | not used: textures are handed over in `COMMON`, and not on a copy queue |
    ///
    /// A use before it is acquired again finds undefined contents; the simulated device reports it.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::State`] for a resource that is not shared.
    #[inline(never)]
    pub fn release_to_peer<'a>(
        &mut self,
        resource: impl Into<Used<'a, D>>,
        state: State,
    ) -> Result<(), Error> {
        let used = resource.into();
        let (tracked, state) = self.shared_resource(&used, state)?;
        if !state.is_empty() {
            let required = self.open.require(&tracked, Subresource::All, state);
            required.map_err(|source| Error::State { name: used.name().clone(), source })?;
        }
        self.open.release(&tracked);
        let transfer = QueueTransfer { from: self.queue, to: QueueId::PEER };
        self.hand_over(&tracked, state, transfer);
        Ok(())
    }

    /// Takes a whole [shared](crate::BufferDesc::shared) resource back from another device, process or API, or takes it for the
    /// first time after it was imported, in the `state` in which the peer handed it over. Must come before every other use of
    /// it in the recording.
    ///
    /// The recording must [wait](crate::Recording::wait_for_external) for the peer's semaphore or fence, or the program must
    /// have waited for the peer before the submission. A resource that was not handed over has undefined contents.
    ///
    /// For a mapped buffer, the CPU sees the peer's writes once the submission is complete.
    ///
    /// # Errors
    /// As [`use_resource`](Self::use_resource); [`Error::State`] for a resource that is not shared, or that this
    /// recording has used already.
    #[inline(never)]
    pub fn acquire_from_peer<'a>(
        &mut self,
        resource: impl Into<Used<'a, D>>,
        state: State,
    ) -> Result<(), Error> {
        let used = resource.into();
        let (tracked, state) = self.shared_resource(&used, state)?;
        let acquired = self.open.acquire(&tracked, state);
        acquired.map_err(|source| Error::State { name: used.name().clone(), source })?;
        let transfer = QueueTransfer { from: QueueId::PEER, to: self.queue };
        self.hand_over(&tracked, state, transfer);
        Ok(())
    }

    /// The API object of a shared resource, and its state during the hand-over.
    fn shared_resource(&mut self, used: &Used<'_, D>, state: State) -> Result<(Tracked<D>, State), Error> {
        let refuse = |source| Error::State { name: used.name().clone(), source };
        if !used.is_shared_with_peers() {
            return Err(refuse(StateError::NotShared));
        }
        let api = self.services.context.device().properties().api;
        if api == Api::Vulkan && state.is_empty() {
            return Err(refuse(StateError::NotToCommon));
        }
        let tracked = used.check(&self.services.context, Subresource::All, state, &mut self.holds)?;
        self.check_layout(tracked.as_ref(), state).map_err(refuse)?;
        let state = match (api, tracked.as_ref().kind()) {
            (Api::Vulkan, _) => state,
            (Api::Direct3D12, ResourceKind::Texture) => State::PRESENT,
            (Api::Direct3D12, ResourceKind::Buffer) => State::COMMON,
        };
        Ok((tracked, state))
    }

    fn hand_over(&mut self, tracked: &Tracked<D>, state: State, transfer: QueueTransfer) {
        self.open.record_pending();
        self.open.list().barriers(&[Barrier::Transition {
            resource: &tracked.0.object,
            subresource: Subresource::All,
            before: state,
            after: state,
            transfer: Some(transfer),
        }]);
    }
}
