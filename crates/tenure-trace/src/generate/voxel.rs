//! A voxel world with constant re-meshing.

use std::collections::VecDeque;

use super::rng::{Rng, lognormal};
use super::script::{Live, Program, Script};
use crate::{Kind, Layout, MemoryKind};

const MESH: Kind = Kind::new(MemoryKind::GpuOnly, Layout::Linear);
const STAGING: Kind = Kind::new(MemoryKind::CpuToGpu, Layout::Linear);
const STAGING_ALIGN: u64 = 16;

const MAX_CHUNKS: u64 = 10_000;
const CHUNKS_LOADED_PER_FRAME: usize = 64;
const MAX_REMESHES_PER_FRAME: u64 = 32;
/// Frames from the allocation of a staging buffer until its free.
const FRAMES_STAGED: usize = 2;
/// Percentage of meshes whose new buffers are allocated before the old ones are freed.
const ALLOCATE_FIRST_PERCENT: u64 = 25;

/// The vertex and the index buffer of a chunk. Either is missing only at the end.
#[derive(Default)]
struct Mesh([Option<Live>; 2]);

pub(super) struct Voxel {
    rng: Rng,
    chunks: Vec<Mesh>,
    /// The number of loaded chunks; `chunks[loaded..]` are not loaded yet.
    loaded: usize,
    /// The staging buffers of the frames that the GPU may still be executing, oldest frame first.
    staging: VecDeque<Vec<Live>>,
}

impl Voxel {
    pub(super) fn new(seed: u64, allocs: u64) -> Self {
        // Loading a chunk takes three allocations: at most three fifths of a short recording.
        let chunks = (allocs / 5).clamp(1, MAX_CHUNKS);
        Self {
            rng: Rng::new(seed),
            chunks: (0..chunks).map(|_| Mesh::default()).collect(),
            loaded: 0,
            staging: VecDeque::new(),
        }
    }

    fn load_some(&mut self, script: &mut Script) {
        let end = self.chunks.len().min(self.loaded + CHUNKS_LOADED_PER_FRAME);
        for chunk in self.loaded..end {
            self.mesh(chunk, script);
        }
        self.loaded = end;
    }

    fn remesh_some(&mut self, script: &mut Script) {
        for _ in 0..self.rng.within(1, MAX_REMESHES_PER_FRAME) {
            let chunk = self.rng.below(self.chunks.len() as u64) as usize;
            self.mesh(chunk, script);
        }
    }

    /// Builds the chunk's mesh, and replaces an old one.
    fn mesh(&mut self, chunk: usize, script: &mut Script) {
        // The old mesh stays if no allocations remain.
        if script.spent() {
            return;
        }
        let old = std::mem::take(&mut self.chunks[chunk]);
        if self.rng.chance(ALLOCATE_FIRST_PERCENT) {
            self.chunks[chunk] = self.build(script);
            old.free(script);
        } else {
            old.free(script);
            self.chunks[chunk] = self.build(script);
        }
    }

    fn build(&mut self, script: &mut Script) -> Mesh {
        let mesh = Mesh(std::array::from_fn(|_| {
            let size = lognormal(&mut self.rng, 2500.0, 1.0).clamp(4.0, 40.0 * 1024.0) as u64;
            let align = 4 << self.rng.within(0, 6);
            // Vertices and indices are multiples of 4 bytes.
            script.alloc(size.next_multiple_of(4), align, MESH)
        }));
        let bytes = mesh.0.iter().flatten().map(Live::size).sum::<u64>();
        if let Some(staging) = script.alloc(bytes, STAGING_ALIGN, STAGING)
            && let Some(frame) = self.staging.back_mut()
        {
            frame.push(staging);
        }
        mesh
    }

    fn free_staging_but(&mut self, frames: usize, script: &mut Script) {
        while self.staging.len() > frames {
            for staging in self.staging.pop_front().into_iter().flatten() {
                script.free(staging);
            }
        }
    }
}

impl Program for Voxel {
    fn step(&mut self, script: &mut Script) {
        self.free_staging_but(FRAMES_STAGED - 1, script);
        self.staging.push_back(Vec::new());
        if self.loaded < self.chunks.len() {
            self.load_some(script);
        } else {
            self.remesh_some(script);
        }
        script.end_frame();
    }

    fn finish(&mut self, script: &mut Script) {
        self.free_staging_but(0, script);
        for mesh in std::mem::take(&mut self.chunks) {
            mesh.free(script);
        }
    }
}

impl Mesh {
    fn free(self, script: &mut Script) {
        for buffer in self.0.into_iter().flatten() {
            script.free(buffer);
        }
    }
}
