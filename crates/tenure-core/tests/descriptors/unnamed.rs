//! Resources that are bound through sets and tables, and not named.

use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorConfig, DescriptorSetDesc,
    DescriptorTableDesc, Format, Gpu, Queue, SetDescriptor, SetLayoutDesc, ShaderStages, State, Subresource,
    TexelData, Texture, TextureDesc, TextureViewDesc, Usage, View,
};
use tenure_sim::{Device, Lag};

use crate::{BOTH, HEAPS, SETS, binding, bytes, device, end, gpu};

fn config(report_unnamed: bool) -> Config {
    Config::from(DescriptorConfig::default().report_unnamed(report_unnamed))
}

fn texture(gpu: &Gpu<Device>, read_only: State) -> (Texture<Device>, View<Device>) {
    let desc = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
    let desc = desc.read_only(read_only);
    let texture = gpu.create_texture_with(&desc, &[TexelData::new(&[1; 64])]).unwrap();
    let view = gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
    (texture, view)
}

#[test]
fn a_resource_of_a_table_is_reported_once_unless_it_is_named() {
    for (is_on, profile) in [(true, HEAPS), (true, BOTH), (false, HEAPS)] {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device, config(is_on));
        let (grass, view) = texture(&gpu, State::COMMON);
        let (rock, fixed) = texture(&gpu, State::PIXEL_SHADER);
        let upload = gpu.create_buffer_view(&bytes(&gpu, "mapped", 1), &BufferViewDesc::raw()).unwrap();
        let binds = [(&view).into(), (&fixed).into(), (&upload).into()];
        let tables =
            [(), ()].map(|()| gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds)).unwrap());
        let bind = |table: usize, by: u32| {
            let mut recording = gpu.record(Queue::Graphics, "meadow").unwrap();
            let (commands, scratch) = recording.split();
            let _row = scratch.table(&tables[table]).unwrap();
            match by {
                0 => commands.use_table(&tables[table], ShaderStages::Pixel).unwrap(),
                1 => commands.use_resource(&grass, Subresource::All, State::PIXEL_SHADER).unwrap(),
                _ => {}
            }
            recording.submit().unwrap();
            gpu.unnamed_uses()
        };
        assert_eq!([bind(0, 0), bind(0, 1)], [0, 0]);
        let on = u64::from(is_on);
        assert_eq!([bind(0, 2), bind(0, 2), bind(1, 2), bind(1, 0)], [on, on, 2 * on, 2 * on]);
        // Not submitted, so not reported.
        let (other, other_view) = texture(&gpu, State::COMMON);
        let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
        let _row = recording.split().1.descriptors(&[(&other_view).into()]).unwrap();
        drop(recording);
        assert_eq!(gpu.unnamed_uses(), 2 * on);
        let mut recording = gpu.record(Queue::Graphics, "dynamic").unwrap();
        let _row = recording.split().1.descriptors(&[(&other_view).into()]).unwrap();
        recording.submit().unwrap();
        assert_eq!(gpu.unnamed_uses(), 3 * on);
        drop((grass, view, fixed, rock, upload, tables, other, other_view));
        end(gpu, &device);
    }
}

#[test]
fn a_resource_of_a_set_is_reported_where_there_are_no_tables() {
    let device = device(SETS, Lag::Submissions(2));
    let gpu = gpu(&device, config(true));
    let (grass, view) = texture(&gpu, State::COMMON);
    let written = BufferDesc::new(256, Usage::UNORDERED_ACCESS).movable().name("written");
    let buffer = gpu.create_buffer(&written).unwrap();
    let written = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw_writable()).unwrap();
    let layout = [binding(0, BindingKind::Texture, 1), binding(1, BindingKind::Buffer, 1)];
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&layout)).unwrap();
    let binds = [SetDescriptor::new(0, &view), SetDescriptor::new(1, &written)];
    let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("meadow")).unwrap();
    for (is_named, count) in [(true, 0), (false, 2), (false, 2)] {
        let mut recording = gpu.record(Queue::Graphics, "meadow").unwrap();
        let (commands, scratch) = recording.split();
        let _set = scratch.lasting_set(&set).unwrap();
        if is_named {
            commands.use_set(&set, ShaderStages::All).unwrap();
        }
        recording.submit().unwrap();
        assert_eq!(gpu.unnamed_uses(), count);
    }
    let mut recording = gpu.record(Queue::Graphics, "own set").unwrap();
    let (commands, scratch) = recording.split();
    let _set = scratch.set(&layout, &binds).unwrap();
    commands.use_binds([&binds[0]], ShaderStages::All).unwrap();
    recording.submit().unwrap();
    assert_eq!(gpu.unnamed_uses(), 3);
    drop((grass, view, buffer, written, layout, set));
    end(gpu, &device);
}
