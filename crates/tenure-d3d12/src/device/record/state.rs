//! Usage states as legacy resource states.

use tenure_core::device::State;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE,
    D3D12_RESOURCE_STATE_DEPTH_READ, D3D12_RESOURCE_STATE_DEPTH_WRITE, D3D12_RESOURCE_STATE_INDEX_BUFFER,
    D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE,
    D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE, D3D12_RESOURCE_STATE_PRESENT,
    D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE, D3D12_RESOURCE_STATE_RENDER_TARGET,
    D3D12_RESOURCE_STATE_RESOLVE_DEST, D3D12_RESOURCE_STATE_RESOLVE_SOURCE,
    D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER,
    D3D12_RESOURCE_STATES,
};

/// The states of each bit. Resource states do not distinguish the stages of shaders other than pixel shaders.
const TABLE: [(State, D3D12_RESOURCE_STATES); 15] = [
    (State::VERTEX_OR_CONSTANT, D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER),
    (State::INDEX, D3D12_RESOURCE_STATE_INDEX_BUFFER),
    (State::PIXEL_SHADER, D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE),
    (State::NON_PIXEL_SHADER, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE),
    (State::INDIRECT, D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT),
    (State::COPY_SRC, D3D12_RESOURCE_STATE_COPY_SOURCE),
    (State::RESOLVE_SRC, D3D12_RESOURCE_STATE_RESOLVE_SOURCE),
    (State::DEPTH_READ, D3D12_RESOURCE_STATE_DEPTH_READ),
    (State::ACCELERATION_STRUCTURE, D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE),
    (State::UNORDERED, D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
    (State::RENDER_TARGET, D3D12_RESOURCE_STATE_RENDER_TARGET),
    (State::DEPTH_WRITE, D3D12_RESOURCE_STATE_DEPTH_WRITE),
    (State::COPY_DST, D3D12_RESOURCE_STATE_COPY_DEST),
    (State::RESOLVE_DST, D3D12_RESOURCE_STATE_RESOLVE_DEST),
    // Equal to `COMMON`.
    (State::PRESENT, D3D12_RESOURCE_STATE_PRESENT),
];

/// The `D3D12_RESOURCE_STATES` of a usage state.
///
/// ```no_run
/// use tenure_core::device::State;
/// use tenure_d3d12::to_resource_states;
/// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE;
/// assert_eq!(to_resource_states(State::SHADER_READ), D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE);
/// ```
#[must_use]
pub fn to_resource_states(state: State) -> D3D12_RESOURCE_STATES {
    TABLE
        .iter()
        .filter(|(bits, _)| state.intersects(*bits))
        .fold(D3D12_RESOURCE_STATE_COMMON, |states, (_, also)| states | *also)
}

#[cfg(test)]
mod tests {
    use tenure_core::device::State;
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE, D3D12_RESOURCE_STATE_COMMON,
        D3D12_RESOURCE_STATE_GENERIC_READ,
    };

    use super::{TABLE, to_resource_states};

    #[test]
    fn every_state_has_bits_of_its_own_but_those_of_stages() {
        let all = TABLE.iter().fold(State::COMMON, |all, (state, _)| all | *state);
        assert_eq!(all, State::all());
        let mut seen = D3D12_RESOURCE_STATE_COMMON;
        for (state, states) in TABLE.into_iter().filter(|(state, _)| *state != State::PRESENT) {
            assert!(states.0 != 0 && (states & seen).0 == 0, "{state:?}");
            assert!(state.iter().all(|bit| to_resource_states(bit) == states), "{state:?}");
            seen |= states;
        }
        assert_eq!(to_resource_states(State::COMMON), D3D12_RESOURCE_STATE_COMMON);
        assert_eq!(to_resource_states(State::PRESENT), D3D12_RESOURCE_STATE_COMMON);
        assert_eq!(to_resource_states(State::SHADER_READ), D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE);
        let read = State::VERTEX_OR_CONSTANT | State::INDEX | State::SHADER_READ | State::COPY_SRC;
        assert_eq!(to_resource_states(read | State::INDIRECT), D3D12_RESOURCE_STATE_GENERIC_READ);
    }
}
