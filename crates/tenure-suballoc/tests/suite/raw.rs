//! Handles as plain values, which a caller in another language may get wrong.

use tenure_suballoc::{Allocation, Buddy, FreeError, General, Handle, Suballocator};

/// Tries values around those of live handles: each that is accepted is the handle of a live allocation.
fn accepts_live_handles_only<A: Suballocator>(
    allocator: &mut A,
    live_handle: impl Fn(&A, [u64; 2]) -> Result<Handle, FreeError>,
) {
    let ranges: Vec<Allocation> = (1..=8).map(|size| allocator.allocate(size * 256, 256).unwrap()).collect();
    for range in ranges.iter().step_by(2) {
        allocator.free(range.handle).unwrap();
        assert_eq!(live_handle(allocator, range.handle.to_raw()), Err(FreeError::DoubleFree));
    }
    let live: Vec<Handle> = allocator.allocations().map(|range| range.handle).collect();
    let [_, proof] = live[0].to_raw();
    let owner = proof & u64::MAX << 32;
    let mut accepted = Vec::new();
    for place in (0..64).chain([1 << 32, u64::MAX]) {
        for tag in (0..256).chain([u64::from(u32::MAX)]) {
            if let Ok(handle) = live_handle(allocator, [place, owner | tag]) {
                accepted.push(handle);
            }
            assert_eq!(live_handle(allocator, [place, tag]), Err(FreeError::Foreign));
        }
    }
    assert_eq!(accepted.len(), live.len());
    for handle in accepted {
        assert!(live.contains(&handle));
        allocator.free(handle).unwrap();
        allocator.validate().unwrap();
    }
    assert!(allocator.is_empty());
}

#[test]
fn values_of_no_live_allocation_are_refused() {
    accepts_live_handles_only(&mut General::new(1 << 20, 256).unwrap(), General::live_handle);
    accepts_live_handles_only(&mut Buddy::new(1 << 20).unwrap(), Buddy::live_handle);
}
