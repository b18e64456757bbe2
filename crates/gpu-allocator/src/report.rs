//! Reports on an allocator's content, for display.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

/// A live allocation.
#[derive(Clone)]
pub struct AllocationReport {
    /// Its name.
    pub name: String,
    /// Bytes from the start of its block.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// A block of memory.
#[derive(Clone)]
pub struct MemoryBlockReport {
    /// Bytes.
    pub size: u64,
    /// The range of its live allocations in [`AllocatorReport::allocations`].
    pub allocations: Range<usize>,
}

/// The content of an allocator.
#[derive(Clone)]
pub struct AllocatorReport {
    /// The live allocations, block by block.
    pub allocations: Vec<AllocationReport>,
    /// The blocks.
    pub blocks: Vec<MemoryBlockReport>,
    /// Bytes of live allocations.
    pub total_allocated_bytes: u64,
    /// Bytes of all blocks.
    pub total_capacity_bytes: u64,
}

impl fmt::Debug for AllocationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "--" } else { &self.name };
        write!(f, "{name:?}: {}", Bytes(self.size))
    }
}

/// Lists the largest allocations first; a precision (`{:.10?}`) limits their number.
impl fmt::Debug for AllocatorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut largest: Vec<&AllocationReport> = self.allocations.iter().collect();
        largest.sort_by_key(|found| Reverse(found.size));
        largest.truncate(f.precision().unwrap_or(usize::MAX));
        let (allocated, capacity) = (Bytes(self.total_allocated_bytes), Bytes(self.total_capacity_bytes));
        f.debug_struct("AllocatorReport")
            .field("summary", &format_args!("{allocated} / {capacity}"))
            .field("blocks", &self.blocks.len())
            .field("allocations", &self.allocations.len())
            .field("largest", &largest)
            .finish()
    }
}

/// Formats bytes in the largest unit with a value of at least 1.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 4] = [("TB", 40), ("GB", 30), ("MB", 20), ("KB", 10)];
        let unit = UNITS.into_iter().find(|(_, shift)| self.0 >> shift > 0);
        let (name, shift) = unit.unwrap_or(("B", 0));
        write!(f, "{:.2} {name}", self.0 as f64 / (1_u64 << shift) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first() {
        let named = |name: &str, size| AllocationReport { name: name.to_owned(), offset: 0, size };
        let report = AllocatorReport {
            allocations: vec![named("small", 5), named("", 3 << 20)],
            blocks: vec![MemoryBlockReport { size: 4 << 20, allocations: 0..2 }],
            total_allocated_bytes: (3 << 20) + 5,
            total_capacity_bytes: 4 << 20,
        };
        let text = format!("{report:?}");
        assert!(text.contains("3.00 MB / 4.00 MB"), "{text}");
        assert!(text.contains(r#"largest: ["--": 3.00 MB, "small": 5.00 B]"#), "{text}");
        assert!(!format!("{report:.1?}").contains("small"));
    }
}
