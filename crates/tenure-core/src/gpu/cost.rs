//! Cost of an allocation, without making it.

use super::Gpu;
use crate::device::Device;
use crate::memory::Cost;
use crate::{Buffer, BufferDesc, Error, Texture, TextureDesc};

impl<D: Device> Gpu<D> {
    /// The cost of [`create_buffer`](Self::create_buffer), without the allocation: the location of the buffer, the bytes that
    /// the driver would be asked for, and whether they are within the budget.
    ///
    /// The result is valid at this moment only: another thread may take the room meanwhile, and the driver may refuse.
    /// O(blocks) at most; the device is asked for the requirements of the buffer, and once a frame for the budget.
    ///
    /// # Errors
    /// The errors of `create_buffer`, except for a shortage.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = BufferDesc::new(48 * 1024, Usage::VERTEX);
    /// let cost = gpu.buffer_cost(&rock)?;
    /// assert!(cost.new_bytes >= 48 * 1024 && cost.is_within_budget);
    ///
    /// let first = gpu.create_buffer(&rock)?;
    /// assert_eq!(gpu.stats().reserved, cost.new_bytes);
    /// assert_eq!(gpu.buffer_cost(&BufferDesc::new(1024, Usage::VERTEX))?.new_bytes, 0, "beside the first");
    /// # drop(first);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn buffer_cost(&self, desc: &BufferDesc) -> Result<Cost, Error> {
        let _call = self.shared.call()?;
        Buffer::cost(&self.shared.context, desc)
    }

    /// The cost of [`create_texture`](Self::create_texture); as [`buffer_cost`](Self::buffer_cost).
    ///
    /// # Errors
    /// The errors of `create_texture`, except for a shortage.
    ///
    /// ```
    /// use tenure::{Config, Format, Gpu, TextureDesc, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// gpu.device().set_budget(0, 4 << 20)?;
    /// let sky = TextureDesc::d2(2048, 2048, Format::Rgba16Float, Usage::RENDER_TARGET);
    /// let cost = gpu.texture_cost(&sky)?;
    /// assert_eq!((cost.size, cost.heap, cost.is_within_budget), (32 << 20, 0, false));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn texture_cost(&self, desc: &TextureDesc) -> Result<Cost, Error> {
        let _call = self.shared.call()?;
        Texture::cost(&self.shared.context, desc)
    }
}
