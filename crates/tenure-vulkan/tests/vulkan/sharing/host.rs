//! The program's own memory as a buffer.

use std::fs::File;
use std::io::Write as _;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tenure_core::{BufferDesc, DeviceError, Gpu, LocationKind, MemoryUse, Queue, State, Subresource, Usage};
use tenure_vulkan::{Device, HostMemory, OptionalFeatures, ShareError};

use super::{manager, run};
use crate::basics::{COPIES, LONG, bytes};
use crate::harness::{Vulkan, validated};

const SIZE: usize = 1 << 16;

/// A file in memory, until it is dropped.
struct Mapped {
    address: NonNull<u8>,
    is_gone: Arc<AtomicBool>,
}

// SAFETY: mapped memory may be used from any thread.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn of(file: &File, protection: ProtFlags) -> (Self, Arc<AtomicBool>) {
        let is_gone = Arc::new(AtomicBool::new(false));
        // SAFETY: a new mapping replaces no other.
        let address =
            unsafe { mmap(std::ptr::null_mut(), SIZE, protection, MapFlags::SHARED, file, 0) }.unwrap();
        let address = NonNull::new(address.cast()).unwrap();
        (Self { address, is_gone: is_gone.clone() }, is_gone)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.is_gone.store(true, Ordering::Relaxed);
        // SAFETY: the buffer over it is destroyed, and the GPU is done with it.
        unsafe { munmap(self.address.as_ptr().cast(), SIZE) }.unwrap();
    }
}

fn file() -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes(SIZE, 3)).unwrap();
    file
}

/// All of a file, or of its bytes from `offset` on.
fn memory(file: &File, protection: ProtFlags, offset: usize) -> (HostMemory, Arc<AtomicBool>) {
    let (mapped, is_gone) = Mapped::of(file, protection);
    // SAFETY: the offset is inside the mapping, which lives as long as its owner.
    let memory = unsafe {
        let address = mapped.address.add(offset);
        match protection.contains(ProtFlags::WRITE) {
            true => HostMemory::new(address, SIZE - offset, mapped),
            false => HostMemory::read_only(address, SIZE - offset, mapped),
        }
    };
    (memory, is_gone)
}

/// The device's alignment, or nothing where it takes no such memory.
fn alignment(gpu: &Gpu<Device>) -> Option<u64> {
    let alignment = gpu.device().host_memory_alignment();
    let is_used = gpu.device().optional_features().contains(OptionalFeatures::EXTERNAL_MEMORY_HOST);
    assert_eq!(alignment.is_some(), is_used);
    alignment.filter(|alignment| *alignment <= SIZE as u64)
}

/// The GPU copies from a file that is mapped, with no copy of the CPU's before; the file is unmapped when the GPU is done
/// with it.
#[test]
fn a_mapped_file_is_copied_from() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    if alignment(&gpu).is_some() {
        let (memory, is_gone) = memory(&file(), ProtFlags::READ, 0);
        let reserved = gpu.stats().reserved;
        let desc = BufferDesc::new(SIZE as u64, Usage::COPY_SRC).name("level");
        let level = memory.import(&gpu, &desc).unwrap();
        assert_eq!((level.location(), level.size()), (LocationKind::Adopted, SIZE as u64));
        assert_eq!(level.usage(), Usage::COPY_SRC, "the GPU does not write to it");
        assert_eq!(gpu.stats().reserved, reserved, "it is no new memory");
        let mut recording = gpu.record(Queue::Graphics, "load").unwrap();
        let found = recording.read_back(&level, 0, SIZE as u64).unwrap();
        drop(level);
        recording.submit().unwrap();
        assert!(found.wait(LONG).unwrap() == bytes(SIZE, 3));
        drop(found);
        assert!(gpu.shutdown().is_clean());
        assert!(is_gone.load(Ordering::Relaxed));
    }
    drop(gpu);
    vulkan.end();
}

/// The GPU writes to a file that is mapped for that.
#[test]
fn a_mapped_file_is_written_to() {
    use std::os::unix::fs::FileExt as _;
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    if alignment(&gpu).is_some() {
        let file = file();
        let (memory, _) = memory(&file, ProtFlags::READ | ProtFlags::WRITE, 0);
        let target = memory.import(&gpu, &BufferDesc::new(SIZE as u64 / 2, COPIES)).unwrap();
        gpu.upload(&target, 16, &[9; 100]).unwrap();
        run(&gpu, "use", |recording| {
            recording.use_resource(&target, Subresource::All, State::COPY_SRC).unwrap();
        });
        drop(target);
        assert!(gpu.shutdown().is_clean());
        let mut found = [0; 120];
        file.read_exact_at(&mut found, 0).unwrap();
        let mut expected = bytes(120, 3);
        expected[16..116].fill(9);
        assert_eq!(found[..], expected);
    }
    drop(gpu);
    vulkan.end();
}

/// Unsuitable memory is returned, and unmapped when the program drops it.
#[test]
fn memory_that_does_not_fit_comes_back() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    if let Some(alignment) = alignment(&gpu) {
        let file = file();
        let copied = BufferDesc::new(64, Usage::COPY_SRC);
        if alignment > 1 {
            let (memory, is_gone) = memory(&file, ProtFlags::READ, 1);
            let rejected = memory.import(&gpu, &copied).unwrap_err();
            assert!(matches!(*rejected.error, ShareError::Unaligned { .. }), "{rejected}");
            assert!(!is_gone.load(Ordering::Relaxed));
            drop(rejected);
            assert!(is_gone.load(Ordering::Relaxed));
        }
        let (memory, is_gone) = memory(&file, ProtFlags::READ, 0);
        let too_large = BufferDesc::new(SIZE as u64 + 1, Usage::COPY_SRC);
        let rejected = memory.import(&gpu, &too_large).unwrap_err();
        assert!(matches!(*rejected.error, ShareError::TooSmall { size, .. } if size == SIZE as u64));
        for wrong in [
            copied.clone().memory(MemoryUse::Upload),
            copied.clone().shared(),
            BufferDesc::new(64, Usage::UNORDERED_ACCESS),
        ] {
            let (memory, _) = self::memory(&file, ProtFlags::READ, 0);
            let rejected = memory.import(&gpu, &wrong).unwrap_err();
            let error = &*rejected.error;
            assert!(matches!(error, ShareError::Device(DeviceError::InvalidDesc { .. })), "{error}");
        }
        // It is as good as before.
        let level = rejected.memory.import(&gpu, &copied).unwrap();
        drop(level);
        assert!(gpu.shutdown().is_clean());
        assert!(is_gone.load(Ordering::Relaxed));
    }
    drop(gpu);
    vulkan.end();
}

#[test]
fn without_the_extension_no_memory_is_imported() {
    let vulkan = Vulkan::new(validated().without(OptionalFeatures::EXTERNAL_MEMORY_HOST));
    let gpu = manager(&vulkan);
    assert_eq!(alignment(&gpu), None);
    let (memory, _) = memory(&file(), ProtFlags::READ, 0);
    let rejected = memory.import(&gpu, &BufferDesc::new(64, Usage::COPY_SRC)).unwrap_err();
    assert!(matches!(*rejected.error, ShareError::Device(DeviceError::Unsupported { .. })), "{rejected}");
    drop((rejected, gpu));
    vulkan.end();
}

/// Panics when it is dropped, after the memory was unmapped.
struct Panics(#[expect(dead_code, reason = "unmaps when it is dropped")] Mapped);

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("the program's own");
    }
}

/// The owner of the memory is the program's code: its panic reaches the caller of the reclaim, after everything else was released.
#[test]
fn an_owner_that_panics_stops_no_release() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    if alignment(&gpu).is_some() {
        let (mapped, is_gone) = Mapped::of(&file(), ProtFlags::READ);
        let address = mapped.address;
        // SAFETY: the mapping lives as long as its owner.
        let memory = unsafe { HostMemory::read_only(address, SIZE, Panics(mapped)) };
        let level = memory.import(&gpu, &BufferDesc::new(SIZE as u64, Usage::COPY_SRC)).unwrap();
        let beside = BufferDesc::new(1 << 20, Usage::COPY_DST).own_resource();
        let beside: Vec<_> = (0..4).map(|_| gpu.create_buffer(&beside).unwrap()).collect();
        drop((level, beside));
        let reclaimed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| gpu.reclaim().unwrap()));
        assert!(reclaimed.is_err() && is_gone.load(Ordering::Relaxed));
        assert_eq!((gpu.stats().committed_resources, gpu.stats().pending_releases), (0, 0));
        assert!(gpu.shutdown().is_clean());
    }
    drop(gpu);
    vulkan.end();
}
