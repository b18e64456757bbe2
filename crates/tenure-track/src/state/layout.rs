//! Texture layouts of states, on APIs with explicit states.
//!
//! The backends translate these tables, so two states have one layout here exactly when they have one in the API.

use crate::device::State;

/// Vulkan's image layout of a state.
///
/// A use finds its texture in exactly the layout of its requested state, so that descriptors can be written before commands are
/// recorded. Therefore read states of different layouts are never merged; a caller may request their combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `UNDEFINED`: never used.
    Undefined,
    /// `GENERAL`: unordered access, and combinations without another layout.
    General,
    /// `SHADER_READ_ONLY_OPTIMAL`.
    ShaderRead,
    /// `TRANSFER_SRC_OPTIMAL`.
    CopySrc,
    /// `TRANSFER_DST_OPTIMAL`.
    CopyDst,
    /// `COLOR_ATTACHMENT_OPTIMAL`.
    RenderTarget,
    /// `DEPTH_STENCIL_ATTACHMENT_OPTIMAL`.
    DepthWrite,
    /// `DEPTH_STENCIL_READ_ONLY_OPTIMAL`, which shaders may sample as well.
    DepthRead,
    /// `PRESENT_SRC_KHR`.
    Present,
}

impl Layout {
    /// The layout of a texture in `state`.
    ///
    /// ```
    /// # use tenure::state::Layout;
    /// # use tenure::State;
    /// assert_eq!(Layout::of(State::PIXEL_SHADER), Layout::of(State::NON_PIXEL_SHADER));
    /// assert_eq!(Layout::of(State::DEPTH_READ | State::PIXEL_SHADER), Layout::DepthRead);
    /// assert_eq!(Layout::of(State::COPY_SRC | State::PIXEL_SHADER), Layout::General);
    /// ```
    #[must_use]
    pub const fn of(state: State) -> Self {
        const COPY_SRC: State = State::COPY_SRC.union(State::RESOLVE_SRC);
        const COPY_DST: State = State::COPY_DST.union(State::RESOLVE_DST);
        const DEPTH: State = State::DEPTH_READ.union(State::SHADER_READ);
        if state.is_empty() {
            Self::Undefined
        } else if State::SHADER_READ.contains(state) {
            Self::ShaderRead
        } else if COPY_SRC.contains(state) {
            Self::CopySrc
        } else if COPY_DST.contains(state) {
            Self::CopyDst
        } else if State::RENDER_TARGET.contains(state) {
            Self::RenderTarget
        } else if State::DEPTH_WRITE.contains(state) {
            Self::DepthWrite
        } else if DEPTH.contains(state) {
            Self::DepthRead
        } else if State::PRESENT.contains(state) {
            Self::Present
        } else {
            Self::General
        }
    }
}

/// The layout of a state on Direct3D 12 with enhanced barriers.
///
/// Shader reads and copies have one common layout that every kind of queue can use, so such textures move between queues
/// without a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum D3d12Layout {
    /// `UNDEFINED`: no contents.
    Undefined,
    /// `COMMON`, also called `PRESENT`: reads by shaders and copies, copies to it, and presentation.
    Common,
    /// `RENDER_TARGET`.
    RenderTarget,
    /// `UNORDERED_ACCESS`.
    UnorderedAccess,
    /// `DEPTH_STENCIL_WRITE`.
    DepthWrite,
    /// `DEPTH_STENCIL_READ`: depth for tests only.
    DepthRead,
    /// `RESOLVE_SOURCE`.
    ResolveSrc,
    /// `RESOLVE_DEST`.
    ResolveDst,
    /// `DIRECT_QUEUE_GENERIC_READ`: other combinations of reads. Only graphics queues can use it.
    GenericRead,
}

impl D3d12Layout {
    /// The layout of a texture in `state`.
    ///
    /// ```
    /// # use tenure::state::D3d12Layout;
    /// # use tenure::State;
    /// assert_eq!(D3d12Layout::of(State::PIXEL_SHADER), D3d12Layout::of(State::COPY_DST));
    /// assert_ne!(D3d12Layout::of(State::RESOLVE_SRC), D3d12Layout::of(State::COPY_SRC));
    /// let sampled = State::DEPTH_READ | State::PIXEL_SHADER;
    /// assert_eq!(D3d12Layout::of(sampled), D3d12Layout::GenericRead);
    /// ```
    #[must_use]
    pub const fn of(state: State) -> Self {
        const READ_IN_COMMON: State = State::SHADER_READ.union(State::COPY_SRC);
        const IN_COMMON: State = State::COPY_DST.union(State::PRESENT);
        if state.is_empty() {
            Self::Undefined
        } else if READ_IN_COMMON.contains(state) || IN_COMMON.contains(state) {
            Self::Common
        } else if State::RENDER_TARGET.contains(state) {
            Self::RenderTarget
        } else if State::UNORDERED.contains(state) {
            Self::UnorderedAccess
        } else if State::DEPTH_WRITE.contains(state) {
            Self::DepthWrite
        } else if State::DEPTH_READ.contains(state) {
            Self::DepthRead
        } else if State::RESOLVE_SRC.contains(state) {
            Self::ResolveSrc
        } else if State::RESOLVE_DST.contains(state) {
            Self::ResolveDst
        } else {
            Self::GenericRead
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{D3d12Layout, Layout};
    use crate::device::State;

    /// States merged because of a common layout stay in that layout.
    #[test]
    fn reads_of_one_layout_have_it_together() {
        let alone = State::WRITES | State::ACCELERATION_STRUCTURE | State::PRESENT;
        let reads = State::all().difference(alone);
        let all: Vec<State> = (1..=State::all().bits())
            .filter_map(State::from_bits)
            .filter(|state| reads.contains(*state))
            .collect();
        for one in &all {
            for other in &all {
                let both = *one | *other;
                if D3d12Layout::of(*one) == D3d12Layout::of(*other) {
                    assert_eq!(D3d12Layout::of(both), D3d12Layout::of(*one), "{one:?} and {other:?}");
                }
                if Layout::of(*one) == Layout::of(*other) {
                    assert_eq!(Layout::of(both), Layout::of(*one), "{one:?} and {other:?}");
                }
            }
        }
    }
}
