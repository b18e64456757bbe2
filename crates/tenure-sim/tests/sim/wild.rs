//! No numbers cause a panic or a hang.

use proptest::prelude::*;
use tenure_core::device::{CommandList as _, Device as _, *};
use tenure_sim::{Device, DeviceConfig, Lag, List, Profile, Resource};

use crate::common::*;

fn small_or_wild() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, (0_u64..8).prop_map(|pages| pages << 16), any::<u64>(), Just(u64::MAX)]
}

fn short() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..5, 0_u32..70, any::<u32>()]
}

/// Random numbers for one command.
#[derive(Clone, Debug)]
struct Wild {
    what: u8,
    one: usize,
    two: usize,
    longs: [u64; 3],
    shorts: [u32; 6],
    states: [u32; 2],
    queues: [u8; 2],
}

fn wild() -> impl Strategy<Value = Wild> {
    let longs = prop::array::uniform3(small_or_wild());
    let shorts = prop::array::uniform6(short());
    let states = prop::array::uniform2(prop_oneof![any::<u32>(), (0_u32..14).prop_map(|bit| 1 << bit)]);
    let queues = prop::array::uniform2(prop_oneof![0_u8..3, any::<u8>()]);
    (any::<u8>(), 0_usize..5, 0_usize..5, longs, shorts, states, queues).prop_map(
        |(what, one, two, longs, shorts, states, queues)| Wild {
            what,
            one,
            two,
            longs,
            shorts,
            states,
            queues,
        },
    )
}

fn barrier<'a>(wild: &Wild, one: &'a Resource, two: &'a Resource) -> Barrier<'a, Device> {
    let state = |index: usize| State::from_bits_truncate(wild.states[index]);
    match wild.what % 5 {
        0 => Barrier::Unordered { resource: one },
        1 => Barrier::Aliasing { before: Some(one), after: two, from: state(0), to: state(1) },
        kind => Barrier::Transition {
            resource: one,
            subresource: if kind == 2 { Subresource::All } else { Subresource::One(wild.shorts[0]) },
            before: state(0),
            after: state(1),
            transfer: (kind == 4)
                .then(|| QueueTransfer { from: QueueId(wild.queues[0]), to: QueueId(wild.queues[1]) }),
        },
    }
}

fn command(list: &mut List, wild: &Wild, one: &Resource, two: &Resource) {
    let [a, b, c] = wild.longs;
    let [s0, s1, s2, s3, s4, s5] = wild.shorts;
    let state = State::from_bits_truncate(wild.states[0]);
    let region = TextureRegion {
        mip: s0 % 4,
        layer: s1 % 3,
        plane: Plane::First,
        origin: [s2, s3, 0],
        extent: [s4, s5, 1],
    };
    let layout = BufferLayout { offset: a, row_pitch: b, rows: s0 };
    match wild.what % 14 {
        0 => list.copy_buffer(one, a, two, b, c),
        1 => list.copy_buffer_to_texture(one, layout, two, region),
        2 => list.copy_texture_to_buffer(one, region, two, layout),
        3 => list.fill_buffer(one, a, b, 1),
        4 => list.use_buffer(one, a, b, state),
        5 => list.use_texture(one, Subresource::One(s0), state),
        6 => list.clear_texture(one, Subresource::One(s0), &vec![1; (s1 % 20) as usize]),
        7 => list.expect_bytes(one, a, &vec![1; (s1 % 300) as usize]),
        8 => list.discard(one, Subresource::One(s0)),
        9 => list.copy_texture(one, two, Subresource::All),
        10 => list.copy_texture(one, two, Subresource::One(s0)),
        11 => list.generate_mip(one, s0 % 4, s1 % 3..s2 % 4),
        _ => list.barriers(&[barrier(wild, one, two)]),
    }
}

fn resources(device: &Device) -> Vec<Resource> {
    let all = Usage::COPY_SRC | Usage::COPY_DST | Usage::UNORDERED_ACCESS | Usage::SHADER_READ;
    let array = texture_info(70, 70, all).mips(3).depth_or_layers(2);
    let array = ResourceDesc::Texture(array);
    let mut made = vec![
        committed(device, "buffer", &buffer(1 << 18, all)),
        committed(device, "texture", &array),
        upload(device, "upload", 1 << 18),
    ];
    let placed = buffer(1 << 17, all);
    let (heap, offset) = heap_for(device, &placed);
    made.push(device.create_placed(Permit::checked(), &placed, &heap, offset).unwrap());
    made.push(device.create_placed(Permit::checked(), &placed, &heap, offset).unwrap());
    made.extend(device.create_reserved(&buffer(1 << 19, all)));
    made.extend(device.create_reserved(&array));
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn wild_commands(
        profile in 0..Profile::ALL.len(),
        commands in prop::collection::vec(wild(), 1..40),
        seed: u64,
    ) {
        let options = DeviceConfig::new(Profile::ALL[profile]).lag(Lag::Random { max: 3 }).seed(seed);
        let device = Device::with_config(options);
        let made = resources(&device);
        let mut serials = [0; 3];
        for wild in &commands {
            let queue = QueueId(wild.queues[0] % device.properties().queues.len() as u8);
            let (one, two) = (&made[wild.one % made.len()], &made[wild.two % made.len()]);
            let mut list = device.create_list(Permit::checked(), queue).unwrap();
            list.begin().unwrap();
            command(&mut list, wild, one, two);
            if list.close().is_ok() {
                serials[queue.index()] += 1;
                device.submit(Permit::checked(), queue, &[&list], &[], serials[queue.index()]).unwrap();
            }
            let region = TileRegion {
                subresource: wild.shorts[0],
                origin: [wild.shorts[1], wild.shorts[2], 0],
                extent: [wild.shorts[3] % 99, wild.shorts[4] % 99, 1],
            };
            let source = TileSource::CopyOf { resource: two, region };
            let update = TileUpdate { resource: one, region, source };
            if device.update_tiles(Permit::checked(), queue, &[update], &[], serials[queue.index()] + 1).is_ok() {
                serials[queue.index()] += 1;
            }
            let wrong = after(QueueId(wild.queues[1]), wild.longs[0]);
            let _ = device.wait(wrong, std::time::Duration::ZERO);
        }
        prop_assert!(device.run_until_idle());
        for hazard in device.hazards() {
            prop_assert!(!hazard.to_string().is_empty());
        }
    }
}
