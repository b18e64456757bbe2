//! Submissions of the program's own, and frames that are presented.

use std::hint::black_box;
use std::sync::Arc;

use tenure_core::device::{Device as _, Permit};
use tenure_core::present::{SharedImage, SwapchainImage};
use tenure_core::{
    Error, Format, Gpu, Queue, QueueId, State, Subresource, SyncPoint, Texture, TextureDesc, Usage,
};
use tenure_sim::Profile;

use super::{Line, gpu, line, time};
use crate::null::Device;

const CALLS: usize = 500;
const IMAGES: u32 = 3;

/// External submissions, whose lower bound is the device's own call; and frames that draw to an image of a swap
/// chain and present it, whose lower bound is the same frame with a texture, and the call that presents.
pub(super) fn measure(rounds: u32) -> Result<Vec<Line>, Error> {
    let gpu = gpu(Profile::VULKAN_NVIDIA)?;
    let bare = Device::new(Profile::VULKAN_NVIDIA);
    let images = (0..IMAGES).map(|index| image(&gpu, index)).collect::<Result<Vec<_>, _>>()?;
    let target = gpu.create_texture(&desc(Usage::RENDER_TARGET))?;
    let mut serial = 0;
    let mut submit = || {
        serial += 1;
        bare.submit(Permit::checked(), QueueId(0), black_box(&[]), &[], serial)
    };
    let (mut external, mut frames) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut counted, mut least) = (Ok(()), Ok(()));
        let with_tenure = time(|| {
            counted = (0..CALLS).try_for_each(|_| {
                let submitted =
                    gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| Ok::<(), Error>(submit()?));
                black_box(submitted).map(|_| ())
            });
        });
        let calls = time(|| least = (0..CALLS).try_for_each(|_| Ok(submit()?)));
        counted.and(least)?;
        external.push((with_tenure, calls));

        let (mut presented, mut drawn) = (Ok(()), Ok(()));
        let with_image = time(|| {
            presented = images.iter().try_for_each(|image| present(&gpu, image, &mut submit));
        });
        let with_texture = time(|| {
            drawn = images.iter().try_for_each(|_| {
                draw(&gpu, &target)?;
                submit()?;
                Ok(())
            });
        });
        presented.and(drawn)?;
        frames.push((with_image, with_texture));
    }
    Ok(vec![
        line("external submission", "the device's call", CALLS, external),
        line("frame that is presented", "frame that is not, and the call", IMAGES as usize, frames),
    ])
}

fn desc(usage: Usage) -> TextureDesc {
    TextureDesc::d2(64, 64, Format::Bgra8Unorm, usage)
}

fn image(gpu: &Gpu<Device>, index: u32) -> Result<Arc<SharedImage<Device>>, Error> {
    let desc = desc(Usage::RENDER_TARGET | Usage::PRESENT);
    let object = gpu.device().presentable();
    let texture = gpu.adopt_texture(object, &desc, State::COMMON).map_err(|rejected| rejected.error)?;
    SharedImage::new(gpu, texture, Format::Bgra8Unorm, index)
}

fn draw(gpu: &Gpu<Device>, target: &Texture<Device>) -> Result<(), Error> {
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    recording.use_resource(target, Subresource::All, State::RENDER_TARGET)?;
    recording.submit().map(drop)
}

/// What a swap chain does around what the API does.
fn present(
    gpu: &Gpu<Device>,
    shared: &Arc<SharedImage<Device>>,
    present: impl FnOnce() -> Result<(), tenure_core::DeviceError>,
) -> Result<(), Error> {
    gpu.declare_state(shared.texture(), Subresource::All, State::COMMON, &SyncPoint::NONE)?;
    shared.arm(Some(()), Some(()));
    let image = SwapchainImage::new(shared.clone());
    let mut recording = gpu.record(Queue::Graphics, "frame")?;
    image.begin(&mut recording)?;
    recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET)?;
    image.finish(&mut recording)?;
    recording.submit()?;
    let finished = shared.finished()?;
    gpu.submit_external(Queue::Graphics, &finished, |_| Ok::<(), Error>(present()?)).map(drop)
}
