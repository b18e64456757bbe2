//! Many threads at once.

use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::{
    BindingKind, DescriptorSetDesc, DescriptorTableDesc, Queue, SetDescriptor, SetLayoutDesc, State,
    Subresource,
};
use tenure_sim::{DescriptorAt, Lag};

use crate::{BOTH, SECOND, binding, device, end, finish, gpu, out, sampler, small, view};

/// Each thread creates and drops views, tables, samplers and sets, and reads through them.
#[test]
fn threads_do_not_meet() {
    let device = device(BOTH, Lag::Random { max: 4 });
    let config = small().descriptors(
        small()
            .descriptors
            .static_resources(Some(4096))
            .dynamic_resources(Some(16_384))
            .static_samplers(Some(512))
            .dynamic_samplers(Some(512)),
    );
    let gpu = gpu(&device, config);
    let layout = gpu
        .create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer, 1)]).name("shared layout"))
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (gpu, layout) = (&gpu, &layout);
            scope.spawn(move || {
                let out = out(gpu);
                for step in 0..60_u8 {
                    let byte = thread * 60 + step;
                    let shown = view(gpu, "shown", byte);
                    let smooth = gpu.create_sampler(&sampler(u32::from(step % 3)).name("smooth")).unwrap();
                    let table = gpu
                        .create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table"))
                        .unwrap();
                    let samplers = gpu
                        .create_descriptor_table(
                            &DescriptorTableDesc::new(&[(&smooth).into()]).name("samplers"),
                        )
                        .unwrap();
                    let set = gpu
                        .create_descriptor_set(
                            &DescriptorSetDesc::new(layout, &[SetDescriptor::new(0, &shown)]).name("set"),
                        )
                        .unwrap();
                    let mut recording = gpu.record(Queue::Graphics, "thread").unwrap();
                    recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                    recording.barriers();
                    let (commands, scratch) = recording.split();
                    commands.set_descriptor_heaps().unwrap();
                    let dynamic = scratch.descriptors(&[(&shown).into()]).unwrap();
                    let dynamic_set = scratch.set(layout, &[SetDescriptor::new(0, &shown)]).unwrap();
                    let at = match step % 4 {
                        0 => DescriptorAt::Heap { heap: table.heap(), index: table.first() },
                        1 => DescriptorAt::Heap { heap: dynamic.heap(), index: dynamic.first() },
                        2 => {
                            DescriptorAt::Set { block: set.block(), set: set.index(), binding: 0, element: 0 }
                        }
                        _ => {
                            let (block, set) = (dynamic_set.block(), dynamic_set.index());
                            DescriptorAt::Set { block, set, binding: 0, element: 0 }
                        }
                    };
                    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, out.raw(), out.offset(), 16);
                    drop((table, shown, set, samplers, smooth));
                    recording.submit().unwrap();
                    let readback = gpu.read_back(&out, 0, 16).unwrap();
                    gpu.reclaim().unwrap();
                    assert_eq!(readback.wait(SECOND).unwrap(), [byte; 16]);
                }
            });
        }
    });
    finish(&gpu);
    let stats = gpu.stats().descriptors;
    assert_eq!((stats.views, stats.samplers), (0, 0));
    assert!(stats.heaps.iter().all(|heap| heap.used == 0 && heap.waiting == 0), "{stats:?}");
    drop(layout);
    end(gpu, &device);
}

/// One thread trims, and takes pools of sets out of a layout, while another releases the layout's last
/// handle: the blocks are destroyed first all the same.
#[test]
fn a_layout_outlives_the_blocks_that_a_trim_takes_out() {
    let device = device(BOTH, Lag::None);
    let gpu = gpu(&device, small());
    let shown = view(&gpu, "shown", 1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    gpu.trim();
                }
            });
        }
        for _ in 0..500 {
            let layouts: Vec<_> = (0..8)
                .map(|_| {
                    let bindings = [binding(0, BindingKind::Buffer, 1)];
                    let layout =
                        gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("layout")).unwrap();
                    drop(
                        gpu.create_descriptor_set(
                            &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(0, &shown)]).name("set"),
                        )
                        .unwrap(),
                    );
                    layout
                })
                .collect();
            gpu.reclaim().unwrap();
            drop(layouts);
            gpu.reclaim().unwrap();
            if device.hazards_found() > 0 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    drop(shown);
    finish(&gpu);
    end(gpu, &device);
}
