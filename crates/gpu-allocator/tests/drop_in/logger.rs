//! Loggers that panic.

use std::cell::Cell;

use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings};
use log::{LevelFilter, Log, Metadata, Record};

use crate::fake::{Driver, install, with};
use crate::{MIB, ours};

thread_local! {
    static PANICS: Cell<bool> = const { Cell::new(false) };
    static RECORDS: Cell<u32> = const { Cell::new(0) };
}

/// Panics only on threads of tests that enable it, because the process has one logger.
struct Panicking;

impl Log for Panicking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &Record<'_>) {
        if PANICS.get() {
            RECORDS.set(RECORDS.get() + 1);
            panic!("a logger panics");
        }
    }

    fn flush(&self) {}
}

#[test]
fn a_panicking_logger_loses_nothing() {
    log::set_logger(&Panicking).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let (instance, device, physical_device) = install(Driver::discrete(64 * MIB, 256 * MIB));
    let mut debug_settings = AllocatorDebugSettings::default();
    debug_settings.log_allocations = true;
    debug_settings.log_frees = true;
    let mut allocator = Allocator::new(&AllocatorCreateDesc {
        instance,
        device,
        physical_device,
        debug_settings,
        buffer_device_address: true,
        allocation_sizes: AllocationSizes::default(),
    })
    .unwrap();
    PANICS.set(true);
    // Half of the allocations are placed in system memory, which is logged.
    let (mut found, error) = ours::scene(&mut allocator, 8, 16 * MIB);
    assert!(error.is_none(), "{error:?}");
    assert!(allocator.spilled_allocations() > 0);
    assert_eq!(RECORDS.get(), 8 + 1);
    let leaked = found.pop();
    found.into_iter().for_each(|found| allocator.free(found).unwrap());
    assert_eq!(allocator.generate_report().total_allocated_bytes, 16 * MIB);
    drop(leaked);
    // The drop logs the leak.
    drop(allocator);
    assert_eq!(RECORDS.get(), 8 + 1 + 7 + 1);
    with(|driver| assert!(driver.live.is_empty() && driver.violations.is_empty(), "{:?}", driver.violations));
}
