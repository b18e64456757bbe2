//! Data for drawing an allocator's content.

use super::Allocator;
use crate::visualizer::{Memory, allocator_visualizer};

allocator_visualizer!();

impl Allocator {
    /// The data that the visualizer draws.
    fn visualized(&self) -> Memory {
        let committed = &self.committed;
        self.engine.visualized(vec![
            format!("committed resource allocations: {}", committed.num_allocations),
            format!("total committed resource allocations: {} KiB", committed.total_size / 1024),
        ])
    }
}
