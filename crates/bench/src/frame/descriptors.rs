//! Dynamic tables and sets of four descriptors. The lower bound is the device call that writes four descriptors.

use std::hint::black_box;

use tenure_core::device::{DescriptorSource, Permit, SetWrite, prelude::*};
use tenure_core::{
    Bind, BindingKind, BufferDesc, BufferViewDesc, Error, Gpu, Scratch, SetBinding, SetDescriptor,
    SetLayoutDesc, Usage, View,
};
use tenure_sim::Profile;

use super::{Rows, gpu, in_recording};
use crate::Result;
use crate::null::Device;
use crate::timing::time;

const TABLES: u32 = 2000;

pub(super) fn tables(rows: &mut Rows) -> Result {
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
    add(rows, "table of 4 descriptors", &gpu, table, call)
}

pub(super) fn sets(rows: &mut Rows) -> Result {
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let views = views(&gpu)?;
    let bindings = [SetBinding::new(0, BindingKind::Buffer).count(4)];
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("draw"))?;
    let set = |scratch: Scratch<'_, Device>| {
        let binds = [0, 1, 2, 3].map(|index| SetDescriptor::new(0, &views[index]).element(index as u32));
        black_box(scratch.set(&layout, black_box(&binds))?.index());
        Ok(())
    };
    let call = || {
        let mut element = 0;
        let writes = sources().map(|source| {
            element += 1;
            SetWrite { binding: 0, element: element - 1, source }
        });
        let _never_fails = gpu.device().write_set(Permit::checked(), &(), black_box(0), black_box(&writes));
    };
    add(rows, "set of 4 descriptors", &gpu, set, call)
}

fn views(gpu: &Gpu<Device>) -> Result<Vec<View<Device>>, Error> {
    let desc = BufferDesc::new(4096, Usage::SHADER_READ);
    let view = |_| gpu.create_buffer_view(&gpu.create_buffer(&desc)?, &BufferViewDesc::raw());
    (0..4).map(view).collect()
}

fn sources() -> [DescriptorSource<'static, Device>; 4] {
    [0, 1, 2, 3].map(|index| DescriptorSource::Copy { heap: &(), index })
}

/// Adds a row of tables in a recording beside the device's calls.
fn add(
    rows: &mut Rows,
    what: &'static str,
    gpu: &Gpu<Device>,
    ours: impl Fn(Scratch<'_, Device>) -> Result<(), Error>,
    least: impl Fn(),
) -> Result {
    rows.add([(what, "the device's call", TABLES as usize)], || {
        let taken = in_recording(gpu, |scratch| (0..TABLES).try_for_each(|_| ours(scratch)))?;
        Ok([(taken, time(|| (0..TABLES).for_each(|_| least())))])
    })
}
