//! Data for the visualizer.

use super::Allocator;
use crate::visualizer::{Memory, allocator_visualizer};

allocator_visualizer!();

impl Allocator {
    fn visualized(&self) -> Memory {
        let committed = &self.committed;
        self.engine.visualized(vec![
            format!("committed resource allocations: {}", committed.num_allocations),
            format!("total committed resource allocations: {} KiB", committed.total_size / 1024),
        ])
    }
}
