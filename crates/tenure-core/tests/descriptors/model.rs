//! Tables and sets against a model of their sources.

use proptest::prelude::*;
use proptest::test_runner::Config as Runs;
use tenure_core::{
    BindingKind, Config, DescriptorConfig, DescriptorKind, DescriptorOwner, DescriptorPart, DescriptorSet,
    DescriptorSetDesc, DescriptorTable, DescriptorTableDesc, Error, FrameConfig, Queue, SetDescriptor,
    SetLayoutDesc, State, Subresource, View,
};
use tenure_sim::{DescriptorAt, Device, Lag};

use crate::{BOTH, SECOND, binding, device, end, finish, gpu, heap, out, view};

const RESOURCE: DescriptorKind = DescriptorKind::Resource;

#[derive(Clone, Debug)]
enum Step {
    /// Another buffer in the place of a view's; views of the old one keep it.
    Replace(usize),
    /// A table, in a place, of views.
    Table(usize, Vec<usize>),
    DropTable(usize),
    Set(usize, Vec<usize>),
    DropSet(usize),
    /// A recording with dynamic tables and sets that reads through everything.
    Draw(Vec<Vec<usize>>),
    /// A recording that is not submitted.
    Discard(Vec<usize>),
    Frame,
}

const VIEWS: usize = 6;
const PLACES: usize = 5;
const ELEMENTS: usize = 4;

fn views(most: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..VIEWS, 1..=most)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..VIEWS).prop_map(Step::Replace),
        3 => (0..PLACES, views(7)).prop_map(|(place, views)| Step::Table(place, views)),
        1 => (0..PLACES).prop_map(Step::DropTable),
        3 => (0..PLACES, views(ELEMENTS)).prop_map(|(place, views)| Step::Set(place, views)),
        1 => (0..PLACES).prop_map(Step::DropSet),
        5 => prop::collection::vec(views(ELEMENTS), 0..5).prop_map(Step::Draw),
        1 => views(9).prop_map(Step::Discard),
        3 => Just(Step::Frame),
    ]
}

/// Something with descriptors, and the bytes that they show.
struct Known<T> {
    it: T,
    bytes: Vec<u8>,
}

type Places<T> = [Option<Known<T>>; PLACES];

fn each_element(views: &[usize]) -> impl Iterator<Item = (u32, usize)> + '_ {
    (0..).zip(views.iter().copied())
}

fn run(steps: Vec<Step>, lag: u64) {
    let device = device(BOTH, Lag::Random { max: lag });
    let config = Config::default()
        .descriptors(
            DescriptorConfig::default()
                .static_resources(Some(24))
                .dynamic_resources(Some(96))
                .chunk(16)
                .block(16)
                .set_pool(3)
                .poison(true),
        )
        .frames(FrameConfig::default().idle(2));
    let gpu = gpu(&device, config);
    let out = out(&gpu);
    let layout = gpu
        .create_set_layout(
            &SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, ELEMENTS as u32)]).name("set"),
        )
        .unwrap();
    let mut next = 0_u8;
    let mut new_view = || {
        next = next.wrapping_add(1);
        Known { it: view(&gpu, "shown", next), bytes: vec![next] }
    };
    let mut shown: Vec<Known<View<Device>>> = (0..VIEWS).map(|_| new_view()).collect();
    let mut tables: Places<DescriptorTable<Device>> = Default::default();
    let mut sets: Places<DescriptorSet<Device>> = Default::default();
    for step in steps {
        match step {
            Step::Replace(index) => shown[index] = new_view(),
            Step::Table(place, views) => {
                let binds: Vec<_> = views.iter().map(|view| (&shown[*view].it).into()).collect();
                let bytes = views.iter().map(|view| shown[*view].bytes[0]).collect();
                match gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table")) {
                    Ok(it) => {
                        for other in tables.iter().flatten() {
                            let apart = it.first() + it.len() <= other.it.first()
                                || other.it.first() + other.it.len() <= it.first();
                            assert!(apart, "tables overlap");
                        }
                        tables[place] = Some(Known { it, bytes });
                    }
                    Err(Error::NoDescriptors(error)) => {
                        let live: u32 = tables.iter().flatten().map(|table| table.it.len()).sum();
                        assert_eq!(error.free + live + error.waiting, 24, "{error}");
                        assert!(error.largest_free < views.len() as u32, "{error}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Step::DropTable(place) => tables[place] = None,
            Step::Set(place, views) => {
                let binds: Vec<_> = each_element(&views)
                    .map(|(element, view)| SetDescriptor::new(0, &shown[view].it).element(element))
                    .collect();
                let bytes = views.iter().map(|view| shown[*view].bytes[0]).collect();
                let it =
                    gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("set")).unwrap();
                sets[place] = Some(Known { it, bytes });
            }
            Step::DropSet(place) => sets[place] = None,
            Step::Discard(views) => {
                let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
                let binds: Vec<_> = views.iter().map(|view| (&shown[*view].it).into()).collect();
                let _full = recording.split().1.descriptors(&binds);
            }
            Step::Draw(draws) => {
                let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
                recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                recording.barriers();
                let (commands, scratch) = recording.split();
                commands.set_descriptor_heaps().unwrap();
                let mut expected = Vec::new();
                let mut look = |at: DescriptorAt<'_>, byte: u8| {
                    let offset = out.offset() + 16 * expected.len() as u64;
                    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, out.raw(), offset, 16);
                    expected.push(byte);
                };
                for table in tables.iter().flatten() {
                    for (index, byte) in (table.it.first()..).zip(&table.bytes) {
                        assert_eq!(
                            gpu.descriptor_owner(RESOURCE, index),
                            DescriptorOwner::Static { name: "table".into() }
                        );
                        look(DescriptorAt::Heap { heap: table.it.heap(), index }, *byte);
                    }
                }
                for set in sets.iter().flatten() {
                    for (element, byte) in (0..).zip(&set.bytes) {
                        let (block, set) = (set.it.block(), set.it.index());
                        look(DescriptorAt::Set { block, set, binding: 0, element }, *byte);
                    }
                }
                for draw in &draws {
                    let binds: Vec<_> = draw.iter().map(|view| (&shown[*view].it).into()).collect();
                    let table = match scratch.descriptors(&binds) {
                        Ok(table) => table,
                        Err(Error::NoDescriptors(_)) => break,
                        Err(error) => panic!("{error}"),
                    };
                    let binds: Vec<_> = each_element(draw)
                        .map(|(element, view)| SetDescriptor::new(0, &shown[view].it).element(element))
                        .collect();
                    let set = scratch.set(&layout, &binds).unwrap();
                    for (element, view) in each_element(draw) {
                        let byte = shown[view].bytes[0];
                        look(DescriptorAt::Heap { heap: table.heap(), index: table.first() + element }, byte);
                        let (block, set) = (set.block(), set.index());
                        look(DescriptorAt::Set { block, set, binding: 0, element }, byte);
                    }
                }
                recording.submit().unwrap();
                let expected: Vec<_> = expected.into_iter().flat_map(|byte| [byte; 16]).collect();
                if !expected.is_empty() {
                    let readback = gpu.read_back(&out, 0, expected.len() as u64).unwrap();
                    assert_eq!(readback.wait(SECOND).unwrap(), expected);
                }
            }
            Step::Frame => gpu.begin_frame().unwrap().end().unwrap(),
        }
    }
    let live: u32 = tables.iter().flatten().map(|table| table.it.len()).sum();
    finish(&gpu);
    if live > 0 {
        assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Static).used, u64::from(live));
    }
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used, 0);
    drop((tables, sets, shown, layout, out));
    finish(&gpu);
    let stats = gpu.stats().descriptors;
    assert!(stats.heaps.iter().all(|heap| heap.used == 0 && heap.waiting == 0), "{stats:?}");
    end(gpu, &device);
}

proptest! {
    #![proptest_config(Runs { cases: 400, ..Runs::default() })]
    #[test]
    fn bound_descriptors_are_found(steps in prop::collection::vec(step(), 1..60), lag in 0..6_u64) {
        run(steps, lag);
    }
}
