//! `create.c` in Rust: the instructions without the C interface.

use std::env;
use std::hint::black_box;

use tenure_core::{BufferDesc, Config, Error, Gpu, Usage};
use tenure_sim::{Device, Profile};

#[inline(never)]
fn measured(gpu: &Gpu<Device>) -> Result<(), Error> {
    let mut desc = BufferDesc::new(4096, Usage::VERTEX);
    desc.name = "rock".into();
    black_box(gpu.create_buffer(&desc)?);
    Ok(())
}

fn main() -> Result<(), Error> {
    let rounds = env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(1_u32);
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default())?;
    for _ in 0..rounds {
        measured(&gpu)?;
        gpu.reclaim()?;
    }
    assert!(gpu.shutdown().is_clean());
    Ok(())
}
