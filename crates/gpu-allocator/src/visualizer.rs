//! What the original draws with `egui` 0.24 to 0.27, and this crate does not: the names are there for the
//! compiler to say so.

/// There is none: print [`AllocatorReport`](crate::AllocatorReport) instead.
///
/// ```compile_fail
/// # #[cfg(feature = "vulkan")]
/// let visualizer = gpu_allocator::vulkan::AllocatorVisualizer::new();
/// # #[cfg(not(feature = "vulkan"))]
/// # compile_error!();
/// ```
#[deprecated(note = "tenure's drop-in for gpu-allocator draws nothing: print `Allocator::generate_report()`")]
#[derive(Debug)]
pub enum AllocatorVisualizer {}

/// There is none, as nothing is drawn.
#[deprecated(note = "tenure's drop-in for gpu-allocator draws nothing: print `Allocator::generate_report()`")]
#[derive(Debug)]
pub enum ColorScheme {}
