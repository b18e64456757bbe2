//! `create.c` in Rust: the instructions without the C interface.

use std::hint::black_box;

use tenure_core::{BufferDesc, Config, Error, Gpu, Usage};
use tenure_sim::{Device, Profile};

const ROUNDS: u32 = 1000;

fn create(gpu: &Gpu<Device>) -> Result<(), Error> {
    let mut desc = BufferDesc::new(4096, Usage::VERTEX);
    desc.name = "rock".into();
    black_box(gpu.create_buffer(&desc)?);
    Ok(())
}

#[inline(never)]
fn measured(gpu: &Gpu<Device>) -> Result<(), Error> {
    create(gpu)
}

#[inline(never)]
fn warm_up(gpu: &Gpu<Device>) -> Result<(), Error> {
    create(gpu)
}

fn main() -> Result<(), Error> {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default())?;
    for _ in 0..ROUNDS {
        warm_up(&gpu)?;
        gpu.reclaim()?;
    }
    for _ in 0..ROUNDS {
        measured(&gpu)?;
        gpu.reclaim()?;
    }
    assert!(gpu.shutdown().is_clean());
    Ok(())
}
