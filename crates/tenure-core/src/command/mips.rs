//! Mips that a list fills itself.

use super::Commands;
use crate::Error;
use crate::device::{CommandList, Device, State, Subresource, check};
use crate::resource::{Subresources, Texture, Used, indices};

impl<D: Device> Commands<D> {
    /// Fills mips of a texture from larger ones, barriers included: the first mip of `part` is the source, and each further mip
    /// of it is filled from the one before, in all its layers, with a linear filter. On Vulkan these are blits.
    ///
    /// A mip with even sides is the average of 2 × 2 texels (2 × 2 × 2 in a volume). A side is halved and rounded down; along an
    /// odd side the filter reads two of about three texels, so sides that are powers of two give the best result. Colours in
    /// sRGB are averaged in linear space. The texture needs [`Usage::COPY_SRC`](crate::Usage::COPY_SRC) and
    /// [`Usage::COPY_DST`](crate::Usage::COPY_DST). Its last mip is left in [`State::COPY_DST`], the others of `part` in
    /// [`State::COPY_SRC`]; declare the next use as always. A part of one mip has no effect.
    ///
    /// Direct3D 12 has no such command: upload all mips there ([`Gpu::create_texture_with`](crate::Gpu::create_texture_with)),
    /// or fill them in a compute pass. Ask [`Gpu::generates_mips`](crate::Gpu::generates_mips) first. Takes time linear in the
    /// number of mips and layers.
    ///
    /// # Errors
    /// [`Error::Device`] with [`DeviceError::UnsupportedFormat`](crate::DeviceError::UnsupportedFormat) where the device has no
    /// linear blits for the format: on Direct3D 12, and for depth, integers and compressed formats. [`Error::Device`] on queues
    /// without graphics; otherwise as [`use_resource`](Self::use_resource). Nothing is recorded then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{
    ///     Config, Format, Gpu, Queue, Subresources, TextureDesc, Usage, resource::TexelData, sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_AMD_SMALL_BAR), Config::default())?;
    /// let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    /// let desc = TextureDesc::d2(2, 2, Format::R8Unorm, usage).mips(2);
    /// let rock = gpu.create_texture(&desc)?;
    /// gpu.upload_texture(&rock, rock.info().region(0, 0), TexelData::new(&[10, 20, 30, 40]))?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "mips")?;
    /// recording.generate_mips(&rock, Subresources::ALL)?;
    /// let texels = recording.read_back_texture(&rock, rock.info().region(1, 0))?;
    /// frame.submit(recording)?;
    /// frame.end()?;
    /// assert_eq!(texels.wait(Duration::from_secs(1))?, [25]);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn generate_mips(
        &mut self,
        texture: &Texture<D>,
        part: impl Into<Subresources>,
    ) -> Result<(), Error> {
        let (used, info) = (Used::from(texture), texture.info());
        let [mips, layers] = part.into().ranges(info).map_err(|source| used.refuse(source))?;
        let filled = mips.start.saturating_add(1)..mips.end;
        if filled.is_empty() || layers.is_empty() {
            return Ok(());
        }
        let generates = self.services.context.device().generates_mips(info.format);
        let kind = self.open.tracker.queue_kind();
        check::mip_generation(info, (filled.start, &layers), kind, generates)
            .map_err(|source| Error::device(texture.name(), source))?;
        self.barriers();
        let of_mips = info.mips;
        for part in indices(mips.start..mips.end - 1, layers.clone(), of_mips) {
            self.check(&used, part, State::COPY_SRC)?;
        }
        for part in indices(filled.clone(), layers.clone(), of_mips) {
            self.check(&used, part, State::COPY_DST)?;
        }
        let place = self.check(&used, Subresource::One(filled.start), State::COPY_DST)?;
        self.enter(&place);
        for mip in filled {
            for part in indices(mip - 1..mip, layers.clone(), of_mips) {
                self.open.note(place.api_resource(), part, State::COPY_SRC);
            }
            for part in indices(mip..mip + 1, layers.clone(), of_mips) {
                self.open.note(place.api_resource(), part, State::COPY_DST);
            }
            self.barriers();
            self.open.list().generate_mip(place.object(), mip, layers.clone());
        }
        Ok(())
    }
}
