//! Refusals of the driver: nothing is left half done, and after a shortage the call is repeated once.

use tenure_core::{
    BindingKind, DescriptorSetDesc, DescriptorTableDesc, Error, Gpu, Queue, SetDescriptor, SetLayoutDesc,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag};

use crate::{BOTH, binding, device, end, finish, gpu, sampler, small, view};

/// Creates one object of each kind. Errors are allowed, and leave nothing behind.
fn use_everything(gpu: &Gpu<Device>) -> Result<(), Error> {
    let buffer = crate::bytes(gpu, "lights", 1);
    let shown = gpu.create_buffer_view(&buffer, &tenure_core::BufferViewDesc::raw())?;
    let smooth = gpu.create_sampler(&sampler(1).name("smooth"))?;
    let _table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table"))?;
    let _samplers =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&smooth).into()]).name("samplers"))?;
    let layout =
        gpu.create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("layout"))?;
    let _set = gpu.create_descriptor_set(
        &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"),
    )?;
    let mut recording = gpu.record(Queue::Graphics, "draw")?;
    recording.set_descriptor_heaps()?;
    recording.split().1.descriptors(&[(&shown).into()])?;
    recording.split().1.set(&layout, &[SetDescriptor::new(0, &shown)])?;
    recording.submit()?;
    Ok(())
}

const CALLS: [CallKind; 6] = [
    CallKind::CreateDescriptorHeap,
    CallKind::WriteDescriptor,
    CallKind::FillDescriptors,
    CallKind::CreateSetLayout,
    CallKind::CreateSetPool,
    CallKind::WriteSet,
];

#[test]
fn a_refusal_leaves_nothing() {
    for call in CALLS {
        for nth in 1..=6 {
            let device = device(BOTH, Lag::None);
            let gpu = gpu(&device, small());
            // The second attempt is refused, too.
            device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory).of(call).onwards());
            let answer = use_everything(&gpu);
            let failed = device.calls().failed(call);
            assert_eq!(answer.is_err(), failed > 0, "{call:?} {nth}");
            device.faults().clear();
            finish(&gpu);
            let stats = gpu.stats();
            assert_eq!((stats.live_objects, stats.pending_releases), (0, 0), "{call:?} {nth}");
            assert!(stats.descriptors.heaps.iter().all(|heap| heap.used == 0), "{call:?} {nth}: {stats:?}");
            assert_eq!((stats.descriptors.views, stats.descriptors.samplers), (0, 0));
            use_everything(&gpu).unwrap_or_else(|error| panic!("{call:?} {nth}: {error}"));
            finish(&gpu);
            end(gpu, &device);
        }
    }
}

#[test]
fn a_shortage_is_tried_once_more() {
    for call in [
        CallKind::CreateDescriptorHeap,
        CallKind::WriteDescriptor,
        CallKind::CreateSetLayout,
        CallKind::CreateSetPool,
    ] {
        let device = device(BOTH, Lag::None);
        let gpu = gpu(&device, small());
        device.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(call));
        use_everything(&gpu).unwrap_or_else(|error| panic!("{call:?}: {error}"));
        assert_eq!(device.calls().failed(call), 1);
        finish(&gpu);
        end(gpu, &device);
    }
}

#[test]
fn a_loss_at_any_call_drains() {
    for call in CALLS {
        for nth in 1..=4 {
            let device = device(BOTH, Lag::Submissions(2));
            let gpu = gpu(&device, small());
            let shown = view(&gpu, "kept", 1);
            let removed = FaultKind::Removed(String::from("pulled out"));
            device.faults().inject(Fault::nth(nth, removed).of(call));
            let answer = use_everything(&gpu);
            if let Err(error) = answer {
                assert!(error.is_device_lost(), "{call:?} {nth}: {error}");
            }
            drop(shown);
            let _lost = gpu.reclaim();
            let report = gpu.shutdown();
            drop(gpu);
            assert!(report.leaks.is_empty(), "{call:?} {nth}: {report:?}");
            let calls = device.calls();
            let left = (calls.live_descriptor_heaps, calls.live_set_layouts, calls.live_set_pools);
            assert_eq!(left, (0, 0, 0), "{call:?} {nth}");
        }
    }
}
