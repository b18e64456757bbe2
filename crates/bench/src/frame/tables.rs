//! Dynamic tables and sets of four descriptors.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::device::{DescriptorSource, Device as _, Permit, SetWrite};
use tenure_core::{
    Bind, BindingKind, BufferDesc, BufferViewDesc, Error, Gpu, Queue, Scratch, SetBinding, SetLayoutDesc,
    Usage, View,
};
use tenure_sim::Profile;

use super::{Line, gpu, line, time, try_time};
use crate::null::Device;

const TABLES: u32 = 2000;

/// A table and a set of four views. The lower bound is the device call that writes four descriptors.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    Ok(vec![
        line("table of 4 descriptors", "the device's call", TABLES as usize, tables(rounds)?),
        line("set of 4 descriptors", "the device's call", TABLES as usize, sets(rounds)?),
    ])
}

fn views(gpu: &Gpu<Device>) -> Result<Vec<View<Device>>, Error> {
    let desc = BufferDesc::new(4096, Usage::SHADER_READ);
    let view = |_| gpu.create_buffer_view(&gpu.create_buffer(&desc)?, &BufferViewDesc::raw());
    (0..4).map(view).collect()
}

/// Runs pairs of measurements: one in a recording, and one of the device's calls.
fn pairs(
    gpu: &Gpu<Device>,
    rounds: u32,
    ours: impl Fn(Scratch<'_, Device>) -> Result<(), Error>,
    least: impl Fn(),
) -> Result<Vec<(Duration, Duration)>, Error> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let frame = gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "draws")?;
        let (_, scratch) = recording.split();
        let time_of_ours = try_time(|| (0..TABLES).try_for_each(|_| ours(scratch)))?;
        frame.submit(recording)?;
        frame.end()?;
        times.push((time_of_ours, time(|| (0..TABLES).for_each(|_| least()))));
    }
    Ok(times)
}

fn sources() -> [DescriptorSource<'static, Device>; 4] {
    [0, 1, 2, 3].map(|index| DescriptorSource::Copy { heap: &(), index })
}

fn tables(rounds: u32) -> Result<Vec<(Duration, Duration)>, Error> {
    let gpu = gpu(Profile::D3D12_TIER2)?;
    let views = views(&gpu)?;
    let table = |scratch: Scratch<'_, Device>| {
        let binds = [0, 1, 2, 3].map(|index| Bind::from(&views[index]));
        black_box(scratch.descriptors(black_box(&binds))?.first());
        Ok(())
    };
    let call = || {
        let _never_fails =
            gpu.device().fill_descriptors(Permit::checked(), &(), black_box(0), black_box(&sources()));
    };
    pairs(&gpu, rounds, table, call)
}

fn sets(rounds: u32) -> Result<Vec<(Duration, Duration)>, Error> {
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let views = views(&gpu)?;
    let layout = gpu.create_set_layout(
        &SetLayoutDesc::new(&[SetBinding::new(0, BindingKind::Buffer).count(4)]).name("draw"),
    )?;
    let set = |scratch: Scratch<'_, Device>| {
        let binds = [0, 1, 2, 3].map(|index| (0, index as u32, Bind::from(&views[index])));
        black_box(scratch.set(&layout, black_box(&binds))?.index());
        Ok(())
    };
    let call = || {
        let mut element = 0..;
        let writes = sources().map(|source| SetWrite {
            binding: 0,
            element: element.next().unwrap_or_default(),
            source,
        });
        let _never_fails = gpu.device().write_set(Permit::checked(), &(), black_box(0), black_box(&writes));
    };
    pairs(&gpu, rounds, set, call)
}
