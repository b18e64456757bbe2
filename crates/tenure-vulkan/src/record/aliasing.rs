//! Memory that changes hands in one batch of barriers.
//!
//! Where the first transition of an image that takes over memory is in the batch, its own barrier
//! waits for the previous owners of the memory: the change of layout comes after them. That is not enough,
//! because an image barrier makes only writes through that image available, and synchronization
//! validation takes its execution dependency, too, to be for that image alone. So all that take over
//! memory share one memory barrier, which is as narrow as what they do.

use ash::vk;
use smallvec::SmallVec;

use crate::stages::Half;

/// A resource that takes over memory.
struct Takeover {
    /// `None`: a buffer.
    image: Option<vk::Image>,
    from: Half,
    to: Half,
}

/// All that take over memory in one batch.
#[derive(Default)]
pub(crate) struct Takeovers(SmallVec<[Takeover; 4]>);

impl Takeovers {
    /// A buffer, or an image, has memory that was used as `from` and is used as `to` next.
    pub(crate) fn add(&mut self, image: Option<vk::Image>, from: Half, to: Half) {
        // Memory that this queue did not use needs no barrier.
        if !from.stages.is_empty() {
            self.0.push(Takeover { image, from, to });
        }
    }

    /// What a transition from `COMMON` waits for, if the image takes over memory that was used.
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

    use super::*;
    use crate::stages::vk_stage_access_layout;

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
    fn what_nobody_used_on_the_queue_needs_nothing() {
        let mut takeovers = Takeovers::default();
        takeovers.add(image(1), from(State::COMMON), to(State::COPY_DST));
        takeovers.add(None, from(State::COMMON), to(State::COPY_DST));
        assert_eq!(takeovers.of(vk::Image::from_raw(1)), None);
        assert_eq!(takeovers.memory(), None);
    }
}
