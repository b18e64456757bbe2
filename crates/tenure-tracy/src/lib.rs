//! Plots of tenure's memory in the profiler Tracy.
//!
//! ```no_run
//! # fn example(gpu: &tenure_core::Gpu<tenure_sim::Device>) -> Result<(), tenure_core::Error> {
//! let plots = tenure_tracy::Plots::start();
//! loop {
//!     let frame = gpu.begin_frame()?;
//!     // Draw.
//!     frame.end()?;
//!     plots.plot(gpu);
//! }
//! # }
//! ```

use std::fmt;
use std::sync::OnceLock;

use tenure_core::{Gpu, HeapMemory, device};
use tracy_client::{Client, PlotConfiguration, PlotFormat, PlotName};

/// The most memory heaps that are plotted: as many as Vulkan allows. Direct3D 12 has fewer.
const HEAPS: usize = 16;

/// The plots of a heap, in bytes.
const CURVES: [&str; 3] = ["live", "reserved", "budget"];

/// Tracy's client, with a plot for each curve of each memory heap: `heap 0: live`, `heap 0: reserved`,
/// `heap 0: budget` and so on, in bytes.
///
/// Clones of the client are one; so a program may start several of these, which plot to the same curves.
pub struct Plots {
    client: Client,
}

impl fmt::Debug for Plots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plots").finish_non_exhaustive()
    }
}

impl Plots {
    /// Starts Tracy's client, if the program has not.
    ///
    /// From then on the process listens for a profiler on a port, as Tracy's manual describes. Any thread.
    #[must_use]
    pub fn start() -> Self {
        let client = Client::start();
        let bytes = || PlotConfiguration::default().format(PlotFormat::Memory);
        names().iter().flatten().for_each(|name| client.plot_config(*name, bytes()));
        Self { client }
    }

    /// Adds a point to each plot; best after the end of each frame. Where the system tells no budget of a heap, that
    /// curve has no point.
    ///
    /// Cost: that of [`Gpu::memory`], which asks the operating system at most once a frame, and some 20 ns a plot. Any
    /// thread.
    pub fn plot<D: device::Device>(&self, gpu: &Gpu<D>) {
        for (names, heap) in names().iter().zip(&gpu.memory().heaps) {
            for (name, value) in names.iter().zip(values(heap)) {
                if let Some(bytes) = value {
                    self.client.plot(*name, bytes as f64);
                }
            }
        }
    }
}

/// The values of a heap, in the order of [`CURVES`]. Live bytes are those allocated from pools, and committed resources.
fn values(heap: &HeapMemory) -> [Option<u64>; 3] {
    let reserved = heap.ours.total();
    let live = reserved.saturating_sub(heap.ours.pools.saturating_sub(heap.used));
    [Some(live), Some(reserved), heap.budget]
}

/// The plots of each heap, made and configured once for a process: Tracy never frees names.
fn names() -> &'static [[PlotName; 3]; HEAPS] {
    static NAMES: OnceLock<[[PlotName; 3]; HEAPS]> = OnceLock::new();
    NAMES.get_or_init(|| {
        std::array::from_fn(|heap| CURVES.map(|curve| PlotName::new_leak(format!("heap {heap}: {curve}"))))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use tenure_core::{BufferDesc, Config, Gpu, Usage};
    use tenure_sim::{Device, Profile};

    use super::{Plots, values};

    #[test]
    fn the_curves_are_the_heap() {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        let pooled = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX)).unwrap();
        let alone = gpu.create_buffer(&BufferDesc::new(64 << 20, Usage::VERTEX)).unwrap();
        let heap = gpu.memory().heaps[0].clone();
        let [live, reserved, budget] = values(&heap);
        assert_eq!(live, Some(4096 + (64 << 20)));
        assert_eq!((reserved, budget), (Some(heap.ours.total()), heap.budget));
        assert!(reserved > live && budget > reserved, "{heap:?}");
        drop((pooled, alone));
        let [live, ..] = values(&gpu.memory().heaps[0]);
        assert!(live <= Some(4096 + (64 << 20)), "{live:?}");
    }

    /// With the real client, which nobody listens to.
    #[test]
    fn points_are_taken_without_a_connected_profiler() {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        let plots = Plots::start();
        for _ in 0..100 {
            gpu.begin_frame().unwrap().end().unwrap();
            plots.plot(&gpu);
        }
        assert!(gpu.shutdown().is_clean());
    }
}
