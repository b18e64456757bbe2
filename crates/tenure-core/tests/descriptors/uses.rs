//! The uses of all resources of a set or a table, declared by one call.

use tenure_core::device::{Api, Features, prelude::*};
use tenure_core::state::StateError;
use tenure_core::{
    AccelerationStructure, AccelerationStructureDesc, Bind, BindingKind, Buffer, BufferDesc, BufferViewDesc,
    Commands, CompactionBudget, CompactionConfig, Config, DescriptorSet, DescriptorSetDesc, DescriptorTable,
    DescriptorTableDesc, Error, Format, Gpu, MemoryUse, Queue, QueueKind, Recording, SetDescriptor,
    SetLayoutDesc, ShaderStages, State, Subresource, Subresources, TextureDesc, TextureViewDesc, Usage, View,
};
use tenure_sim::{DescriptorAt, Device, DeviceConfig, Lag, Profile, Step};

use crate::{BOTH, HEAPS, binding, device, end, gpu, sampler};

const SIZE: u64 = 1024;
const RENDERED: Usage = Usage::RENDER_TARGET.union(Usage::SHADER_READ);

/// How a pass declares its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    UseResource,
    /// `use_set` or `use_table`.
    OneCall,
    UseBinds,
}

/// A set or a table.
enum Bound {
    Set(DescriptorSet<Device>),
    Table(DescriptorTable<Device>),
}

impl Bound {
    fn new(gpu: &Gpu<Device>, is_set: bool, binds: &[(BindingKind, Bind<'_, Device>)]) -> Self {
        if is_set {
            let bindings: Vec<_> =
                (0..).zip(binds).map(|(index, (kind, _))| binding(index, *kind, 1)).collect();
            let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings)).unwrap();
            let binds: Vec<_> =
                (0..).zip(binds).map(|(index, (_, bind))| SetDescriptor::new(index, *bind)).collect();
            Self::Set(
                gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("bound")).unwrap(),
            )
        } else {
            let binds: Vec<_> = binds.iter().map(|(_, bind)| *bind).collect();
            let desc = DescriptorTableDesc::new(&binds).name("bound");
            Self::Table(gpu.create_descriptor_table(&desc).unwrap())
        }
    }

    fn declare(&self, commands: &mut Commands<Device>, stages: ShaderStages) -> Result<(), Error> {
        match self {
            Self::Set(set) => commands.use_set(set, stages),
            Self::Table(table) => commands.use_table(table, stages),
        }
    }

    /// Uses a descriptor in a state.
    fn shade(&self, recording: &mut Recording<Device>, index: u32, state: State) {
        let (commands, scratch) = recording.split();
        match self {
            Self::Set(set) => {
                let set = scratch.lasting_set(set).unwrap();
                let at =
                    DescriptorAt::Set { block: set.block(), set: set.index(), binding: index, element: 0 };
                commands.raw().use_descriptor(at, state);
            }
            Self::Table(table) => {
                let row = scratch.table(table).unwrap();
                let at = DescriptorAt::Heap { heap: row.heap(), index: row.first() + index };
                commands.raw().use_descriptor(at, state);
            }
        }
    }
}

/// Whether a profile has tables (false) and sets (true).
fn kinds(gpu: &Gpu<Device>) -> Vec<bool> {
    let limits = &gpu.device().properties().descriptors;
    [(limits.visible_resources > 0, false), (limits.sets, true)]
        .into_iter()
        .filter_map(|(has, is_set)| has.then_some(is_set))
        .collect()
}

fn storage(gpu: &Gpu<Device>, name: &'static str) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(SIZE, Usage::UNORDERED_ACCESS | Usage::SHADER_READ).name(name))
        .unwrap()
}

/// A built top-level structure of nothing.
fn world(gpu: &Gpu<Device>) -> AccelerationStructure<Device> {
    let world =
        gpu.create_acceleration_structure(&AccelerationStructureDesc::top(4096).name("world")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "build").unwrap();
    recording.use_structures([&world]).unwrap();
    let (commands, scratch) = recording.split();
    let room = scratch.build_scratch(1000).unwrap();
    let room = (room.raw(), room.offset(), room.size());
    commands.raw().build_acceleration_structure(world.raw(), room, world.size() / 2, &[]);
    recording.submit().unwrap();
    world
}

/// The barriers of a pass that reads two mips of one layer of a texture rendered right before, constants and a
/// structure, and writes a buffer.
fn barriers_of_pass(profile: Profile, is_set: bool, by: By, stages: ShaderStages, reads: State) -> Vec<Step> {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).seed(11).journal(true));
    let gpu = gpu(&device, Config::default());
    let scene = TextureDesc::d2(64, 64, Format::Rgba8Unorm, RENDERED).mips(4).layers(2).name("scene");
    let (scene, written) = (gpu.create_texture(&scene).unwrap(), storage(&gpu, "written"));
    let desc = BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).name("camera");
    let camera = gpu.create_buffer_with(&desc, &[1; 256]).unwrap();
    let is_d3d12 = gpu.device().properties().api == Api::Direct3D12;
    let features = gpu.device().properties().features;
    let has_rays = features.contains(Features::ACCELERATION_STRUCTURES) && (is_set || is_d3d12);
    let world = has_rays.then(|| world(&gpu));
    let views = [
        gpu.create_texture_view(&scene, &TextureViewDesc::sampled().mips(1, 2).layers(1, 1)).unwrap(),
        gpu.create_buffer_view(&written, &BufferViewDesc::structured_writable(16)).unwrap(),
        gpu.create_buffer_view(&camera, &BufferViewDesc::constants()).unwrap(),
    ];
    let states = [reads, State::UNORDERED_ACCESS, State::VERTEX_OR_CONSTANT, State::ACCELERATION_STRUCTURE];
    let kinds = [BindingKind::Texture, BindingKind::Buffer, BindingKind::Constants];
    let mut binds: Vec<_> = kinds.into_iter().zip(views.iter().map(Bind::from)).collect();
    binds.extend(world.iter().map(|world| (BindingKind::AccelerationStructure, world.into())));
    let bound = Bound::new(&gpu, is_set, &binds);

    let mut recording = gpu.record(Queue::Graphics, "pass").unwrap();
    recording.set_descriptor_heaps().unwrap();
    recording.use_resource(&scene, Subresource::All, State::RENDER_TARGET).unwrap();
    recording.raw().use_texture(scene.raw(), Subresource::All, State::RENDER_TARGET);
    // The second pass waits for the writes of the first.
    for _ in 0..2 {
        match by {
            By::UseResource => {
                let part = Subresources::mips(1..3).of_layer(1);
                recording.use_resource(&scene, part, reads).unwrap();
                recording.use_resource(&written, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                recording.use_resource(&camera, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
                let world = world.as_ref().map(|world| {
                    recording.use_resource(world, Subresource::All, State::ACCELERATION_STRUCTURE)
                });
                world.transpose().unwrap();
            }
            By::OneCall => bound.declare(&mut recording, stages).unwrap(),
            By::UseBinds => {
                recording.use_binds(binds.iter().map(|(_, bind)| bind), stages).unwrap();
            }
        }
        for (index, _) in (0..).zip(&binds) {
            bound.shade(&mut recording, index, states[index as usize]);
        }
    }
    recording.submit().unwrap();
    drop((scene, written, camera, world, views, bound));
    end(gpu, &device);
    device.take_journal()
}

#[test]
fn one_call_equals_single_declarations() {
    for profile in Profile::ALL {
        let of_profile = gpu(&device(*profile, Lag::None), Config::default());
        let kinds = kinds(&of_profile);
        assert!(!kinds.is_empty());
        for is_set in kinds {
            for (stages, reads) in [
                (ShaderStages::Pixel, State::PIXEL_SHADER),
                (ShaderStages::NonPixel, State::NON_PIXEL_SHADER),
                (ShaderStages::All, State::SHADER_READ),
            ] {
                let barriers = |by| barriers_of_pass(*profile, is_set, by, stages, reads);
                let single = barriers(By::UseResource);
                let is_read =
                    |step: &Step| matches!(step, Step::Transition { after, .. } if after.contains(reads));
                assert!(single.iter().filter(|step| is_read(step)).count() >= 2, "{single:?}");
                for by in [By::OneCall, By::UseBinds] {
                    assert_eq!(barriers(by), single, "{} {is_set} {by:?} {stages:?}", profile.name());
                }
            }
        }
    }
}

/// Reads by several descriptors and calls are combined: one state serves all of them.
#[test]
fn reads_of_one_resource_are_combined() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let usage = Usage::CONSTANT | Usage::SHADER_READ | Usage::COPY_DST;
        let buffer = gpu.create_buffer_with(&BufferDesc::new(SIZE, usage), &[1; SIZE as usize]).unwrap();
        let depth = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
        let depth = gpu.create_texture(&TextureDesc::d2(64, 64, Format::D32Float, depth)).unwrap();
        let views = [
            gpu.create_buffer_view(&buffer, &BufferViewDesc::constants().range(0, 256)).unwrap(),
            gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap(),
            gpu.create_texture_view(&depth, &TextureViewDesc::sampled()).unwrap(),
        ];
        let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
        recording.use_resource(&depth, Subresource::All, State::DEPTH_WRITE).unwrap();
        recording.raw().use_texture(depth.raw(), Subresource::All, State::DEPTH_WRITE);
        for is_declared_first in [true, false] {
            if is_declared_first {
                recording.use_resource(&depth, Subresource::All, State::DEPTH_READ).unwrap();
            }
            let binds = views.each_ref().map(Bind::from);
            recording.use_binds(&binds, ShaderStages::Pixel).unwrap();
            recording.use_binds(&binds[1..], ShaderStages::NonPixel).unwrap();
            if !is_declared_first {
                let state = State::DEPTH_READ | State::SHADER_READ;
                recording.use_resource(&depth, Subresource::All, state).unwrap();
            }
            let list = recording.raw();
            list.use_texture(depth.raw(), Subresource::All, State::DEPTH_READ);
            list.use_texture(depth.raw(), Subresource::All, State::PIXEL_SHADER);
            for state in [State::VERTEX_OR_CONSTANT, State::PIXEL_SHADER, State::NON_PIXEL_SHADER] {
                list.use_buffer(buffer.raw(), buffer.offset(), 256, state);
            }
        }
        recording.submit().unwrap();
        drop((buffer, depth, views));
        end(gpu, &device);
    }
}

#[track_caller]
fn assert_state(result: Result<(), Error>, of: &str, expected: StateError) {
    match result {
        Err(Error::State { name, source }) => assert_eq!((name.as_str(), source), (of, expected)),
        other => panic!("{other:?}"),
    }
}

/// A read and a write of one part by one command are refused, also by two calls; those of two parts are not.
#[test]
fn a_read_beside_a_write_is_refused() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let image = TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage).mips(3).name("image");
        let (image, buffer) = (gpu.create_texture(&image).unwrap(), storage(&gpu, "buffer"));
        let sampled = |first, count| TextureViewDesc::sampled().mips(first, count);
        let of_image = |desc: TextureViewDesc| gpu.create_texture_view(&image, &desc).unwrap();
        let [all, first, second] = [sampled(0, 3), sampled(0, 1), sampled(1, 2)].map(of_image);
        let written = of_image(TextureViewDesc::storage());
        let read = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        let changed = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw_writable()).unwrap();
        let state = State::UNORDERED_ACCESS | State::NON_PIXEL_SHADER;
        let refused = StateError::InvalidCombination { state };
        let (texture, storage) = (BindingKind::Texture, BindingKind::StorageTexture);
        let of_buffer = [(BindingKind::Buffer, Bind::from(&read)), (BindingKind::Buffer, (&changed).into())];
        for is_set in kinds(&gpu) {
            let cases: [(&[_], _); 6] = [
                (&[(storage, Bind::from(&written)), (storage, (&written).into())], None),
                (&[(texture, Bind::from(&all)), (storage, (&written).into())], Some("image")),
                (&[(storage, (&written).into()), (texture, (&all).into())], Some("image")),
                (&[(storage, (&written).into()), (texture, (&first).into())], Some("image")),
                (&of_buffer, Some("buffer")),
                (&[(storage, (&written).into()), (texture, (&second).into())], None),
            ];
            for (binds, name) in cases {
                let bound = Bound::new(&gpu, is_set, binds);
                let mut recording = gpu.record(Queue::Graphics, "pass").unwrap();
                let declared = bound.declare(&mut recording, ShaderStages::NonPixel);
                match name {
                    Some(name) => assert_state(declared, name, refused),
                    None => declared.unwrap(),
                }
                drop(recording);
                // By two calls for the same command, and for two commands.
                let [one, two] = [0, 1].map(|index| Bound::new(&gpu, is_set, &binds[index..=index]));
                let mut recording = gpu.record(Queue::Graphics, "passes").unwrap();
                one.declare(&mut recording, ShaderStages::NonPixel).unwrap();
                assert_eq!(two.declare(&mut recording, ShaderStages::NonPixel).is_err(), name.is_some());
                drop(recording);
                let mut recording = gpu.record(Queue::Graphics, "passes").unwrap();
                for bound in [&one, &two] {
                    bound.declare(&mut recording, ShaderStages::NonPixel).unwrap();
                    recording.barriers();
                }
            }
        }
        drop((image, buffer, all, first, second, written, read, changed));
        end(gpu, &device);
    }
}

/// The errors of single uses, and those of objects of another manager.
#[test]
fn other_wrong_uses_are_refused() {
    for profile in Profile::ALL {
        let (device, other) = (device(*profile, Lag::None), device(*profile, Lag::None));
        let (gpu, foreign) = (gpu(&device, Config::default()), gpu(&other, Config::default()));
        let image = TextureDesc::d2(64, 64, Format::Rgba8Unorm, RENDERED).name("image");
        let image = gpu.create_texture(&image).unwrap();
        let sampled = gpu.create_texture_view(&image, &TextureViewDesc::sampled()).unwrap();
        let target = gpu.create_texture_view(&image, &TextureViewDesc::render_target()).unwrap();
        let buffer = storage(&foreign, "foreign");
        let strange = foreign.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        let smooth = gpu.create_sampler(&sampler(1)).unwrap();

        let mut recording = gpu.record(Queue::Compute, "compute").unwrap();
        let binds = [Bind::from(&smooth), (&sampled).into()];
        let answer = recording.use_binds(&binds, ShaderStages::All);
        let queue = usize::from(recording.queue().0);
        if gpu.device().properties().queues[queue].kind == QueueKind::Compute {
            let refused = answer.unwrap_err();
            assert!(matches!(refused, Error::State { source: StateError::NotAllowedOnQueue { .. }, .. }));
        }
        recording.use_binds(&binds, ShaderStages::NonPixel).unwrap();
        let refused = recording.use_binds([&target], ShaderStages::NonPixel).unwrap_err();
        assert!(matches!(refused, Error::Device { .. }), "{refused}");
        let refused = recording.use_binds([&strange], ShaderStages::NonPixel).unwrap_err();
        assert!(matches!(refused, Error::Foreign { .. }), "{refused}");
        for is_set in kinds(&gpu) {
            let bound = Bound::new(&foreign, is_set, &[(BindingKind::Buffer, (&strange).into())]);
            let refused = bound.declare(&mut recording, ShaderStages::NonPixel).unwrap_err();
            assert!(matches!(&refused, Error::Foreign { name } if name.as_str() == "bound"), "{refused}");
        }
        drop(recording);
        drop((image, sampled, target, smooth, buffer, strange));
        end(gpu, &device);
        end(foreign, &other);
    }
}

/// A transient resource is used through its view by the recording that has acquired it, by no other.
#[test]
fn views_of_transient_resources_are_used() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        for _ in 0..3 {
            let mut recording = gpu.record(Queue::Graphics, "own").unwrap();
            let mut other = gpu.record(Queue::Graphics, "other").unwrap();
            let desc = BufferDesc::new(SIZE, Usage::UNORDERED_ACCESS).name("transient");
            let buffer = recording.transient_buffer(&desc).unwrap();
            let view = buffer.view(&BufferViewDesc::raw_writable()).unwrap();
            let refused = other.use_binds([view], ShaderStages::NonPixel).unwrap_err();
            assert!(matches!(refused, Error::NotAcquired { .. }), "{refused}");
            recording.use_binds([view], ShaderStages::NonPixel).unwrap();
            recording.raw().use_buffer(buffer.raw(), buffer.offset(), SIZE, State::UNORDERED_ACCESS);
            drop((buffer, other));
            recording.submit().unwrap();
        }
        end(gpu, &device);
    }
}

/// A movable resource is used in its new place, and does not move while a recording uses it; also when its
/// handle was dropped.
#[test]
fn movable_resources_are_used_in_their_place() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::Submissions(2));
        let config = CompactionConfig::default().is_automatic(false);
        let gpu = gpu(&device, Config::from(config));
        let make = |_| {
            let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
            let desc = BufferDesc::new(60_000, usage).movable().name("moved");
            let buffer = gpu.create_buffer_with(&desc, &[1; 60_000]).unwrap();
            let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw_writable()).unwrap();
            (buffer, view)
        };
        let mut all: Vec<_> = (0..256).map(make).collect();
        let mut index = 0;
        all.retain(|_| {
            index += 1;
            index % 8 == 0
        });
        let (buffers, views): (Vec<_>, Vec<View<Device>>) = all.into_iter().unzip();
        let moved = |buffers: &[Buffer<Device>]| buffers.iter().map(Buffer::moves).sum::<u64>();
        let compact = || {
            for _ in 0..20 {
                let frame = gpu.begin_frame().unwrap();
                gpu.compact(CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 }).unwrap();
                frame.end().unwrap();
            }
        };
        for is_set in kinds(&gpu) {
            let bound: Vec<_> = views
                .iter()
                .map(|view| Bound::new(&gpu, is_set, &[(BindingKind::Buffer, view.into())]))
                .collect();
            for is_compacted in [false, true] {
                if is_compacted {
                    compact();
                    assert!(moved(&buffers) > 0, "{}", profile.name());
                }
                let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
                recording.set_descriptor_heaps().unwrap();
                for bound in &bound {
                    bound.declare(&mut recording, ShaderStages::NonPixel).unwrap();
                }
                let before = moved(&buffers);
                compact();
                assert_eq!(moved(&buffers), before, "the recording holds their places");
                for bound in &bound {
                    bound.shade(&mut recording, 0, State::UNORDERED_ACCESS);
                }
                recording.submit().unwrap();
            }
        }
        drop(buffers);
        let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
        recording.use_binds(&views, ShaderStages::NonPixel).unwrap();
        recording.submit().unwrap();
        drop(views);
        end(gpu, &device);
    }
}

/// Memory that fixes a state: reads of upload memory are declared as usual, a write is refused.
#[test]
fn memory_in_a_fixed_state_is_read() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let desc = BufferDesc::new(SIZE, Usage::SHADER_READ).memory(MemoryUse::Upload).name("upload");
        let buffer = gpu.create_buffer_with(&desc, &[1; SIZE as usize]).unwrap();
        let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
        recording.use_binds([&view], ShaderStages::All).unwrap();
        recording.raw().use_buffer(buffer.raw(), buffer.offset(), SIZE, State::SHADER_READ);
        recording.submit().unwrap();
        let desc = BufferDesc::new(SIZE, Usage::UNORDERED_ACCESS).memory(MemoryUse::Upload).name("written");
        if let Ok(written) = gpu.create_buffer(&desc) {
            let shown = gpu.create_buffer_view(&written, &BufferViewDesc::raw_writable()).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
            let single = recording.use_resource(&written, Subresource::All, State::UNORDERED_ACCESS);
            let by_view = recording.use_binds([&shown], ShaderStages::All);
            assert_eq!(format!("{single:?}"), format!("{by_view:?}"));
        }
        drop((buffer, view));
        end(gpu, &device);
    }
}

/// A view of a texture declares its mips of its layers, and no others.
#[test]
fn views_declare_the_subresources_that_they_show() {
    for profile in Profile::ALL {
        let device = Device::with_config(DeviceConfig::new(*profile).lag(Lag::None).journal(true));
        let gpu = gpu(&device, Config::default());
        let cube = TextureDesc::d2(16, 16, Format::Rgba8Unorm, RENDERED).mips(3).layers(6).name("cube");
        let cube = gpu.create_texture(&cube).unwrap();
        for (mips, layers) in [(0..3, 0..6), (2..3, 0..6), (0..3, 5..6), (1..3, 2..5), (2..3, 5..6)] {
            let desc = TextureViewDesc::sampled().mips(mips.start, mips.len() as u32);
            let desc = desc.layers(layers.start, layers.len() as u32);
            let view = gpu.create_texture_view(&cube, &desc).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
            recording.use_resource(&cube, Subresource::All, State::RENDER_TARGET).unwrap();
            recording.raw().use_texture(cube.raw(), Subresource::All, State::RENDER_TARGET);
            recording.use_binds([&view], ShaderStages::Pixel).unwrap();
            let shown: Vec<_> =
                layers.flat_map(|layer| mips.clone().map(move |mip| mip + layer * 3)).collect();
            for index in &shown {
                let part = Subresource::One(*index);
                recording.raw().use_texture(cube.raw(), part, State::PIXEL_SHADER);
            }
            recording.submit().unwrap();
            let mut read = Vec::new();
            for step in device.take_journal() {
                match step {
                    Step::Transition { subresource, after, .. } if after.contains(State::PIXEL_SHADER) => {
                        match subresource {
                            Subresource::All => read.extend(0..18),
                            Subresource::One(index) => read.push(index),
                        }
                    }
                    _ => {}
                }
            }
            assert_eq!(read, shown, "{}", profile.name());
        }
        drop(cube);
        end(gpu, &device);
    }
}
