//! A texture streamer under a byte budget.

use std::collections::BTreeMap;

use super::rng::Rng;
use super::script::{Live, Program, Script};
use crate::{Kind, Layout, MemoryKind};

const TEXTURE: Kind = Kind::new(MemoryKind::GpuOnly, Layout::Optimal);
const KIB: u64 = 1024;
const PAGE: u64 = 64 * KIB;
const MULTISAMPLED_ALIGN: u64 = 4 * KIB * KIB;
const MULTISAMPLED_PERCENT: u64 = 2;

/// The budget of a long recording. A short recording has a smaller one, so that textures are still
/// evicted; the smallest budget holds the largest texture.
const MAX_BUDGET: u64 = 4 * KIB * KIB * KIB;
const MIN_BUDGET: u64 = 128 * KIB * KIB;
const BUDGET_PER_ALLOC: u64 = 256 * KIB;

const TEXTURES: u64 = 16_384;
/// The number of textures on either side of the camera that are visible.
const VISIBLE: u64 = 48;
const TOUCHED_PER_FRAME: u64 = 16;

pub(super) struct Streaming {
    rng: Rng,
    /// The maximum number of live bytes.
    budget: u64,
    textures: Vec<Texture>,
    camera: u64,
    /// Increases with every use of a texture.
    clock: u64,
    /// Maps the time of the last use to the resident texture; the first entry is the least recently
    /// used texture.
    used: BTreeMap<u64, usize>,
    resident_bytes: u64,
}

struct Texture {
    /// Texels along each side of the finest mip.
    edge: u64,
    bits_per_texel: u64,
    align: u64,
    resident: Option<Resident>,
}

struct Resident {
    memory: Live,
    dropped_mips: u64,
    last_use: u64,
}

impl Streaming {
    pub(super) fn new(seed: u64, allocs: u64) -> Self {
        let mut rng = Rng::new(seed);
        let budget = allocs.saturating_mul(BUDGET_PER_ALLOC);
        Self {
            budget: budget.clamp(MIN_BUDGET, MAX_BUDGET),
            textures: (0..TEXTURES).map(|_| Texture::random(&mut rng)).collect(),
            camera: rng.below(TEXTURES),
            rng,
            clock: 0,
            used: BTreeMap::new(),
            resident_bytes: 0,
        }
    }

    /// Makes the texture the most recently used, with the mips from `dropped_mips` on.
    fn touch(&mut self, index: usize, dropped_mips: u64, script: &mut Script) {
        self.clock += 1;
        if let Some(resident) = &mut self.textures[index].resident {
            self.used.remove(&resident.last_use);
            self.used.insert(self.clock, index);
            resident.last_use = self.clock;
            if resident.dropped_mips == dropped_mips {
                return;
            }
        }
        self.load(index, dropped_mips, script);
    }

    fn load(&mut self, index: usize, dropped_mips: u64, script: &mut Script) {
        let size = self.textures[index].bytes(dropped_mips);
        self.make_room(size, script);
        let align = self.textures[index].align;
        let Some(memory) = script.alloc(size, align, TEXTURE) else {
            return;
        };
        // The new mips are copied from the old ones, so the old ones are freed last.
        self.evict(index, script);
        self.resident_bytes += size;
        self.used.insert(self.clock, index);
        self.textures[index].resident = Some(Resident { memory, dropped_mips, last_use: self.clock });
    }

    fn make_room(&mut self, size: u64, script: &mut Script) {
        while self.resident_bytes + size > self.budget {
            let Some((_, &oldest)) = self.used.first_key_value() else {
                return;
            };
            self.evict(oldest, script);
        }
    }

    fn evict(&mut self, index: usize, script: &mut Script) {
        if let Some(resident) = self.textures[index].resident.take() {
            self.used.remove(&resident.last_use);
            self.resident_bytes -= resident.memory.size();
            script.free(resident.memory);
        }
    }

    /// A random visible texture and the number of mips to drop: fewer the nearer it is to the camera.
    fn visible_texture(&mut self) -> (usize, u64) {
        let distance = self.rng.below(VISIBLE);
        let side = if self.rng.chance(50) { TEXTURES - distance } else { distance };
        let index = (self.camera + side) % TEXTURES;
        (index as usize, distance * 4 / VISIBLE)
    }
}

impl Program for Streaming {
    fn step(&mut self, script: &mut Script) {
        for _ in 0..TOUCHED_PER_FRAME {
            let (index, dropped_mips) = self.visible_texture();
            self.touch(index, dropped_mips, script);
        }
        // Any other texture: for a reflection, or a cut to another camera.
        let index = self.rng.below(TEXTURES) as usize;
        let dropped_mips = self.rng.below(4);
        self.touch(index, dropped_mips, script);
        self.camera = (self.camera + self.rng.below(4)) % TEXTURES;
        script.end_frame();
    }

    fn finish(&mut self, script: &mut Script) {
        while let Some((_, &oldest)) = self.used.first_key_value() {
            self.evict(oldest, script);
        }
    }
}

impl Texture {
    fn random(rng: &mut Rng) -> Self {
        // BC1, BC7 and RGBA8; few textures are not compressed.
        let bits_per_texel = [4, 4, 4, 8, 8, 8, 8, 32][rng.below(8) as usize];
        let edge = 256 << rng.within(0, 4);
        let align = if rng.chance(MULTISAMPLED_PERCENT) { MULTISAMPLED_ALIGN } else { PAGE };
        Self { edge, bits_per_texel, align, resident: None }
    }

    /// The size of the mip chain without its finest mips, in whole pages.
    fn bytes(&self, dropped_mips: u64) -> u64 {
        let finest = self.edge >> dropped_mips;
        let mips = std::iter::successors(Some(finest), |&edge| (edge > 1).then_some(edge / 2));
        // A mip is at least one compressed block of 4 by 4 texels.
        let texels: u64 = mips.map(|edge| edge.max(4) * edge.max(4)).sum();
        (texels * self.bits_per_texel / 8).next_multiple_of(PAGE)
    }
}
