//! Render targets and depth buffers are cleared, discarded or copied to before any other use, if no barrier
//! initialises their compression.

use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, HazardKind, List, Profile, Resource};

use crate::common::*;

const TARGET: State = State::RENDER_TARGET;
const USAGE: Usage = Usage::RENDER_TARGET.union(Usage::SHADER_READ).union(Usage::COPY_DST);
const FIRST: Subresource = Subresource::One(0);

fn chain(device: &Device) -> Resource {
    let info = texture_info(16, 16, USAGE).mips(2);
    committed(device, "bloom", &ResourceDesc::Texture(info))
}

fn to(list: &mut List, resource: &Resource, [before, after]: [State; 2]) {
    list.barriers(&[Barrier::Transition { resource, subresource: FIRST, before, after, transfer: None }]);
}

fn region(extent: [u32; 3]) -> TextureRegion {
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent }
}

/// A step that initialises the first mip of a new target, or does not.
type Step = fn(&mut List, &Resource, &Resource);

const STEPS: [(Step, bool); 6] = [
    (|list, bloom, _| list.clear_texture(bloom, FIRST, &[1]), true),
    (|list, bloom, _| list.discard(bloom, FIRST), true),
    (|list, bloom, _| list.discard(bloom, Subresource::One(1)), false),
    (|_, _, _| {}, false),
    (|list, bloom, page| copied(list, bloom, page, [16, 16, 1]), true),
    (|list, bloom, page| copied(list, bloom, page, [16, 8, 1]), false),
];

fn copied(list: &mut List, bloom: &Resource, page: &Resource, extent: [u32; 3]) {
    to(list, bloom, [TARGET, State::COPY_DST]);
    let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 16 };
    list.copy_buffer_to_texture(page, layout, bloom, region(extent));
    to(list, bloom, [State::COPY_DST, TARGET]);
}

#[test]
fn a_new_target_is_cleared_discarded_or_filled_first() {
    for (step, is_ready) in STEPS {
        for profile in [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
            let device = manual(profile);
            let (bloom, page) = (chain(&device), upload(&device, "page", 4096));
            device.map(&page).unwrap().write(0, &[1; 4096]).unwrap();
            submit(&device, GRAPHICS, 1, &[], |list| {
                list.barriers(&[Barrier::Transition {
                    resource: &bloom,
                    subresource: Subresource::All,
                    before: State::COMMON,
                    after: TARGET,
                    transfer: None,
                }]);
                step(list, &bloom, &page);
                list.use_texture(&bloom, FIRST, TARGET);
            });
            let found = hazards(&device);
            match is_ready || profile != Profile::DISCRETE {
                true => assert_clean(&found),
                false => assert_one(&found, HazardKind::UninitializedTarget, &["bloom"]),
            }
        }
    }
}

/// Earlier writes do not matter after an aliasing barrier.
#[test]
fn targets_with_new_memory_forget_earlier_writes() {
    let device = manual(Profile::DISCRETE);
    let desc = texture(64, 64, USAGE);
    let (heap, offset) = heap_for(&device, &desc);
    let bloom = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&bloom), "bloom");
    submit(&device, GRAPHICS, 1, &[], |list| {
        become_target(list, &bloom);
        list.use_texture(&bloom, Subresource::All, TARGET);
        list.barriers(&[aliasing(None, &bloom)]);
        list.discard(&bloom, Subresource::All);
        list.use_texture(&bloom, Subresource::All, TARGET);
    });
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 2, &[], |list| {
        list.barriers(&[aliasing(None, &bloom)]);
        list.use_texture(&bloom, Subresource::All, TARGET);
        // Reported once.
        list.use_texture(&bloom, Subresource::All, TARGET);
    });
    assert_one(&hazards(&device), HazardKind::UninitializedTarget, &["bloom"]);
}
