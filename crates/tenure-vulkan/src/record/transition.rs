//! Barriers as they are recorded: checked, joined to groups, handed to the driver.

use ash::vk;
use tenure_core::device::{
    Barrier, CallRule, Device, DeviceError, QueueId, QueueTransfer, State, Subresource, Usage, check,
};

use super::barrier::{BarrierGroup, Dependency, OlderGroup, Side, dependency, halves, subresource_range};
use super::list::List;
use crate::resource::{Object, Resource};
use crate::stages::Half;

impl List {
    /// Adds one barrier of the contract to a group.
    pub(super) fn add(
        &mut self,
        barrier: &Barrier<'_, impl Device<Resource = Resource>>,
        group: &mut BarrierGroup,
    ) -> Result<(), DeviceError> {
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, transfer } => {
                let part = (resource, subresource);
                self.add_transition(part, [before, after], transfer, group)
            }
            Barrier::Unordered { resource } => {
                let unordered = self.stages.unordered(resource.desc.usage());
                if unordered.stages.is_empty() {
                    let rule = CallRule::QueueKnowsState;
                    let (state, allowed) = (State::UNORDERED_ACCESS, State::allowed_on(self.kind));
                    return Err(DeviceError::InvalidState { rule, state, allowed });
                }
                group.push_unordered(unordered);
                Ok(())
            }
            Barrier::Aliasing { .. } => Ok(()),
        }
    }

    /// Notes the resources that take over memory; before anything else is added to the same group.
    pub(super) fn add_takeover(
        &mut self,
        barrier: &Barrier<'_, impl Device<Resource = Resource>>,
        group: &mut BarrierGroup,
    ) -> Result<(), DeviceError> {
        let Barrier::Aliasing { before, after, from, to } = *barrier else { return Ok(()) };
        for resource in before.into_iter().chain([after]) {
            resource.check_device(&self.queues)?;
        }
        let from = match before {
            _ if from == State::all() => Half::EVERYTHING,
            Some(before) => self.stages.half(from, before.desc.usage()),
            None => self.stages.half_of_unknown(from, self.resources.has_input_attachments()),
        };
        let to = self.stages.half(to, after.desc.usage());
        let to = if to.stages.is_empty() { Half::EVERYTHING } else { to };
        let image = match after.object {
            Object::Buffer(_) => None,
            Object::Image(image) => Some(image),
        };
        group.takeovers.add(image, from.writes(), to);
        Ok(())
    }

    fn add_transition(
        &mut self,
        (resource, subresource): (&Resource, Subresource),
        states: [State; 2],
        transfer: Option<QueueTransfer>,
        group: &mut BarrierGroup,
    ) -> Result<(), DeviceError> {
        resource.check_device(&self.queues)?;
        check::subresource(&resource.desc, subresource)?;
        if states[1].is_empty() {
            return Err(DeviceError::broken_rule(CallRule::NeverToCommon));
        }
        let Some(side) = self.side(resource, states, transfer)? else { return Ok(()) };
        let is_peers = transfer.is_some_and(|transfer| [transfer.from, transfer.to].contains(&QueueId::PEER));
        if is_peers && subresource != Subresource::All {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesAll));
        }
        let usage = resource.desc.usage();
        match resource.object {
            Object::Buffer(_) if side == Side::Alone => {
                let [before, after] = states;
                let (from, to) = (self.stages.half(before, usage), self.stages.half(after, usage));
                group.push_buffer(halves(from, to));
            }
            Object::Buffer(buffer) => {
                let [before, after] = states.map(|state| self.stages.of(state, usage));
                group.push_buffer_transfer(buffer, dependency(before, after, side));
            }
            Object::Image(image) => {
                let (_, info) = resource.as_image()?;
                let range = subresource_range(info, subresource);
                group.push_image(image, range, self.image_dependency(image, usage, states, side, group));
            }
        }
        Ok(())
    }

    fn image_dependency(
        &self,
        image: vk::Image,
        usage: Usage,
        states: [State; 2],
        side: Side,
        group: &BarrierGroup,
    ) -> Dependency {
        let side = match side {
            Side::Alone if states[0].is_empty() => group.takeovers.of(image).map_or(side, Side::Aliased),
            _ => side,
        };
        let [mut before, after] = states.map(|state| self.stages.of(state, usage));
        if states[0].is_empty() && usage.contains(Usage::PRESENT) {
            // These wait for the image to be acquired.
            before.stages = self.stages.of(State::PRESENT, usage).stages;
        }
        dependency(before, after, side)
    }

    /// The half of a transfer that this queue records; `None`: the other queue records all of it.
    fn side(
        &self,
        resource: &Resource,
        [before, after]: [State; 2],
        transfer: Option<QueueTransfer>,
    ) -> Result<Option<Side>, DeviceError> {
        let Some(QueueTransfer { from, to }) = transfer else {
            check::state(self.kind, before)?;
            check::state(self.kind, after)?;
            return Ok(Some(Side::Alone));
        };
        if from == QueueId::PEER || to == QueueId::PEER {
            return self.peer_side(resource, [before, after], [from, to]).map(Some);
        }
        if resource.buffer().is_some() {
            return Err(DeviceError::invalid_call(
                "buffers are not handed over",
                u64::from(from.0),
                u64::from(to.0),
            ));
        }
        let (source, destination) = (self.queues.queue(from)?, self.queues.queue(to)?);
        check::state(source.properties.kind, before)?;
        check::state(destination.properties.kind, after)?;
        let families = [source.properties.family, destination.properties.family];
        match self.queue {
            // Queues of one family need no transfer: one of them records the transition.
            queue if queue == from && families[0] == families[1] => Ok(Some(Side::Alone)),
            queue if queue == from => Ok(Some(Side::Release(families))),
            queue if queue == to && families[0] == families[1] => Ok(None),
            queue if queue == to => Ok(Some(Side::Acquire(families))),
            queue => {
                let rule = CallRule::TransferQueue;
                Err(DeviceError::invalid_call(rule, u64::from(queue.0), u64::from(to.0)))
            }
        }
    }

    /// The half of a transfer to or from another device or process, which this queue records.
    fn peer_side(
        &self,
        resource: &Resource,
        [before, after]: [State; 2],
        [from, to]: [QueueId; 2],
    ) -> Result<Side, DeviceError> {
        if !resource.desc.usage().contains(Usage::SHARED) {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesShared));
        }
        check::state(self.kind, before)?;
        if before != after {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesAll));
        }
        let usage = resource.desc.usage();
        let is_of_all = matches!(resource.object, Object::Buffer(_)) || usage.is_of_all_queues();
        let own = match is_of_all && self.queues.families.len() > 1 {
            // All families share it.
            true => vk::QUEUE_FAMILY_IGNORED,
            false => self.queues.queue(self.queue)?.properties.family,
        };
        let is_foreign = usage.contains(Usage::SHARED_ACROSS_DRIVERS);
        let peer = if is_foreign { vk::QUEUE_FAMILY_FOREIGN_EXT } else { vk::QUEUE_FAMILY_EXTERNAL };
        match [from, to] {
            [queue, QueueId::PEER] if queue == self.queue => Ok(Side::Release([own, peer])),
            [QueueId::PEER, queue] if queue == self.queue => Ok(Side::Acquire([peer, own])),
            _ => {
                let rule = CallRule::TransferQueue;
                Err(DeviceError::invalid_call(rule, u64::from(self.queue.0), u64::from(to.0)))
            }
        }
    }

    /// Checks that the discarded resource is a texture that the queue can write; no command is needed, because
    /// leaving `COMMON` discards the contents.
    pub(super) fn check_discard(
        &self,
        resource: &Resource,
        subresource: Subresource,
    ) -> Result<(), DeviceError> {
        resource.check_device(&self.queues)?;
        let (_, info) = resource.as_image()?;
        check::subresource(&resource.desc, subresource)?;
        let state = State::to_discard(info.usage, self.kind);
        state.map(drop).ok_or_else(|| DeviceError::cannot_discard(info.usage))
    }

    pub(super) fn record_group(&self, group: &BarrierGroup) {
        if group.is_empty() {
            return;
        }
        let api = &self.queues.api;
        if let Some(calls) = api.synchronization2 {
            let info = vk::DependencyInfo::default()
                .memory_barriers(&group.memory)
                .buffer_memory_barriers(&group.buffers)
                .image_memory_barriers(&group.images);
            // SAFETY: the command buffer is open and used only by this thread; the resources are alive, and the
            // queue supports the stages and accesses.
            unsafe { (calls.barrier)(self.buffer, &raw const info) };
            return;
        }
        let OlderGroup { from, to, memory, buffers, images } = OlderGroup::of(group);
        let flags = vk::DependencyFlags::empty();
        // SAFETY: as above.
        unsafe {
            api.device.cmd_pipeline_barrier(self.buffer, from, to, flags, &memory, &buffers, &images);
        }
    }

    /// Checks that the queue supports every state whose writes become visible to the CPU.
    pub(super) fn check_written(&self, written: State) -> Result<(), DeviceError> {
        written.iter().try_for_each(|state| check::state(self.kind, state))
    }

    /// The barrier that makes writes in these states visible to the CPU, for resources of any usage.
    pub(super) fn host_barrier(&self, written: State) -> BarrierGroup {
        let mut group = BarrierGroup::default();
        group.push_host_reads(self.stages.of(written, Usage::all()));
        group
    }
}
