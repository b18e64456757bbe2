//! Allocating and freeing in a steady state, for each allocator: `cargo bench -p bench`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tenure_suballoc::{
    BlockSuballocator, Buddy, General, GeneralBlocks, Growing, Linear, Ring, Slots, Suballocator,
};
use test_random::Rng;

const CAPACITY: u64 = 64 << 20;
const LIVE: usize = 1_000;

/// A random size from 256 bytes to 33,023.
fn size(rng: &mut Rng) -> u64 {
    256 + rng.below(32 << 10)
}

/// Frees the oldest of a thousand and allocates another, with an allocator that is a closure pair.
fn replace_oldest<A, H: Copy>(
    criterion: &mut Criterion,
    name: &str,
    mut allocator: A,
    allocate: impl Fn(&mut A, u64) -> Option<H>,
    free: impl Fn(&mut A, H),
) {
    let mut rng = Rng::new(1);
    let live = (0..LIVE).filter_map(|_| allocate(&mut allocator, size(&mut rng)));
    let mut live: Vec<H> = live.collect();
    let mut oldest = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            free(&mut allocator, live[oldest]);
            if let Some(new) = allocate(&mut allocator, black_box(size(&mut rng))) {
                live[oldest] = new;
            }
            oldest = (oldest + 1) % live.len();
        });
    });
}

fn one_range<A: Suballocator>(criterion: &mut Criterion, name: &str, allocator: A) {
    let allocate = |a: &mut A, size| a.allocate(size, 256).ok().map(|new| new.handle);
    replace_oldest(criterion, name, allocator, allocate, |a, handle| {
        black_box(a.free(handle).is_ok());
    });
}

fn blocks<A: BlockSuballocator>(criterion: &mut Criterion, name: &str, mut allocator: A) {
    for _ in 0..16 {
        black_box(allocator.add_block(CAPACITY / 16).is_ok());
    }
    let allocate = |a: &mut A, size| a.allocate(size, 256).ok().map(|new| new.handle);
    replace_oldest(criterion, name, allocator, allocate, |a, handle| {
        black_box(a.free(handle).is_ok());
    });
}

fn free_and_allocate(criterion: &mut Criterion) {
    if let Ok(general) = General::new(CAPACITY, 256) {
        one_range(criterion, "General: free, allocate", general);
    }
    if let Ok(buddy) = Buddy::new(CAPACITY) {
        one_range(criterion, "Buddy: free, allocate", buddy);
    }
    if let Ok(set) = GeneralBlocks::new(256) {
        blocks(criterion, "GeneralBlocks: free, allocate", set);
    }
    let buddies = Growing::new(Buddy::new);
    blocks(criterion, "Growing<Buddy>: free, allocate", buddies);
    if let Ok(slots) = Slots::new(1_000_000) {
        let allocate =
            |a: &mut Slots, size: u64| a.allocate(1 + (size % 16) as u32).ok().map(|new| new.handle);
        replace_oldest(criterion, "Slots: free, allocate", slots, allocate, |a, handle| {
            black_box(a.free(handle).is_ok());
        });
    }
}

fn by_frame(criterion: &mut Criterion) {
    criterion.bench_function("Linear: 1000 allocations, reset", |bencher| {
        let mut linear = Linear::new(CAPACITY);
        bencher.iter(|| {
            let mut rng = Rng::new(1);
            for _ in 0..LIVE {
                black_box(linear.allocate(size(&mut rng), 256));
            }
            linear.reset();
        });
    });
    criterion.bench_function("Ring: 1000 allocations, close, release", |bencher| {
        let mut ring = Ring::new(CAPACITY);
        bencher.iter(|| {
            let mut rng = Rng::new(1);
            for _ in 0..LIVE {
                black_box(ring.allocate(size(&mut rng), 256));
            }
            ring.close(());
            ring.release_while(|()| true);
        });
    });
}

fn blocks_come_and_go(criterion: &mut Criterion) {
    criterion.bench_function("GeneralBlocks: add and remove a block", |bencher| {
        let make = || GeneralBlocks::new(256);
        bencher.iter_batched_ref(
            make,
            |set| {
                if let Ok(set) = set
                    && let Ok(id) = set.add_block(CAPACITY)
                {
                    black_box(set.remove_block(id).is_ok());
                }
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, free_and_allocate, by_frame, blocks_come_and_go);
criterion_main!(benches);
