//! The other process.

use std::time::Duration;

use tenure_core::{Buffer, Config, Gpu, LocationKind, State, Texture};
use tenure_vulkan::{Device, ExportDesc, Sharing as _};

use super::wire::Wire;
use super::{ONE, OTHER, SIZE, buffer_desc, bytes, read, run, texels, texture_desc, write};
use crate::harness::{Log, validated};

/// Plays a part until the end, or panics, which ends the process as well.
pub(super) fn play(role: &str) {
    let (wire, log) = (Wire::of_child(), Log::default());
    let gpu = Gpu::new(Device::create(&log.listen(validated())).unwrap(), Config::default()).unwrap();
    let open = descriptors();
    let (buffer, texture) = import(&gpu, &wire);
    assert_eq!(descriptors(), open, "the driver has the handles, or closes them");
    assert_eq!([buffer.location(), texture.location()], [LocationKind::Adopted; 2]);
    match role {
        "reads and writes" => {
            check(&gpu, &buffer, &texture);
            write(&gpu, &buffer, &texture, OTHER);
            wire.say("written");
            wire.expect("end");
        }
        "outlives" => {
            wire.say("imported");
            wire.expect("gone");
            check(&gpu, &buffer, &texture);
            wire.say("read");
        }
        "dies" => {
            run(&gpu, "take", |recording| {
                recording.acquire_from_peer(&buffer, State::COPY_DST).unwrap();
                recording.acquire_from_peer(&texture, State::COPY_DST).unwrap();
            });
            gpu.upload(&buffer, 0, &bytes(SIZE as usize, OTHER)).unwrap();
            gpu.flush_uploads().unwrap();
            wire.say("busy");
            std::thread::sleep(Duration::from_secs(60));
            panic!("nobody has killed it");
        }
        other => panic!("no such part: {other}"),
    }
    drop((buffer, texture));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    assert_eq!(log.problems(), Vec::<String>::new());
}

fn import(gpu: &Gpu<Device>, wire: &Wire) -> (Buffer<Device>, Texture<Device>) {
    let (infos, handles) = wire.receive();
    let [one, other]: [_; 2] = handles.try_into().unwrap();
    let info = |from: usize| ExportDesc::from_bytes(&infos[from..from + ExportDesc::BYTES]).unwrap();
    let reserved = gpu.stats().reserved;
    // SAFETY: they come from one export each, of this program.
    let imported = unsafe {
        (
            gpu.import_buffer(one, &info(0), &buffer_desc()).unwrap(),
            gpu.import_texture(other, &info(ExportDesc::BYTES), &texture_desc()).unwrap(),
        )
    };
    assert_eq!(gpu.stats().reserved, reserved, "it is no new memory");
    imported
}

fn check(gpu: &Gpu<Device>, buffer: &Buffer<Device>, texture: &Texture<Device>) {
    let [found, seen] = read(gpu, buffer, texture);
    assert!(found == bytes(SIZE as usize, ONE), "the buffer has the exporter's bytes");
    assert!(seen == texels(ONE), "the texture has the exporter's texels");
}

/// The number of file descriptors of this process, which has no other test.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
