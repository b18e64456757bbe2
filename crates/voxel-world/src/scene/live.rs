//! Frames in a window: the differences to frames that are read back.

use tenure::device::Device;
use tenure::present::SwapchainImage;
use tenure::{Frame, Queue, Readback, State, Subresource};

use super::targets::Targets;
use super::{Painter, Show};
use crate::{Camera, Result};

impl<D: Device> Show<D> {
    /// The camera of the next frames.
    pub(crate) const fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Sets the camera of the next frames.
    pub(crate) const fn set_camera(&mut self, camera: Camera) {
        self.camera = camera;
    }

    /// Makes render targets of another size. The old ones are dropped: tenure destroys them when the GPU has
    /// finished with them.
    pub(crate) fn resize(&mut self, size: [u32; 2], painter: &mut impl Painter<D>) -> Result<()> {
        if self.targets.size != size {
            self.targets = Targets::new(&self.gpu, size, self.targets.colour.info().format)?;
            painter.resize(&self.gpu, &self.targets)?;
        }
        Ok(())
    }

    /// Edits the world, if an edit is due, and draws it to an image of a swap chain, which has the size of the
    /// targets. Returns the copy of the image, if one is asked for.
    pub(crate) fn draw_to(
        &mut self,
        image: &SwapchainImage<D>,
        frame: &Frame<D>,
        edit: Option<usize>,
        painter: &mut impl Painter<D>,
        is_read: bool,
    ) -> Result<Option<Readback<D>>> {
        let mut recording = frame.record(Queue::Graphics, "world")?;
        if let Some(edit) = edit {
            self.edit(edit, &mut recording)?;
        }
        self.draw(&mut recording, frame.number(), painter)?;
        let (pixels, texture) = (&self.targets.pixels, image.texture());
        image.begin(&mut recording)?;
        recording.use_resource(pixels, Subresource::All, State::COPY_SRC)?;
        recording.use_resource(texture, Subresource::All, State::COPY_DST)?;
        recording.barriers();
        painter.copy(recording.raw(), pixels, texture)?;
        let read = || recording.read_back_texture(texture, texture.info().region(0, 0));
        let picture = is_read.then(read).transpose()?;
        image.finish(&mut recording)?;
        frame.submit(recording)?;
        Ok(picture)
    }
}
