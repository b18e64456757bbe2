//! Copies to and from mapped memory, which other threads and the GPU may access meanwhile.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use tenure_device::mapped::{read_bytes, write_bytes};

/// Miri interprets each byte.
const ROOM: usize = if cfg!(miri) { 300 } else { 5000 };

/// All sizes around the steps of the loops, at all distances from an aligned address: bytes inside are copied, bytes
/// outside stay.
#[test]
fn copies_are_those_of_a_slice() {
    let source: Vec<u8> = (0..ROOM).map(|index| index as u8 ^ (index >> 8) as u8).collect();
    let sizes = (0..=130).chain([255, 256, 257, 2047, 2048, 2049, 4096, 4700]);
    let sizes: Vec<usize> = if cfg!(miri) { vec![0, 1, 7, 33, 64, 130] } else { sizes.collect() };
    for size in sizes {
        for shift in [0, 1, 3, 8, 15, 63] {
            let mut mapped = vec![0xEE; ROOM];
            let start = NonNull::from(&mut *mapped).cast::<u8>();
            // SAFETY: the range is inside the vector, which nothing else refers to meanwhile.
            unsafe { write_bytes(start.add(shift), &source[shift + 1..][..size]) };
            let mut out = vec![0xDD; size];
            // SAFETY: as above.
            unsafe { read_bytes(start.add(shift), &mut out) };
            assert_eq!(out, source[shift + 1..][..size], "{size} at {shift}");
            assert_eq!(mapped[shift..][..size], out, "{size} at {shift}");
            let outside = mapped[..shift].iter().chain(&mapped[shift + size..]);
            assert!(outside.copied().all(|byte| byte == 0xEE), "{size} at {shift}");
        }
    }
}

/// Threads that write and read the same bytes see written bytes, in any mixture. Under Miri and ThreadSanitizer, which
/// report each data race, this proves that there is none.
#[test]
fn threads_may_meet() {
    let mapped: Vec<AtomicU8> = (0..200).map(|_| AtomicU8::new(0)).collect();
    let rounds = if cfg!(miri) { 3 } else { 2000 };
    // SAFETY: the tests stay inside of the vector.
    let at = |shift: usize| unsafe { NonNull::from(mapped.as_slice()).cast::<u8>().add(shift) };
    std::thread::scope(|threads| {
        for (byte, shift) in [(1, 0), (2, 3), (3, 8)] {
            threads.spawn(move || {
                for _ in 0..rounds {
                    // SAFETY: inside of the bytes, which are atomic.
                    unsafe { write_bytes(at(shift), &[byte; 150]) };
                }
            });
        }
        threads.spawn(|| {
            let mut out = [9; 170];
            for _ in 0..rounds {
                // SAFETY: as above.
                unsafe { read_bytes(at(1), &mut out) };
                assert!(out.iter().all(|byte| *byte < 4), "{out:?}");
            }
        });
    });
    assert!(mapped[8..150].iter().all(|byte| byte.load(Ordering::Relaxed) > 0));
}
