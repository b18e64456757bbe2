//! Copies follow earlier writes, and never wait for submissions that wait for them.

use std::sync::mpsc;
use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, CompactionBudget, DescriptorTable, DescriptorTableDesc, Gpu, Queue,
    State, Subresource, SyncPoint, Usage,
};
use tenure_sim::{DescriptorAt, Device, DeviceConfig, Lag, Profile};

use crate::buffers::{SOON, end, end_frame, with};
use crate::lifetimes::{assert_no_hazards, fill, move_some, one_in_eight, sampled};

const SIZE: u64 = 100 << 10;

/// Buffers that shaders write, all in the state for that.
fn written(gpu: &Gpu<Device>, queue: Queue) -> Vec<Buffer<Device>> {
    let desc = BufferDesc::new(SIZE, Usage::UNORDERED_ACCESS).movable();
    let kept = one_in_eight(gpu, 256, || gpu.create_buffer(&desc).unwrap());
    let mut recording = gpu.record(queue, "state").unwrap();
    for buffer in &kept {
        gpu.upload(buffer, 0, &[7; SIZE as usize]).unwrap();
        recording.use_resource(buffer, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    }
    recording.submit().unwrap();
    assert!(gpu.device().run_until_idle());
    kept
}

/// Shaders write resources of tables, in their current state.
fn write(gpu: &Gpu<Device>, queue: Queue, tables: &[DescriptorTable<Device>]) {
    let mut recording = gpu.record(queue, "write").unwrap();
    let (commands, scratch) = recording.split();
    commands.set_descriptor_heaps().unwrap();
    for table in tables {
        let row = scratch.table(table).unwrap();
        let at = DescriptorAt::Heap { heap: row.heap(), index: row.first() };
        commands.raw().use_descriptor(at, State::UNORDERED_ACCESS);
    }
    recording.submit().unwrap();
}

/// Writes of a recording that declared only its tables are copied after it, and the next one finds the state.
#[test]
fn writes_through_tables_are_copied_after_them() {
    for profile in [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        for queue in [Queue::Graphics, Queue::Compute] {
            let gpu = with(DeviceConfig::new(profile).lag(Lag::Submissions(40)));
            let kept = written(&gpu, queue);
            let view = BufferViewDesc::raw_writable().range(256, 1024);
            let table = |buffer: &Buffer<Device>| {
                let view = gpu.create_buffer_view(buffer, &view).unwrap();
                gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()])).unwrap()
            };
            let mut tables: Vec<_> = kept.iter().map(table).collect();
            write(&gpu, queue, &tables);
            move_some(&gpu);
            // Unmoved resources would need a barrier by the program.
            let mut moved = kept.iter().map(|buffer| buffer.moves() > 0);
            tables.retain(|_| moved.next().unwrap());
            write(&gpu, queue, &tables);
            assert_no_hazards(&gpu);
            drop((tables, kept));
            end(gpu);
        }
    }
}

/// On a device with one queue, a resource that shaders write is in the state for that in its new place.
#[test]
fn buffers_written_in_place_keep_their_state_on_one_queue() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_MOBILE).lag(Lag::Submissions(3)));
    let kept = written(&gpu, Queue::Graphics);
    move_some(&gpu);
    let mut recording = gpu.record(Queue::Graphics, "write").unwrap();
    let (commands, scratch) = recording.split();
    for buffer in &kept {
        let place = scratch.buffer(buffer).unwrap();
        commands.raw().use_buffer(place.raw(), place.offset(), 64, State::UNORDERED_ACCESS);
    }
    recording.submit().unwrap();
    assert_no_hazards(&gpu);
    drop(kept);
    end(gpu);
}

/// A submission of the program's own may drop and query moving resources: nothing moves while it runs, and
/// calls within it move nothing.
#[test]
fn external_work_and_moves_do_not_wait_for_each_other() {
    let (over, is_over) = mpsc::channel();
    std::thread::spawn(move || {
        for queue in [Queue::Graphics, Queue::Copy] {
            let gpu = with(DeviceConfig::new(Profile::DISCRETE));
            let mut textures = one_in_eight(&gpu, 128, || gpu.create_texture(&sampled().movable()).unwrap());
            textures.iter().for_each(|texture| fill(&gpu, texture, 7));
            let desc = BufferDesc::new(SIZE, Usage::VERTEX).movable();
            let mut buffers = one_in_eight(&gpu, 256, || gpu.create_buffer(&desc).unwrap());
            gpu.flush_uploads().unwrap();
            drop((textures.split_off(8), buffers.split_off(16)));
            (0..8).for_each(|_| end_frame(&gpu));
            let budget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 100_000 };
            std::thread::scope(|scope| {
                let external = gpu.submit_external(queue, &SyncPoint::NONE, |_queue| {
                    scope.spawn(|| (0..20).map(|_| gpu.compact(budget).unwrap().moves).sum::<usize>());
                    std::thread::sleep(Duration::from_millis(50));
                    assert!(gpu.compact(budget).is_err());
                    drop(gpu.begin_frame());
                    drop((textures.split_off(4), buffers.split_off(8)));
                    let _ = (textures[0].raw(), buffers[0].gpu_address());
                    Ok::<_, tenure_core::Error>(())
                });
                external.unwrap();
            });
            drop((textures, buffers));
            end(gpu);
        }
        over.send(()).unwrap();
    });
    is_over.recv_timeout(SOON).expect("a thread waits for another that waits for it");
}

/// An upload of another queue, after a wait, is read without a barrier and without a declared state; also after
/// a move, which makes its copy visible to all possible reads.
#[test]
fn uploads_of_another_queue_are_found_after_a_move() {
    let mut moves = 0;
    for &profile in Profile::ALL {
        let gpu = with(DeviceConfig::new(profile).lag(Lag::None));
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let desc = BufferDesc::new(40_000, usage).movable();
        let all: Vec<_> =
            (0..16).map(|byte| gpu.create_buffer_with(&desc, &[byte; 40_000]).unwrap()).collect();
        gpu.flush_uploads().unwrap();
        let kept: Vec<_> = all.into_iter().step_by(7).collect();
        gpu.reclaim().unwrap();
        // Resources with views are copied by the graphics queue, which has waited for the upload before.
        let view = |buffer| gpu.create_buffer_view(buffer, &BufferViewDesc::raw()).unwrap();
        let views: Vec<_> = kept.iter().map(view).collect();
        let mut recording = gpu.record(Queue::Graphics, "name").unwrap();
        for buffer in &kept {
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        }
        let named = recording.submit().unwrap();
        let ample = CompactionBudget { bytes: 1 << 20, moves: 100, pieces: 10_000 };
        (0..3).for_each(|_| _ = gpu.compact(ample).unwrap());
        moves += kept.iter().map(Buffer::moves).sum::<u64>();
        let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
        recording.wait_for(&named).unwrap();
        for buffer in &kept {
            let (commands, scratch) = recording.split();
            let place = scratch.buffer(buffer).unwrap();
            commands.raw().use_buffer(place.raw(), place.offset(), buffer.size(), State::NON_PIXEL_SHADER);
        }
        recording.submit().unwrap();
        assert_no_hazards(&gpu);
        drop((views, kept));
        end(gpu);
    }
    assert!(moves > 0);
}
