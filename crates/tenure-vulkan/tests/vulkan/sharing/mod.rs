//! Memory that two processes share, and memory of the program's own.

mod families;
mod host;
mod peer;
mod refused;
mod wire;

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use conformance::Harness as _;
use tenure_core::device::{Plane, TextureRegion};
use tenure_core::{
    BufferDesc, Config, Format, Gpu, LocationKind, Queue, State, TexelData, Texture, TextureDesc, Usage,
};
use tenure_vulkan::{Device, Exported, HandleKind, Sharing as _};

use crate::basics::{COPIES, LONG, bytes};
use crate::harness::{Vulkan, validated};
use wire::Wire;

/// Which part the other process plays.
const ROLE: &str = "TENURE_SHARING_ROLE";

const SIZE: u64 = 100_000;
const SIDE: u32 = 37;

/// Patterns of bytes, by who has written them.
const ONE: u8 = 11;
const OTHER: u8 = 12;

fn buffer_desc() -> BufferDesc {
    BufferDesc::new(SIZE, COPIES).name("shared buffer").shared()
}

fn texture_desc() -> TextureDesc {
    TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ)
        .name("shared texture")
        .shared()
}

const fn region() -> TextureRegion {
    TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] }
}

fn texels(seed: u8) -> Vec<u8> {
    bytes(SIDE as usize * SIDE as usize * 4, seed)
}

fn manager(vulkan: &Vulkan) -> Gpu<Device> {
    Gpu::new(vulkan.device(), Config::default()).unwrap()
}

/// Submits a recording and waits for it.
fn run(gpu: &Gpu<Device>, name: &'static str, record: impl FnOnce(&mut tenure_core::Recording<Device>)) {
    let mut recording = gpu.record(Queue::Graphics, name).unwrap();
    record(&mut recording);
    let point = recording.submit().unwrap();
    assert!(gpu.wait(&point, LONG).unwrap());
}

/// Acquires both from the peer, in `COPY_SRC`, and reads their contents.
fn read(gpu: &Gpu<Device>, buffer: &tenure_core::Buffer<Device>, texture: &Texture<Device>) -> [Vec<u8>; 2] {
    let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
    recording.acquire_from_peer(buffer, State::COPY_SRC).unwrap();
    recording.acquire_from_peer(texture, State::COPY_SRC).unwrap();
    let found = recording.read_back(buffer, 0, SIZE).unwrap();
    let seen = recording.read_back_texture(texture, region()).unwrap();
    recording.submit().unwrap();
    [found.wait(LONG).unwrap(), seen.wait(LONG).unwrap()]
}

/// Writes both and hands them over in `COPY_SRC`.
fn write(gpu: &Gpu<Device>, buffer: &tenure_core::Buffer<Device>, texture: &Texture<Device>, seed: u8) {
    gpu.upload(buffer, 0, &bytes(SIZE as usize, seed)).unwrap();
    let pixels = texels(seed);
    gpu.upload_texture(texture, region(), TexelData::new(&pixels)).unwrap();
    run(gpu, "hand over", |recording| {
        recording.release_to_peer(buffer, State::COPY_SRC).unwrap();
        recording.release_to_peer(texture, State::COPY_SRC).unwrap();
    });
}

fn send(wire: &Wire, [one, other]: &[Exported; 2]) {
    let both = [one.info.to_bytes(), other.info.to_bytes()].concat();
    wire.send(&both, &[&one.handle, &other.handle]);
}

/// The files behind handles. Tests on other threads open and close descriptors of other files meanwhile.
struct Files(Vec<(u64, u64)>);

impl Files {
    fn of<'a>(handles: impl IntoIterator<Item = &'a OwnedFd>) -> Self {
        let path = |handle: &OwnedFd| format!("/proc/self/fd/{}", handle.as_raw_fd());
        Self(handles.into_iter().map(|handle| Self::id(Path::new(&path(handle))).unwrap()).collect())
    }

    fn id(descriptor: &Path) -> Option<(u64, u64)> {
        let file = std::fs::metadata(descriptor).ok()?;
        Some((file.dev(), file.ino()))
    }

    /// The number of this process's descriptors of these files.
    fn descriptors(&self) -> usize {
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        open.filter(|entry| {
            let id = entry.as_ref().ok().and_then(|entry| Self::id(&entry.path()));
            id.is_some_and(|id| self.0.contains(&id))
        })
        .count()
    }
}

/// The other process: see [`peer`](self::peer). On its own it is no test.
#[test]
fn peer() {
    if let Ok(role) = std::env::var(ROLE) {
        peer::play(&role);
    }
}

/// A buffer and a texture go to another process and back, each time with other bytes. The exporter counts their memory,
/// and has its descriptors back at the end.
#[test]
fn two_processes_write_and_read_the_same_bytes() {
    let vulkan = Vulkan::new(validated());
    let (files, before) = {
        let gpu = manager(&vulkan);
        let reserved = gpu.stats().reserved;
        let (buffer, texture) =
            (gpu.create_buffer(&buffer_desc()).unwrap(), gpu.create_texture(&texture_desc()).unwrap());
        assert_eq!([buffer.location(), texture.location()], [LocationKind::Committed; 2]);
        assert!(gpu.stats().reserved >= reserved + SIZE + u64::from(SIDE * SIDE * 4));
        let export = || {
            [
                gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap(),
                gpu.export_texture(&texture, HandleKind::OpaqueFd).unwrap(),
            ]
        };
        let files = Files::of(export().iter().map(|exported| &exported.handle));
        let before = files.descriptors();
        let exported = export();
        assert_eq!(files.descriptors(), before + 2);
        write(&gpu, &buffer, &texture, ONE);
        let (wire, other) = Wire::start("reads and writes");
        send(&wire, &exported);
        drop(exported);
        wire.expect("written");
        let [found, seen] = read(&gpu, &buffer, &texture);
        assert!(found == bytes(SIZE as usize, OTHER), "the buffer has the other process's bytes");
        assert!(seen == texels(OTHER), "the texture has the other process's texels");
        // A returned resource is used like any other.
        run(&gpu, "use again", |recording| {
            recording.use_resource(&texture, tenure_core::Subresource::All, State::PIXEL_SHADER).unwrap();
        });
        wire.say("end");
        other.finish();
        drop((buffer, texture, wire));
        assert!(gpu.shutdown().is_clean());
        (files, before)
    };
    let left = files.descriptors();
    assert!(left <= before, "{left} descriptors are left, of {before}");
    vulkan.end();
}

/// The importer's memory lives on when the exporter has let go of it, and the other way round.
#[test]
fn memory_lives_until_both_sides_have_released_it() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let (buffer, texture) =
        (gpu.create_buffer(&buffer_desc()).unwrap(), gpu.create_texture(&texture_desc()).unwrap());
    write(&gpu, &buffer, &texture, ONE);
    let (wire, other) = Wire::start("outlives");
    send(
        &wire,
        &[
            gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap(),
            gpu.export_texture(&texture, HandleKind::OpaqueFd).unwrap(),
        ],
    );
    wire.expect("imported");
    drop((buffer, texture));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
    wire.say("gone");
    wire.expect("read");
    other.finish();
}

/// The other process is killed in the middle of its work, with both in its hands. The survivor keeps its memory, which it
/// takes back and uses, and nothing leaks.
#[test]
fn shared_memory_outlives_the_other_process() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let (buffer, texture) =
        (gpu.create_buffer(&buffer_desc()).unwrap(), gpu.create_texture(&texture_desc()).unwrap());
    write(&gpu, &buffer, &texture, ONE);
    let (wire, other) = Wire::start("dies");
    send(
        &wire,
        &[
            gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap(),
            gpu.export_texture(&texture, HandleKind::OpaqueFd).unwrap(),
        ],
    );
    wire.expect("busy");
    other.kill();
    assert!(wire.receive().0.is_empty(), "the connection ends with it");
    // Contents are undefined, the memory is there.
    run(&gpu, "take back", |recording| {
        recording.acquire_from_peer(&buffer, State::COPY_DST).unwrap();
        recording.acquire_from_peer(&texture, State::COPY_DST).unwrap();
    });
    write(&gpu, &buffer, &texture, OTHER);
    let [found, seen] = read(&gpu, &buffer, &texture);
    assert!(found == bytes(SIZE as usize, OTHER) && seen == texels(OTHER));
    drop((buffer, texture));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
