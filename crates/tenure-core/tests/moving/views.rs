//! Views, tables and sets show movable resources in their new places.

use std::rc::Rc;

use tenure_core::{
    BindingKind, Buffer, BufferDesc, BufferViewDesc, CompactionBudget, DescriptorConfig, DescriptorSet,
    DescriptorSetDesc, DescriptorTable, DescriptorTableDesc, Gpu, Queue, SetBinding, SetDescriptor,
    SetLayout, SetLayoutDesc, State, Subresource, Usage, View,
};
use tenure_sim::{DescriptorAt, Device, DeviceConfig, Lag, Profile};

use crate::buffers::{SOON, by_hand, compact, end, end_frame, with};

const SIZE: u64 = 60_000;

/// A buffer that may be dropped, its view, and the byte that fills it.
struct Shown {
    buffer: Option<Buffer<Device>>,
    view: View<Device>,
    byte: u8,
}

type Tables = Vec<(DescriptorTable<Device>, Vec<Rc<Shown>>)>;
type Sets = Vec<(DescriptorSet<Device>, Vec<Rc<Shown>>)>;

fn make(gpu: &Gpu<Device>, byte: u8) -> Rc<Shown> {
    let desc = BufferDesc::new(SIZE, Usage::SHADER_READ).movable().name("shown");
    let buffer = gpu.create_buffer_with(&desc, &vec![byte; SIZE as usize]).unwrap();
    let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw().range(256, 1024)).unwrap();
    Rc::new(Shown { buffer: Some(buffer), view, byte })
}

/// Creates `count` resources with views and keeps one in eight.
fn sparse(gpu: &Gpu<Device>, count: usize) -> Vec<Rc<Shown>> {
    let all: Vec<_> = (0..count).map(|index| make(gpu, index as u8)).collect();
    let kept =
        all.into_iter().enumerate().filter(|(index, _)| index % 8 == 0).map(|(_, kept)| kept).collect();
    (0..8).for_each(|_| end_frame(gpu));
    kept
}

fn table(gpu: &Gpu<Device>, shown: &[Rc<Shown>]) -> DescriptorTable<Device> {
    let binds: Vec<_> = shown.iter().map(|shown| (&shown.view).into()).collect();
    gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table")).unwrap()
}

fn set(gpu: &Gpu<Device>, layout: &SetLayout<Device>, shown: &[Rc<Shown>]) -> DescriptorSet<Device> {
    let binds: Vec<_> = (0..)
        .zip(shown)
        .map(|(element, shown)| SetDescriptor::new(0, &shown.view).element(element))
        .collect();
    gpu.create_descriptor_set(&DescriptorSetDesc::new(layout, &binds).name("set")).unwrap()
}

fn layout(gpu: &Gpu<Device>) -> SetLayout<Device> {
    let binding = SetBinding::new(0, BindingKind::Buffer).count(8);
    gpu.create_set_layout(&SetLayoutDesc::new(&[binding])).unwrap()
}

fn output(gpu: &Gpu<Device>) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(64 << 10, Usage::UNORDERED_ACCESS | Usage::COPY_SRC)).unwrap()
}

/// The current contents of each table and set, read by the GPU in one recording. `between` runs while it is
/// open.
fn check(
    gpu: &Gpu<Device>,
    out: &Buffer<Device>,
    tables: &Tables,
    sets: &Sets,
    views: &[Rc<Shown>],
    between: impl FnOnce(),
) {
    let mut recording = gpu.record(Queue::Graphics, "look").unwrap();
    let shown = tables.iter().flat_map(|(_, shown)| shown).chain(sets.iter().flat_map(|(_, shown)| shown));
    for buffer in shown.chain(views).filter_map(|shown| shown.buffer.as_ref()) {
        recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }
    recording.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    let (commands, scratch) = recording.split();
    commands.set_descriptor_heaps().unwrap();
    let mut expected = Vec::new();
    let mut look = |at: DescriptorAt<'_>, byte: u8| {
        let offset = out.offset() + 16 * expected.len() as u64;
        commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, out.raw(), offset, 16);
        expected.push(byte);
    };
    for (table, shown) in tables {
        let row = scratch.table(table).unwrap();
        for (index, shown) in (row.first()..).zip(shown) {
            look(DescriptorAt::Heap { heap: row.heap(), index }, shown.byte);
        }
    }
    for (set, shown) in sets {
        let set = scratch.lasting_set(set).unwrap();
        for (element, shown) in (0..).zip(shown) {
            look(DescriptorAt::Set { block: set.block(), set: set.index(), binding: 0, element }, shown.byte);
        }
    }
    for shown in views {
        let row = scratch.descriptors(&[(&shown.view).into()]).unwrap();
        look(DescriptorAt::Heap { heap: row.heap(), index: row.first() }, shown.byte);
    }
    between();
    recording.submit().unwrap();
    let expected: Vec<_> = expected.into_iter().flat_map(|byte| [byte; 16]).collect();
    if !expected.is_empty() {
        let found = gpu.read_back(out, 0, expected.len() as u64).unwrap().wait(SOON).unwrap();
        assert_eq!(found, expected);
    }
}

const PROFILES: [Profile; 2] = [Profile::DISCRETE, Profile::VULKAN_NVIDIA];

fn has_sets(profile: &Profile) -> bool {
    format!("{profile:?}").contains("vulkan")
}

/// Views, tables and sets do not prevent moves of their resources, and show the new place; also without other
/// uses.
#[test]
fn descriptors_follow_moved_resources() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
        let (out, mut shown) = (output(&gpu), sparse(&gpu, 256));
        let layout = has_sets(&profile).then(|| layout(&gpu));
        check(&gpu, &out, &vec![], &vec![], &shown, || ());
        for shown in shown.iter_mut().step_by(2) {
            // All are in the state in which they are read from now on.
            Rc::get_mut(shown).unwrap().buffer = None;
        }
        let tables: Tables = shown.chunks(3).map(|some| (table(&gpu, some), some.to_vec())).collect();
        let sets = layout
            .iter()
            .flat_map(|layout| shown.chunks(5).map(|some| (set(&gpu, layout, some), some.to_vec())));
        let sets: Sets = sets.collect();
        check(&gpu, &out, &tables, &sets, &shown, || ());
        let report = compact(&gpu);
        assert!(report.moves > 10, "{report:?}");
        assert!(shown.iter().filter_map(|shown| shown.buffer.as_ref()).all(|buffer| !buffer.is_pinned()));
        check(&gpu, &out, &tables, &sets, &shown, || ());
        drop((tables, sets, shown, layout, out));
        end(gpu);
    }
}

/// Resources that an open recording uses through descriptors do not move.
#[test]
fn resources_shown_to_a_recording_stay() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile));
        let (out, shown) = (output(&gpu), sparse(&gpu, 256));
        let tables = vec![(table(&gpu, &shown), shown.clone())];
        let budget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 10_000 };
        check(&gpu, &out, &tables, &vec![], &[], || {
            for _ in 0..10 {
                assert_eq!(gpu.compact(budget).unwrap().moves, 0);
            }
        });
        assert!(compact(&gpu).moves > 10);
        check(&gpu, &out, &tables, &vec![], &shown, || ());
        drop((tables, shown, out));
        end(gpu);
    }
}

/// A permanent query of a table's place pins all of its resources; the place stays valid.
#[test]
fn resources_of_a_queried_table_stay() {
    for profile in PROFILES {
        let gpu = with(DeviceConfig::new(profile));
        let (out, shown) = (output(&gpu), sparse(&gpu, 256));
        let tables = vec![(table(&gpu, &shown[..4]), shown[..4].to_vec())];
        compact(&gpu);
        let first = tables[0].0.first();
        let place = |shown: &Shown| (shown.view.index(), std::ptr::from_ref(shown.view.heap()));
        let taken = place(&shown[5]);
        let layout = has_sets(&profile).then(|| layout(&gpu));
        let sets = layout.iter().map(|layout| (set(&gpu, layout, &shown[7..8]), shown[7..8].to_vec()));
        let sets: Sets = sets.collect();
        let places = || sets.iter().map(|(set, _)| (std::ptr::from_ref(set.block()), set.index())).collect();
        let before: Vec<_> = places();
        let is_pinned = |index: usize| shown[index].buffer.as_ref().unwrap().is_pinned();
        assert!((0..4).all(is_pinned) && is_pinned(5) && !is_pinned(6) && is_pinned(7) == layout.is_some());
        let more = sparse(&gpu, 64);
        compact(&gpu);
        assert_eq!(tables[0].0.first(), first);
        assert_eq!(place(&shown[5]), taken);
        let after: Vec<_> = places();
        assert_eq!(before, after);
        check(&gpu, &out, &tables, &sets, &shown, || ());
        drop((tables, sets, shown, more, layout, out));
        end(gpu);
    }
}

/// If there is no descriptor for the new place, a resource stays and moves later.
#[test]
fn without_descriptors_nothing_moves() {
    let descriptors = DescriptorConfig::default().static_resources(Some(40));
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE));
    let gpu = Gpu::new(device, by_hand().descriptors(descriptors)).unwrap();
    let (out, shown) = (output(&gpu), sparse(&gpu, 256));
    let mut tables: Tables = shown.chunks(8).map(|some| (table(&gpu, some), some.to_vec())).collect();
    // 32 of 40: with these there is no room.
    let filler: Vec<_> = (0..8).map(|_| table(&gpu, &shown[..1])).collect();
    let budget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 10_000 };
    for _ in 0..20 {
        end_frame(&gpu);
        assert_eq!(gpu.compact(budget).unwrap().moves, 0);
    }
    check(&gpu, &out, &tables, &vec![], &[], || ());
    drop(filler);
    tables.truncate(2);
    (0..8).for_each(|_| end_frame(&gpu));
    assert!(compact(&gpu).moves > 0);
    check(&gpu, &out, &tables, &vec![], &[], || ());
    drop((tables, shown, out));
    end(gpu);
}
