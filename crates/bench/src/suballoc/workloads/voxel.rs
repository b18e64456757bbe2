//! W3: meshes of a voxel world.

use super::Scale;
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::{Recorder, Trace};

/// 20,000 live, log-normal (median 2500, sigma 1) 4 to 40 Ki, align 4 to 256; 500,000 re-meshes,
/// each a free and an allocation of another size; a quarter allocate first.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let mut recorder = Recorder::default();
    let mut meshes: Vec<u32> = (0..20_000).map(|_| allocate(&mut recorder, &mut rng)).collect();
    for _ in 0..scale.calls(500_000) {
        let index = rng.index(meshes.len());
        let old = meshes[index];
        if rng.percent(25) {
            meshes[index] = allocate(&mut recorder, &mut rng);
            recorder.free(old);
        } else {
            recorder.free(old);
            meshes[index] = allocate(&mut recorder, &mut rng);
        }
    }
    recorder.finish("W3", "voxel meshes 4..40 Ki", 4)
}

fn allocate(recorder: &mut Recorder, rng: &mut Rng) -> u32 {
    let size = rng.log_normal(2_500.0, 1.0, 4, 40 << 10);
    recorder.allocate(size, 1 << rng.between(2, 8))
}
