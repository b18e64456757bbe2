//! Data for the visualizer.

use super::Allocator;
use crate::visualizer::{Memory, allocator_visualizer};

allocator_visualizer!();

impl Allocator {
    fn visualized(&self) -> Memory {
        let granularity = self.engine.device().granularity();
        self.engine.visualized(vec![format!("buffer image granularity: {granularity}")])
    }
}
