//! Texels written directly by the CPU: the GPU's reads, and the hazards.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, DeviceConfig, HazardKind, Lag, Profile, Resource};

use crate::common::{COMPUTE, GRAPHICS, buffer, committed, texture, texture_info};
use crate::hazard_table::assert_listed;

const PERMIT: fn() -> Permit<Device> = Permit::checked;
const USAGE: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST).union(Usage::CPU_WRITE);
const FRESH: (State, State) = (State::COMMON, State::NON_PIXEL_SHADER);
const AGAIN: (State, State) = (State::NON_PIXEL_SHADER, State::NON_PIXEL_SHADER);

fn device() -> Device {
    Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Manual).texture_writes(true))
}

/// A texture of 4 by 4 texels, of 4 bytes each.
fn rock(device: &Device) -> Resource {
    committed(device, "rock", &texture(4, 4, USAGE))
}

fn write<'a>(bytes: &'a [u8], origin: [u32; 3], extent: [u32; 3]) -> TextureWrite<'a> {
    let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
    TextureWrite { region, row_pitch: u64::from(extent[0]) * 4, rows: extent[1], bytes }
}

fn whole(bytes: &[u8]) -> TextureWrite<'_> {
    write(bytes, [0; 3], [4, 4, 1])
}

/// Submits a use by shaders on a queue, as submission 1, and a check of the bytes.
fn submit_use(device: &Device, queue: QueueId, rock: &Resource, bytes: &[u8]) -> tenure_sim::List {
    let mut list = device.create_list(PERMIT(), queue).unwrap();
    list.begin().unwrap();
    list.use_texture(rock, Subresource::All, State::NON_PIXEL_SHADER);
    list.expect_bytes(rock, 0, bytes);
    list.close().unwrap();
    device.submit(PERMIT(), queue, &[&list], &[], 1).unwrap();
    list
}

#[test]
fn written_texels_are_found_without_a_barrier_on_any_queue() {
    for queue in [GRAPHICS, COMPUTE] {
        let device = device();
        let rock = rock(&device);
        let mut bytes = [3; 64];
        device.write_texture(PERMIT(), &rock, FRESH, &[whole(&bytes)]).unwrap();
        let padded = [9; 40];
        let part = TextureWrite { row_pitch: 24, rows: 2, ..write(&padded, [1, 2, 0], [2, 2, 1]) };
        device.write_texture(PERMIT(), &rock, AGAIN, &[part]).unwrap();
        bytes[36..44].fill(9);
        bytes[52..60].fill(9);
        let list = submit_use(&device, queue, &rock, &bytes);
        assert!(device.run_until_idle());
        device.write_texture(PERMIT(), &rock, AGAIN, &[whole(&bytes)]).unwrap();
        device.destroy_list(PERMIT(), list);
        device.destroy_resource(PERMIT(), rock);
        device.check_clean().unwrap();
    }
}

#[test]
fn a_partial_first_write_leaves_the_rest_unwritten() {
    let device = device();
    let rock = rock(&device);
    device.write_texture(PERMIT(), &rock, FRESH, &[write(&[1; 16], [0; 3], [4, 1, 1])]).unwrap();
    let mut bytes = [0xCD; 64];
    bytes[..16].fill(1);
    let _list = submit_use(&device, GRAPHICS, &rock, &bytes[..16]);
    assert!(device.run_until_idle());
    let hazards = device.take_hazards();
    let [hazard] = hazards.as_slice() else { panic!("{hazards:?}") };
    assert_eq!(hazard.kind, HazardKind::UninitializedRead);
}

/// A write is wrong while a submission in flight uses the texture, or with a state that is not the current one.
#[test]
fn a_write_that_races_or_comes_from_another_state_is_a_hazard() {
    let device = device();
    let rock = rock(&device);
    let bytes = [3; 64];
    device.write_texture(PERMIT(), &rock, FRESH, &[whole(&bytes)]).unwrap();
    let _list = submit_use(&device, GRAPHICS, &rock, &bytes);
    device.write_texture(PERMIT(), &rock, AGAIN, &[whole(&bytes)]).unwrap();
    let race = device.take_hazards();
    assert!(device.run_until_idle());
    device.write_texture(PERMIT(), &rock, FRESH, &[whole(&bytes)]).unwrap();
    let used = device.take_hazards();
    device.write_texture(PERMIT(), &rock, (State::COPY_DST, State::COPY_DST), &[whole(&bytes)]).unwrap();
    let moved = device.take_hazards();
    for (found, kind) in
        [(race, HazardKind::MappingHazard), (used, HazardKind::WrongState), (moved, HazardKind::WrongState)]
    {
        let [hazard] = found.as_slice() else { panic!("{kind:?}: {found:?}") };
        assert_eq!(hazard.kind, kind);
        assert_listed(hazard);
    }
}

#[test]
fn bytes_of_another_live_texture_are_not_written() {
    let device = device();
    let desc = texture(4, 4, USAGE);
    let (heap, offset) = crate::common::heap_for(&device, &desc);
    let place = |name| {
        let placed = device.create_placed(PERMIT(), &desc, &heap, offset).unwrap();
        device.set_name(PERMIT(), ObjectRef::Resource(&placed), name);
        placed
    };
    let (rock, grass) = (place("rock"), place("grass"));
    device.write_texture(PERMIT(), &rock, FRESH, &[whole(&[1; 64])]).unwrap();
    device.write_texture(PERMIT(), &grass, FRESH, &[whole(&[2; 64])]).unwrap();
    let hazards = device.take_hazards();
    let [hazard] = hazards.as_slice() else { panic!("{hazards:?}") };
    assert_eq!(hazard.kind, HazardKind::MissingAliasingBarrier);
    assert_listed(hazard);
}

#[test]
fn writes_that_break_a_rule_are_refused_and_change_nothing() {
    let device = device();
    let (rock, beside) =
        (rock(&device), committed(&device, "plain", &texture(4, 4, USAGE - Usage::CPU_WRITE)));
    let meshes = committed(&device, "meshes", &buffer(64, Usage::COPY_DST));
    let bytes = [3; 64];
    let write_to =
        |resource: &Resource, states, write| device.write_texture(PERMIT(), resource, states, &[write]);
    let rule = |result: Result<(), DeviceError>| match result.unwrap_err() {
        DeviceError::InvalidCall { rule, .. } | DeviceError::InvalidState { rule, .. } => rule,
        other => panic!("{other:?}"),
    };
    let missing = write_to(&beside, FRESH, whole(&bytes)).unwrap_err();
    assert!(matches!(missing, DeviceError::MissingUsage { .. }), "{missing:?}");
    assert_eq!(rule(write_to(&meshes, FRESH, whole(&bytes))), CallRule::IsTexture);
    let wrong_states = [
        ((State::COMMON, State::COMMON), CallRule::WrittenState),
        ((State::COMMON, State::RENDER_TARGET), CallRule::WrittenState),
        ((State::COPY_DST, State::NON_PIXEL_SHADER), CallRule::WrittenFrom),
    ];
    for (states, expected) in wrong_states {
        assert_eq!(rule(write_to(&rock, states, whole(&bytes))), expected, "{states:?}");
    }
    let wrong_writes = [
        (write(&bytes, [1, 0, 0], [4, 4, 1]), CallRule::TexelsInside),
        (whole(&bytes[..63]), CallRule::InsideResource),
        (TextureWrite { row_pitch: 12, ..whole(&bytes) }, CallRule::RowsHoldTexels),
        (TextureWrite { row_pitch: 17, ..whole(&bytes) }, CallRule::RowPitchAligned),
        (TextureWrite { row_pitch: u64::MAX - 3, ..whole(&bytes) }, CallRule::RowsHoldTexels),
    ];
    for (write, expected) in wrong_writes {
        assert_eq!(rule(write_to(&rock, FRESH, write)), expected);
    }
    let other = self::device();
    assert_eq!(rule(other.write_texture(PERMIT(), &rock, FRESH, &[whole(&bytes)])), CallRule::SameDevice,);
    device.write_texture(PERMIT(), &rock, FRESH, &[whole(&bytes)]).unwrap();
    [rock, beside, meshes].into_iter().for_each(|resource| device.destroy_resource(PERMIT(), resource));
    device.check_clean().unwrap();
}

/// The usage is for colour with one sample that is not shared, and only on devices with such writes.
#[test]
fn the_usage_is_refused_where_it_cannot_be() {
    let has = |profile| Device::new(profile).properties().features.contains(Features::TEXTURE_WRITES);
    assert!(has(Profile::VULKAN_LAVAPIPE) && !has(Profile::VULKAN_NVIDIA) && !has(Profile::D3D12_UMA));
    let device = device();
    let base = texture_info(4, 4, USAGE);
    let refused = [
        base.clone().usage(Usage::CPU_WRITE),
        base.clone().usage(USAGE | Usage::SHARED),
        base.clone().samples(4),
        base.clone().format(Format::D32Float),
    ];
    for info in refused {
        let desc = ResourceDesc::Texture(info.clone());
        let found = device.requirements(&desc).unwrap_err();
        assert!(matches!(found, DeviceError::InvalidDesc { field: "usage", .. }), "{found:?}");
        assert_eq!(device.texture_write_states(&info), State::COMMON);
    }
    let of_buffer = device.requirements(&buffer(64, USAGE)).unwrap_err();
    assert!(matches!(of_buffer, DeviceError::InvalidDesc { field: "usage", .. }), "{of_buffer:?}");
    let without = Device::new(Profile::DISCRETE).requirements(&texture(4, 4, USAGE)).unwrap_err();
    assert_eq!(without, DeviceError::Unsupported { feature: TEXTURE_WRITES });
    assert!(device.texture_write_states(&base).contains(State::SHADER_READ));
}
