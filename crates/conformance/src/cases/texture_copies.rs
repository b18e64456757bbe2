//! Copies of whole subresources between textures.

use tenure_core::device::QueueKind;
use tenure_core::{Format, Queue, Subresource, Texture, TextureDesc, Usage};

use crate::Harness;
use crate::bench::Bench;
use crate::texels::{Texels, assert_texels, compressed, random};
use test_random::Rng;

const COPIED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST);

/// Colours of several sizes of texels, in mips, layers and volumes.
fn descs<H: Harness>(bench: &Bench<'_, H>) -> Vec<TextureDesc> {
    let d2 = |width, height, format| TextureDesc::d2(width, height, format, COPIED);
    let mut descs = vec![
        d2(64, 64, Format::Rgba8Unorm).mips(7),
        d2(37, 21, Format::R8Unorm).mips(5).layers(3),
        d2(16, 48, Format::Rgba32Float).layers(7),
        TextureDesc::d3(20, 12, 7, Format::Rg8Unorm, COPIED).mips(3),
    ];
    let blocks = compressed(bench.gpu.device());
    descs.extend(blocks.map(|format| d2(64, 32, format).mips(7).layers(2)));
    descs
}

/// A copy of all subresources brings every byte, on a queue of every kind; the source may be dropped.
pub fn textures_are_copied_on_every_queue<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(91);
    for queue in bench.kinds() {
        for desc in descs(&bench) {
            let (source, texels) = bench.filled(&desc, &mut rng);
            let copy = bench.gpu.create_texture(&desc).unwrap();
            bench.submit(queue, |recording| {
                recording.copy_texture(&source, &copy, Subresource::All).unwrap();
                drop(source);
            });
            assert_texels(&bench.download_texels(&copy), &texels, &format!("{queue:?}, {:?}", desc.info));
        }
        bench.gpu.reclaim().unwrap();
    }
    bench.end();
}

/// A copy of one subresource brings its bytes, and leaves those of the others; one of them goes back.
pub fn subresources_are_copied_alone<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(92);
    for desc in descs(&bench) {
        let (source, mut texels) = bench.filled(&desc, &mut rng);
        let (copy, mut copied) = bench.filled(&desc, &mut rng);
        bench.submit(Queue::Graphics, |recording| {
            for index in (0..desc.info.subresources()).step_by(2) {
                recording.copy_texture(&source, &copy, Subresource::One(index)).unwrap();
                copied[index as usize].clone_from(&texels[index as usize]);
            }
            let last = desc.info.subresources() - 1;
            recording.copy_texture(&copy, &source, Subresource::One(last)).unwrap();
            texels[last as usize].clone_from(&copied[last as usize]);
        });
        assert_texels(&bench.download_texels(&copy), &copied, &format!("copy, {:?}", desc.info));
        assert_texels(&bench.download_texels(&source), &texels, &format!("source, {:?}", desc.info));
        drop((source, copy));
        bench.gpu.reclaim().unwrap();
    }
    bench.end();
}

impl<H: Harness> Bench<'_, H> {
    /// A queue of each kind that the device has.
    fn kinds(&self) -> Vec<Queue> {
        let has = |kind| self.properties().queues.iter().any(|queue| queue.kind == kind);
        [
            (QueueKind::Graphics, Queue::Graphics),
            (QueueKind::Compute, Queue::Compute),
            (QueueKind::Copy, Queue::Copy),
        ]
        .into_iter()
        .filter(|(kind, _)| has(*kind))
        .map(|(_, queue)| queue)
        .collect()
    }

    fn filled(&self, desc: &TextureDesc, rng: &mut Rng) -> (Texture<H::Device>, Texels) {
        let (texture, texels) = (self.gpu.create_texture(desc).unwrap(), random(&desc.info, rng));
        self.upload_texels(&texture, &texels);
        (texture, texels)
    }
}
