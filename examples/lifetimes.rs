//! Deferred release made visible: a texture is dropped while another thread is still recording with it, and is
//! destroyed as soon as the GPU is done with that recording. The program neither waits nor calls `free`, and
//! the simulated device reports any hazard.
//!
//! `cargo run --release --example lifetimes`

use std::error::Error;
use std::thread;

use tenure::sim::{Device, DeviceConfig, Lag, Profile};
use tenure::{
    BufferDesc, Config, Format, Gpu, MemoryUse, Queue, State, Subresource, TextureDesc, Usage,
    device::QueueId,
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Prints the live objects of the device.
fn show(gpu: &Gpu<Device>, what: &str) -> Result<()> {
    gpu.reclaim()?;
    let stats = gpu.stats();
    println!(
        "{what:56} | {} API resources | {} waiting for release | {} recordings open",
        gpu.device().calls().live_resources,
        stats.pending_releases,
        stats.open_recordings,
    );
    Ok(())
}

/// A use that the simulated device can check: a draw that samples the texture.
fn draw(recording: &mut tenure::Recording<Device>, texture: &tenure::Texture<Device>) -> Result<()> {
    recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER)?;
    recording.barriers();
    recording.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
    Ok(())
}

fn fill(gpu: &Gpu<Device>, texture: &tenure::Texture<Device>) -> Result<()> {
    let staging = BufferDesc::new(64 * 1024, Usage::COPY_SRC).memory(MemoryUse::Upload).alignment(512);
    let staging = gpu.create_buffer(&staging.name("staging"))?;
    staging.write(0, &[7; 64 * 1024])?;
    let mut upload = gpu.record(Queue::Graphics, "upload")?;
    let layout = tenure::resource::BufferLayout { offset: 0, row_pitch: 512, rows: 128 };
    upload.copy_buffer_to_texture(&staging, layout, texture, texture.info().region(0, 0))?;
    upload.submit()?;
    Ok(())
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| scope.spawn(work).join().map_err(|_| "the thread panicked")?)
}

fn dropped_while_recording(gpu: &Gpu<Device>) -> Result<()> {
    println!("A texture dropped while another thread records with it:");
    let desc = TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::SHADER_READ).name("poster");
    let texture = gpu.create_texture(&desc)?;
    fill(gpu, &texture)?;
    gpu.device().run_until_idle();
    show(gpu, "  created and filled")?;

    let recording = on_a_thread(|| {
        let mut recording = gpu.record(Queue::Graphics, "opaque")?;
        draw(&mut recording, &texture)?;
        Ok(recording)
    })?;
    drop(texture);
    show(gpu, "  dropped, the recording is still open")?;

    let submitted = on_a_thread(|| Ok(recording.submit()?))?;
    show(gpu, "  submitted by another thread")?;
    for at in submitted.iter() {
        gpu.device().complete(at.queue, at.serial);
    }
    show(gpu, "  the GPU has finished: gone")
}

fn slow_queue(gpu: &Gpu<Device>) -> Result<()> {
    println!("\nA slow copy queue holds back only what it may use:");
    let streamed = gpu.create_buffer(&BufferDesc::new(20 << 20, Usage::SHADER_READ).name("streamed"))?;
    let copy = gpu.record(Queue::Copy, "streaming, takes seconds")?.submit()?;
    drop(streamed);
    let debris = gpu.create_buffer(&BufferDesc::new(20 << 20, Usage::SHADER_READ).name("debris"))?;
    gpu.record(Queue::Graphics, "frame")?.submit()?;
    drop(debris);
    show(gpu, "  both dropped, both queues busy")?;
    gpu.device().complete(QueueId(0), gpu.submitted().serial(QueueId(0)));
    show(gpu, "  graphics has finished: one gone, though dropped last")?;
    for at in copy.iter() {
        gpu.device().complete(at.queue, at.serial);
    }
    show(gpu, "  the copy queue has finished: both gone")
}

fn main() -> Result<()> {
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual);
    let gpu = Gpu::new(Device::with_config(options), Config::default())?;
    dropped_while_recording(&gpu)?;
    slow_queue(&gpu)?;
    let device = gpu.device().clone();
    let report = gpu.shutdown();
    drop(gpu);
    device.check_clean()?;
    println!("\nhazards: {}, leaks: {}", device.hazards_found(), report.leaks.len());
    Ok(report.into_result()?)
}
