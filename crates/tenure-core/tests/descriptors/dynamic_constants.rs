//! Constants that are bound by the set of their page and an offset.

use tenure_core::device::prelude::*;
use tenure_core::{
    BindingKind, Buffer, Config, DeviceError, DynamicConstant, Error, Gpu, Queue, SetBinding, SetDescriptor,
    SetLayout, SetLayoutDesc, StagingConfig, State, Subresource,
};
use tenure_sim::{CallKind, DescriptorAt, Device, Fault, FaultKind, Lag};

use crate::{BOTH, SECOND, SETS, binding, device, end, gpu, out};

const DYNAMIC: BindingKind = BindingKind::DynamicConstants;

fn layout(gpu: &Gpu<Device>, number: u32) -> SetLayout<Device> {
    gpu.create_set_layout(&SetLayoutDesc::new(&[SetBinding::new(number, DYNAMIC)]).name("draw")).unwrap()
}

fn paged(constant_page: u64) -> Config {
    Config::default().staging(StagingConfig::default().constant_page(constant_page))
}

/// Draws read the first word of their constants, of these sizes in bytes and with these layouts, in one recording; each finds
/// its own. Returns the sets made for it.
fn draws(gpu: &Gpu<Device>, out: &Buffer<Device>, layouts: &[&SetLayout<Device>], sizes: &[usize]) -> u64 {
    let before = gpu.device().calls().made(CallKind::WriteSet);
    let mut recording = gpu.record(Queue::Graphics, "draws").unwrap();
    recording.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    let (commands, scratch) = recording.split();
    let mut expected = Vec::new();
    for (index, size) in (0..).zip(sizes) {
        let layout = layouts[index as usize % layouts.len()];
        let mut bytes = vec![0xee; *size];
        let word = (0x0101_0101_u32 ^ index << 8).to_ne_bytes();
        bytes[..4].copy_from_slice(&word);
        expected.extend(word);
        let draw = scratch.dynamic_constant_bytes(layout, &bytes).unwrap();
        assert_eq!(u64::from(draw.dynamic_offset()), draw.offset());
        assert_eq!(draw.size(), *size as u64);
        let at = at(&draw, layout.bindings()[0].binding);
        let to = out.offset() + u64::from(index) * 4;
        commands.raw().read_descriptor(at, State::VERTEX_OR_CONSTANT, out.raw(), to, 4);
    }
    recording.submit().unwrap();
    let made = gpu.device().calls().made(CallKind::WriteSet) - before;
    let readback = gpu.read_back(out, 0, expected.len() as u64).unwrap();
    gpu.device().run_until_idle();
    assert_eq!(readback.wait(SECOND).unwrap(), expected);
    made
}

fn at<'r>(draw: &DynamicConstant<'r, Device>, binding: u32) -> DescriptorAt<'r> {
    let (set, offset) = (draw.set(), draw.dynamic_offset().into());
    DescriptorAt::Dynamic { block: set.block(), set: set.index(), binding, element: 0, offset }
}

/// 1,000 draws make a set for each page, not for each draw.
#[test]
fn a_thousand_draws_make_a_set_for_each_page() {
    for (profile, size, sets) in [(BOTH, 64, 1), (BOTH, 256, 4), (SETS, 256, 4)] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, paged(64 << 10));
        let (out, layout) = (out(&gpu), layout(&gpu, 0));
        assert_eq!(draws(&gpu, &out, &[&layout], &[size; 1000]), sets);
        // The next recording begins in the rest of the last page.
        assert_eq!(draws(&gpu, &out, &[&layout], &[64; 10]), 1);
        drop((out, layout));
        end(gpu, &device);
    }
}

/// Values of several sizes share the set of the largest, except at the end of a page.
#[test]
fn sizes_share_the_set_of_a_page() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, paged(64 << 10));
    let (out, layout) = (out(&gpu), layout(&gpu, 7));
    let mixed: Vec<_> = [64, 1024, 16].into_iter().cycle().take(30).collect();
    assert_eq!(draws(&gpu, &out, &[&layout], &mixed), 2, "one for 64 B, one for 1,024 B and less");
    drop((out, layout));
    end(gpu, &device);

    let device = crate::device(BOTH, Lag::None);
    let gpu = crate::gpu(&device, paged(4 << 10));
    let (out, layout) = (crate::out(&gpu), self::layout(&gpu, 7));
    let step = device.properties().constant_alignment as usize;
    // All of a page: a range of 2,048 B fits up to its middle.
    let mut sizes = vec![2048];
    sizes.extend(vec![step; 2048 / step]);
    let made = draws(&gpu, &out, &[&layout], &sizes);
    assert_eq!(made, 2, "one for 2,048 B, one that ends with the page");
    drop((out, layout));
    end(gpu, &device);
}

/// A value larger than a page has a set of its own; the page before it is filled on.
#[test]
fn values_larger_than_a_page_have_their_own_set() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, paged(4 << 10));
    let (out, layout) = (out(&gpu), layout(&gpu, 0));
    assert_eq!(draws(&gpu, &out, &[&layout], &[64, 64, 40 << 10, 64, 64]), 3);
    let limit = device.properties().descriptors.constant_size;
    assert_eq!(draws(&gpu, &out, &[&layout], &[limit as usize]), 1);
    drop((out, layout));
    end(gpu, &device);
}

/// Each layout has its own set of a page, which all of them fill.
#[test]
fn layouts_share_pages() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, paged(64 << 10));
    let (out, first, second) = (out(&gpu), layout(&gpu, 0), layout(&gpu, 5));
    assert_eq!(draws(&gpu, &out, &[&first, &second, &first.clone()], &[64; 100]), 2);
    let mut recording = gpu.record(Queue::Graphics, "two").unwrap();
    let scratch = recording.split().1;
    let [one, other, again] =
        [&first, &second, &first].map(|layout| scratch.dynamic_constants(layout, &[1.0_f32; 4]).unwrap());
    assert!(std::ptr::eq(one.raw(), other.raw()) && one.offset() < other.offset());
    assert!(std::ptr::eq(one.set().block(), again.set().block()));
    assert_eq!(one.set().index(), again.set().index());
    assert!(!std::ptr::eq(one.set().block(), other.set().block()));
    assert_eq!(one.gpu_address().map(|address| address + other.offset() - one.offset()), other.gpu_address());
    drop(recording);
    drop((out, first, second));
    end(gpu, &device);
}

/// Layouts, sizes and managers that do not fit are refused, before bytes are taken.
#[test]
fn layouts_and_sizes_that_do_not_fit_are_refused() {
    let (here, there) = (device(BOTH, Lag::None), device(BOTH, Lag::None));
    let (gpu, other) = (gpu(&here, Config::default()), gpu(&there, Config::default()));
    let layout = layout(&gpu, 0);
    let wrong =
        |bindings: &[SetBinding]| gpu.create_set_layout(&SetLayoutDesc::new(bindings).name("wrong")).unwrap();
    let array = wrong(&[binding(0, DYNAMIC, 2)]);
    let plain = wrong(&[binding(0, BindingKind::Constants, 1)]);
    let mixed = wrong(&[binding(0, DYNAMIC, 1), binding(1, BindingKind::Texture, 1)]);
    let two = wrong(&[binding(0, DYNAMIC, 1), binding(1, DYNAMIC, 1)]);
    let mut recording = gpu.record(Queue::Graphics, "draws").unwrap();
    let scratch = recording.split().1;
    let start = scratch.constants(&[1_u8; 16]).unwrap();
    let refused = |layout: &SetLayout<Device>, bytes: &[u8]| {
        let Err(error) = scratch.dynamic_constant_bytes(layout, bytes) else { panic!("it was accepted") };
        error.to_string()
    };
    let rule = "wrong: broken rule: dynamic constants have a layout of one binding of DynamicConstants, with one descriptor";
    assert_eq!(refused(&array, &[1; 16]), format!("{rule} (2, limit 1)"));
    assert_eq!(refused(&plain, &[1; 16]), format!("{rule} (Constants, limit DynamicConstants)"));
    assert_eq!(refused(&mixed, &[1; 16]), format!("{rule} (Texture, limit DynamicConstants)"));
    assert_eq!(refused(&two, &[1; 16]), format!("{rule} (2, limit 1)"));
    let most = here.properties().descriptors.constant_size as usize;
    let large = refused(&layout, &vec![1; most + 1]);
    assert_eq!(
        large,
        format!(
            "draw: broken rule: the bytes of constants in a view are not too many ({}, limit {most})",
            most + 1
        )
    );
    assert_eq!(refused(&layout, &[]), "constants: invalid description: size = 0: must be at least 1");
    let next = scratch.constants(&[1_u8; 16]).unwrap();
    assert_eq!(next.offset() - start.offset(), here.properties().constant_alignment.max(16));
    let mut elsewhere = other.record(Queue::Graphics, "elsewhere").unwrap();
    let foreign = elsewhere.split().1.dynamic_constants(&layout, &1_u32);
    assert!(matches!(foreign, Err(Error::Foreign { .. })));
    drop((recording, elsewhere));
    drop((layout, array, plain, mixed, two));
    end(gpu, &here);
    end(other, &there);
}

/// A set that cannot be made is an error of that draw alone; after a loss every draw is refused.
#[test]
fn failures_leave_the_recording_usable() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let (out, layout) = (out(&gpu), layout(&gpu, 0));
    let faults = [CallKind::CreateSetPool, CallKind::WriteSet];
    for call in faults {
        device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(call).onwards());
        let mut recording = gpu.record(Queue::Graphics, "short").unwrap();
        let refused = recording.split().1.dynamic_constants(&layout, &1_u32);
        assert!(
            matches!(refused, Err(Error::Device { source: DeviceError::OutOfHostMemory { .. }, .. })),
            "{call:?}"
        );
        device.faults().clear();
        assert!(recording.split().1.dynamic_constants(&layout, &1_u32).is_ok());
        recording.submit().unwrap();
    }
    assert_eq!(draws(&gpu, &out, &[&layout], &[64; 20]), 1);
    device
        .faults()
        .inject(Fault::nth(1, FaultKind::Removed(String::from("pulled out"))).of(CallKind::WriteSet));
    let mut recording = gpu.record(Queue::Graphics, "lost").unwrap();
    let lost = recording.split().1.dynamic_constants(&layout, &1_u32);
    assert!(matches!(lost, Err(Error::Device { source: DeviceError::Lost { .. }, .. })));
    assert!(recording.split().1.dynamic_constants(&layout, &1_u32).is_err());
    drop(recording);
}

/// A set with the same descriptor that is made draw by draw, for comparison.
#[test]
fn a_set_for_each_draw_is_one_write_for_each() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, Config::default());
    let layout = layout(&gpu, 0);
    let mut recording = gpu.record(Queue::Graphics, "draws").unwrap();
    let scratch = recording.split().1;
    for value in 0..1000_u32 {
        let value = scratch.constants(&value).unwrap();
        scratch.set(&layout, &[SetDescriptor::new(0, value)]).unwrap();
    }
    assert_eq!(device.calls().made(CallKind::WriteSet), 1000);
    recording.submit().unwrap();
    drop(layout);
    end(gpu, &device);
}
