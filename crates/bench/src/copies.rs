//! Copies to and from mapped memory, which other threads may access at the same time, compared with
//! `memcpy`, which allows no concurrent access.
//!
//! Each round measures both, in alternating order; the result is the median of the rounds. Source and
//! destination are in the processor's cache if they fit.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::DeviceError;
use tenure_core::device::Mapping as _;

use crate::null::{Mapping, Memory};
use crate::table::{row, table};
use crate::timing::{median_ns, time, try_time};

/// Rounds of each measurement; the result is their median.
const ROUNDS: u32 = 301;

/// Bytes of a copy.
const SIZES: [usize; 9] = [4, 16, 64, 100, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20];
/// About so many bytes a round, and no more copies than this.
const ROUND: (usize, usize) = (1 << 20, 4096);
/// Rounds until pages are there and the processor runs at its speed.
const WARM_UP: u32 = 10;

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of a mapping; none occur, because the copies are in range.
pub fn run() -> Result<(), DeviceError> {
    let rows = SIZES.iter().map(|&size| measure(size)).collect::<Result<Vec<_>, _>>()?;
    let header = ["bytes", "write (ns)", "of memcpy", "read (ns)", "of memcpy", "memcpy (ns)"];
    println!("{}", table(&header, rows));
    Ok(())
}

/// What copies by turns.
struct Copies {
    mapping: Mapping,
    plain: Vec<u8>,
    bytes: Vec<u8>,
    count: usize,
}

impl Copies {
    fn new(size: usize) -> Self {
        let (bytes, most) = ROUND;
        Self {
            mapping: Mapping::new(Arc::new(Memory::new(size as u64))),
            plain: vec![1; size],
            bytes: vec![2; size],
            count: (bytes / size).clamp(1, most),
        }
    }

    fn write(&mut self) -> Result<Duration, DeviceError> {
        try_time(|| (0..self.count).try_for_each(|_| self.mapping.write(0, black_box(&self.bytes))))
    }

    fn read(&mut self) -> Result<Duration, DeviceError> {
        try_time(|| (0..self.count).try_for_each(|_| self.mapping.read(0, black_box(&mut self.bytes))))
    }

    fn memcpy(&mut self) -> Duration {
        time(|| {
            for _ in 0..self.count {
                black_box(&mut self.plain[..]).copy_from_slice(black_box(&self.bytes));
            }
        })
    }
}

fn measure(size: usize) -> Result<Vec<String>, DeviceError> {
    let mut copies = Copies::new(size);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..WARM_UP + ROUNDS {
        for turn in 0..times.len() {
            let what = (turn + round as usize) % times.len();
            let taken = match what {
                0 => copies.write()?,
                1 => copies.read()?,
                _ => copies.memcpy(),
            };
            if round >= WARM_UP {
                times[what].push(taken);
            }
        }
    }
    let [write, read, memcpy] = times.map(|times| median_ns(times, copies.count));
    let [write, read] = [write, read].map(|ns| [format!("{ns:.1}"), format!("{:.2}", ns / memcpy)]);
    Ok(row![size, write[0], write[1], read[0], read[1], format!("{memcpy:.1}")])
}
