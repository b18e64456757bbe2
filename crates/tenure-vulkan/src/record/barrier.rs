//! Translation of barriers from the contract to Vulkan.

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{Subresource, TextureInfo};

use crate::format::aspects;
use crate::stages::{Half, StateUse};

type Stages = vk::PipelineStageFlags2;
type Access = vk::AccessFlags2;

/// A dependency, with its layout change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) from: Half,
    pub(crate) to: Half,
    pub(crate) layouts: [vk::ImageLayout; 2],
    /// The families between which an image changes its owner.
    pub(crate) families: [u32; 2],
}

/// The part of an ownership transfer in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// No transfer: the owner does not change.
    Alone,
    /// No transfer, and the memory was used by others until now.
    Aliased(Half),
    Release([u32; 2]),
    Acquire([u32; 2]),
}

/// The dependency between two states.
pub(crate) fn dependency(before: StateUse, after: StateUse, side: Side) -> Dependency {
    let layouts = [before.layout, after.layout];
    let (from, to) = (Half::of(before), Half::of(after));
    match side {
        Side::Release(families) => Dependency { from: from.writes(), to: Half::CHAIN, layouts, families },
        // The wait of the submission is in front of all stages, those of the first use included: other work of the
        // queue need not end. Peers may be waited for at any stages.
        Side::Acquire(families) if is_peers(families) => {
            Dependency { from: Half::CHAIN, to, layouts, families }
        }
        Side::Acquire(families) => {
            let from = Half { stages: to.stages, access: Access::empty() };
            Dependency { from, to, layouts, families }
        }
        Side::Aliased(from) => Dependency { from, to, layouts, families: [vk::QUEUE_FAMILY_IGNORED; 2] },
        Side::Alone => {
            let [from, to] = halves(from, to);
            Dependency { from, to, layouts, families: [vk::QUEUE_FAMILY_IGNORED; 2] }
        }
    }
}

/// True for a transfer to or from another device or process.
fn is_peers(families: [u32; 2]) -> bool {
    let peers = [vk::QUEUE_FAMILY_EXTERNAL, vk::QUEUE_FAMILY_FOREIGN_EXT];
    peers.iter().any(|peer| families.contains(peer))
}

/// The dependency between two uses by one queue.
pub(crate) fn halves(from: Half, to: Half) -> [Half; 2] {
    // From `COMMON`: the resource was not used, but its memory may have been; a barrier or a semaphore orders
    // these uses before the same stages.
    let fresh = Half { stages: to.stages, access: Access::empty() };
    [if from.stages.is_empty() { fresh } else { from.writes() }, to]
}

/// Barriers recorded at once; they must not depend on each other.
#[derive(Default)]
pub(crate) struct BarrierGroup {
    pub(crate) memory: SmallVec<[vk::MemoryBarrier2<'static>; 2]>,
    pub(crate) buffers: SmallVec<[vk::BufferMemoryBarrier2<'static>; 8]>,
    pub(crate) images: SmallVec<[vk::ImageMemoryBarrier2<'static>; 8]>,
    /// The resources that take over memory.
    pub(crate) takeovers: Takeovers,
}

impl BarrierGroup {
    pub(crate) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.buffers.is_empty() && self.images.is_empty()
    }

    /// Adds a barrier for all memory, unless the group has the same.
    fn push_memory(&mut self, from: Half, to: Half) {
        let is_same = |each: &vk::MemoryBarrier2<'_>| {
            (each.src_stage_mask, each.src_access_mask) == (from.stages, from.access)
                && (each.dst_stage_mask, each.dst_access_mask) == (to.stages, to.access)
        };
        if self.memory.iter().any(is_same) {
            return;
        }
        self.memory.push(vk::MemoryBarrier2 {
            src_stage_mask: from.stages,
            src_access_mask: from.access,
            dst_stage_mask: to.stages,
            dst_access_mask: to.access,
            ..Default::default()
        });
    }

    /// Makes the writes in these states visible to the CPU once the submission is complete.
    pub(crate) fn push_host_reads(&mut self, written: StateUse) {
        let from = Half::of(written).writes();
        if !from.stages.is_empty() {
            self.push_memory(from, Half { stages: Stages::HOST, access: Access::HOST_READ });
        }
    }

    /// Orders earlier unordered accesses before later ones.
    pub(crate) fn push_unordered(&mut self, unordered: StateUse) {
        let half = Half::of(unordered);
        self.push_memory(half.writes(), half);
    }

    /// Orders the previous owners of memory before the resources that take it over.
    pub(crate) fn end_takeovers(&mut self) {
        if let Some([from, to]) = self.takeovers.memory() {
            self.push_memory(from, to);
        }
    }

    /// Orders the uses of a buffer, whose owner does not change, by a barrier for all memory: drivers do not implement
    /// narrower ones, and one serves all buffers of a group with the same uses.
    pub(crate) fn push_buffer(&mut self, [from, to]: [Half; 2]) {
        self.push_memory(from, to);
    }

    /// Buffers are shared by all families, and change their owner only between this device and another.
    pub(crate) fn push_buffer_transfer(&mut self, buffer: vk::Buffer, dependency: Dependency) {
        let Dependency { from, to, families, .. } = dependency;
        self.buffers.push(vk::BufferMemoryBarrier2 {
            src_stage_mask: from.stages,
            src_access_mask: from.access,
            dst_stage_mask: to.stages,
            dst_access_mask: to.access,
            src_queue_family_index: families[0],
            dst_queue_family_index: families[1],
            buffer,
            offset: 0,
            size: vk::WHOLE_SIZE,
            ..Default::default()
        });
    }

    pub(crate) fn push_image(
        &mut self,
        image: vk::Image,
        range: vk::ImageSubresourceRange,
        dependency: Dependency,
    ) {
        let Dependency { from, to, layouts: [old_layout, new_layout], families } = dependency;
        self.images.push(vk::ImageMemoryBarrier2 {
            src_stage_mask: from.stages,
            src_access_mask: from.access,
            dst_stage_mask: to.stages,
            dst_access_mask: to.access,
            old_layout,
            new_layout,
            src_queue_family_index: families[0],
            dst_queue_family_index: families[1],
            image,
            subresource_range: range,
            ..Default::default()
        });
    }
}

/// The parts of an image that a subresource is.
pub(crate) fn subresource_range(info: &TextureInfo, part: Subresource) -> vk::ImageSubresourceRange {
    let range = vk::ImageSubresourceRange::default().aspect_mask(aspects(info.format));
    match part {
        Subresource::All => range.level_count(info.mips).layer_count(info.layers()),
        Subresource::One(index) => {
            let mips = info.mips.max(1);
            range.base_mip_level(index % mips).level_count(1).base_array_layer(index / mips).layer_count(1)
        }
    }
}

/// A barrier by `vkCmdPipelineBarrier`: one pair of stages for all.
pub(crate) struct OlderGroup {
    pub(crate) from: vk::PipelineStageFlags,
    pub(crate) to: vk::PipelineStageFlags,
    pub(crate) memory: SmallVec<[vk::MemoryBarrier<'static>; 2]>,
    pub(crate) buffers: SmallVec<[vk::BufferMemoryBarrier<'static>; 8]>,
    pub(crate) images: SmallVec<[vk::ImageMemoryBarrier<'static>; 8]>,
}

impl OlderGroup {
    pub(crate) fn of(group: &BarrierGroup) -> Self {
        let mut stages = [Stages::empty(); 2];
        let mut note = |from: Stages, to: Stages| stages = [stages[0] | from, stages[1] | to];
        group.memory.iter().for_each(|each| note(each.src_stage_mask, each.dst_stage_mask));
        group.buffers.iter().for_each(|each| note(each.src_stage_mask, each.dst_stage_mask));
        group.images.iter().for_each(|each| note(each.src_stage_mask, each.dst_stage_mask));
        let or = |found: vk::PipelineStageFlags, none| if found.is_empty() { none } else { found };
        Self {
            from: or(older_stages(stages[0]), vk::PipelineStageFlags::TOP_OF_PIPE),
            to: or(older_stages(stages[1]), vk::PipelineStageFlags::BOTTOM_OF_PIPE),
            memory: group.memory.iter().map(older_memory).collect(),
            buffers: group.buffers.iter().map(older_buffer).collect(),
            images: group.images.iter().map(older_image).collect(),
        }
    }
}

/// The same flags; all flags used here fit in 32 bits.
fn older_stages(stages: Stages) -> vk::PipelineStageFlags {
    vk::PipelineStageFlags::from_raw(u32::try_from(stages.as_raw() & u64::from(u32::MAX)).unwrap_or(0))
}

fn older_access(access: Access) -> vk::AccessFlags {
    vk::AccessFlags::from_raw(u32::try_from(access.as_raw() & u64::from(u32::MAX)).unwrap_or(0))
}

fn older_memory(barrier: &vk::MemoryBarrier2<'static>) -> vk::MemoryBarrier<'static> {
    vk::MemoryBarrier::default()
        .src_access_mask(older_access(barrier.src_access_mask))
        .dst_access_mask(older_access(barrier.dst_access_mask))
}

fn older_buffer(barrier: &vk::BufferMemoryBarrier2<'static>) -> vk::BufferMemoryBarrier<'static> {
    vk::BufferMemoryBarrier::default()
        .src_access_mask(older_access(barrier.src_access_mask))
        .dst_access_mask(older_access(barrier.dst_access_mask))
        .src_queue_family_index(barrier.src_queue_family_index)
        .dst_queue_family_index(barrier.dst_queue_family_index)
        .buffer(barrier.buffer)
        .offset(barrier.offset)
        .size(barrier.size)
}

fn older_image(barrier: &vk::ImageMemoryBarrier2<'static>) -> vk::ImageMemoryBarrier<'static> {
    vk::ImageMemoryBarrier::default()
        .src_access_mask(older_access(barrier.src_access_mask))
        .dst_access_mask(older_access(barrier.dst_access_mask))
        .old_layout(barrier.old_layout)
        .new_layout(barrier.new_layout)
        .src_queue_family_index(barrier.src_queue_family_index)
        .dst_queue_family_index(barrier.dst_queue_family_index)
        .image(barrier.image)
        .subresource_range(barrier.subresource_range)
}

// Memory that changes hands in one group of barriers.
//
// If the group contains the first transition of an image that takes over memory, its own barrier waits for the
// previous owners of the memory: the layout change comes after them. That is not enough, because an image barrier
// makes only writes through that image available, and synchronization validation also takes its execution
// dependency to be for that image alone. So all resources that take over memory share one memory barrier, limited
// to their stages and accesses.

/// A resource that takes over memory.
struct Takeover {
    /// `None`: a buffer.
    image: Option<vk::Image>,
    from: Half,
    to: Half,
}

/// All resources of one group that take over memory.
#[derive(Default)]
pub(crate) struct Takeovers(SmallVec<[Takeover; 4]>);

impl Takeovers {
    /// Adds the takeover of memory that was used as `from`, and is used as `to` next, by an image or (`None`) a buffer.
    pub(crate) fn add(&mut self, image: Option<vk::Image>, from: Half, to: Half) {
        // Memory that this queue did not use needs no barrier.
        if !from.stages.is_empty() {
            self.0.push(Takeover { image, from, to });
        }
    }

    /// The scope that a transition from `COMMON` waits for, if the image takes over used memory.
    pub(crate) fn of(&self, image: vk::Image) -> Option<Half> {
        self.0.iter().find(|takeover| takeover.image == Some(image)).map(|takeover| takeover.from)
    }

    /// The memory barrier for all.
    pub(crate) fn memory(&self) -> Option<[Half; 2]> {
        let both = self.0.iter().map(|takeover| [takeover.from, takeover.to]);
        both.reduce(|[from, to], [also_from, also_to]| [from.or(also_from), to.or(also_to)])
    }
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle as _;
    use tenure_core::device::State;
    use vk::ImageLayout;

    use super::*;
    use crate::stages::vk_stage_access_layout;

    fn between(before: State, after: State, side: Side) -> Dependency {
        dependency(vk_stage_access_layout(before), vk_stage_access_layout(after), side)
    }

    #[test]
    fn writes_are_made_available_and_reads_only_waited_for() {
        let found = between(State::COPY_DST, State::PIXEL_SHADER, Side::Alone);
        assert_eq!(found.from, Half { stages: Stages::TRANSFER, access: Access::TRANSFER_WRITE });
        assert_eq!(found.to, Half { stages: Stages::FRAGMENT_SHADER, access: Access::SHADER_READ });
        let layouts = [ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::SHADER_READ_ONLY_OPTIMAL];
        assert_eq!(found.layouts, layouts);
        assert_eq!(found.families, [vk::QUEUE_FAMILY_IGNORED; 2]);
        let found = between(State::PIXEL_SHADER, State::COPY_DST, Side::Alone);
        assert_eq!(found.from, Half { stages: Stages::FRAGMENT_SHADER, access: Access::empty() });
    }

    /// So that it follows the barrier that orders the memory before those stages.
    #[test]
    fn the_first_use_waits_for_its_own_stages() {
        let found = between(State::COMMON, State::RENDER_TARGET, Side::Alone);
        let stages = Stages::COLOR_ATTACHMENT_OUTPUT;
        assert_eq!(found.from, Half { stages, access: Access::empty() });
        assert_eq!(found.to.stages, stages);
        assert_eq!(found.layouts, [ImageLayout::UNDEFINED, ImageLayout::COLOR_ATTACHMENT_OPTIMAL]);
    }

    /// In one call with the barrier that transfers the memory, on which it must not depend.
    #[test]
    fn the_first_use_of_aliased_memory_waits_for_previous_owners() {
        let from = Half::of(vk_stage_access_layout(State::RENDER_TARGET)).writes();
        let found = between(State::COMMON, State::PIXEL_SHADER, Side::Aliased(from));
        assert_eq!(found.from, from);
        assert_eq!(found.to.stages, Stages::FRAGMENT_SHADER);
        assert_eq!(found.layouts[0], ImageLayout::UNDEFINED);
        let mut group = BarrierGroup::default();
        let to = found.to;
        group.takeovers.add(None, from, to);
        assert!(group.is_empty());
        group.end_takeovers();
        let [memory] = group.memory[..] else { panic!("{} memory barriers", group.memory.len()) };
        assert_eq!((memory.src_stage_mask, memory.src_access_mask), (from.stages, from.access));
        assert_eq!((memory.dst_stage_mask, memory.dst_access_mask), (to.stages, to.access));
    }

    /// Both halves have the same families and layouts; each orders only the work of its queue.
    #[test]
    fn a_transfer_has_two_matching_halves() {
        let families = [2, 0];
        let release = between(State::COPY_DST, State::PIXEL_SHADER, Side::Release(families));
        let acquire = between(State::COPY_DST, State::PIXEL_SHADER, Side::Acquire(families));
        assert_eq!(release.layouts, acquire.layouts);
        assert_eq!((release.families, acquire.families), (families, families));
        let fragment = Half { stages: Stages::FRAGMENT_SHADER, access: Access::empty() };
        assert_eq!((release.to, acquire.from), (Half::CHAIN, fragment));
        let peers = [vk::QUEUE_FAMILY_EXTERNAL, 0];
        let acquire = between(State::COPY_DST, State::PIXEL_SHADER, Side::Acquire(peers));
        assert_eq!(acquire.from, Half::CHAIN);
        assert_eq!(release.from.access, Access::TRANSFER_WRITE);
        assert_eq!(acquire.to.access, Access::SHADER_READ);
    }

    #[test]
    fn buffers_that_are_used_alike_share_a_barrier() {
        let mut group = BarrierGroup::default();
        let [copied, index] =
            [State::COPY_DST, State::INDEX].map(|state| Half::of(vk_stage_access_layout(state)));
        for [from, to] in [[copied, index], [index, copied], [copied, index]] {
            group.push_buffer(halves(from, to));
        }
        let scopes = |each: &vk::MemoryBarrier2<'_>| (each.src_access_mask, each.dst_access_mask);
        let found: Vec<_> = group.memory.iter().map(scopes).collect();
        let written = Access::TRANSFER_WRITE;
        assert_eq!(found, [(written, Access::INDEX_READ), (Access::empty(), written)]);
        assert!(group.buffers.is_empty());
    }

    #[test]
    fn older_barriers_name_the_union_of_stages() {
        let mut group = BarrierGroup::default();
        let peers = Side::Release([0, vk::QUEUE_FAMILY_EXTERNAL]);
        group.push_buffer_transfer(vk::Buffer::null(), between(State::COPY_DST, State::COPY_DST, peers));
        let [copied, index] =
            [State::COPY_DST, State::INDEX].map(|state| Half::of(vk_stage_access_layout(state)));
        group.push_buffer(halves(copied, index));
        group.push_buffer(halves(index, copied));
        let older = OlderGroup::of(&group);
        let both = vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::VERTEX_INPUT;
        assert_eq!((older.from, older.to), (both, both | vk::PipelineStageFlags::ALL_COMMANDS));
        assert_eq!(older.buffers[0].src_access_mask, vk::AccessFlags::TRANSFER_WRITE);
        assert_eq!(older.memory[0].src_access_mask, vk::AccessFlags::TRANSFER_WRITE);
        assert_eq!(older.memory[1].dst_access_mask, vk::AccessFlags::TRANSFER_WRITE);
        let none = OlderGroup::of(&BarrierGroup::default());
        assert_eq!(none.from, vk::PipelineStageFlags::TOP_OF_PIPE);
        assert_eq!(none.to, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
    }

    type Stages = vk::PipelineStageFlags2;
    type Access = vk::AccessFlags2;

    fn from(state: State) -> Half {
        Half::of(vk_stage_access_layout(state)).writes()
    }

    fn to(state: State) -> Half {
        Half::of(vk_stage_access_layout(state))
    }

    fn image(number: u64) -> Option<vk::Image> {
        Some(vk::Image::from_raw(number))
    }

    #[test]
    fn reads_are_waited_for_and_writes_made_available() {
        let reads = Half { stages: Stages::FRAGMENT_SHADER, access: Access::empty() };
        let written =
            Half { stages: Stages::COLOR_ATTACHMENT_OUTPUT, access: Access::COLOR_ATTACHMENT_WRITE };
        for (state, expected) in [(State::PIXEL_SHADER, reads), (State::RENDER_TARGET, written)] {
            let mut takeovers = Takeovers::default();
            takeovers.add(image(1), from(state), to(State::UNORDERED_ACCESS));
            assert_eq!(takeovers.of(vk::Image::from_raw(1)), Some(expected));
            assert_eq!(takeovers.of(vk::Image::from_raw(2)), None);
            assert_eq!(takeovers.memory(), Some([expected, to(State::UNORDERED_ACCESS)]));
        }
    }

    #[test]
    fn all_share_one_memory_barrier() {
        let mut takeovers = Takeovers::default();
        takeovers.add(None, from(State::COPY_DST), to(State::UNORDERED_ACCESS));
        takeovers.add(image(1), from(State::INDEX), to(State::COPY_DST));
        let [before, after] = takeovers.memory().unwrap();
        assert_eq!(before.stages, Stages::TRANSFER | Stages::VERTEX_INPUT);
        assert_eq!(before.access, Access::TRANSFER_WRITE);
        assert_eq!(after, to(State::UNORDERED_ACCESS).or(to(State::COPY_DST)));
        assert_eq!(takeovers.of(vk::Image::from_raw(1)), Some(from(State::INDEX)));
    }

    #[test]
    fn resources_unused_on_the_queue_need_no_barrier() {
        let mut takeovers = Takeovers::default();
        takeovers.add(image(1), from(State::COMMON), to(State::COPY_DST));
        takeovers.add(None, from(State::COMMON), to(State::COPY_DST));
        assert_eq!(takeovers.of(vk::Image::from_raw(1)), None);
        assert_eq!(takeovers.memory(), None);
    }
}
