//! Lazily allocated bytes of memory that any thread may access concurrently.
//!
//! A radix tree of 4 KiB pages, like an MMU's: 512 pages to a leaf (2 MiB), 512 leaves to a branch (1 GiB),
//! branches in a root that is itself made on first touch. Pages contain relaxed atomics, so that concurrent
//! writes to the same bytes leave a mixture and never undefined behaviour, exactly like mapped GPU memory.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const PAGE: u64 = 4096;
const WORDS: usize = 512;
const FANOUT: u64 = 512;
const LEAF: u64 = PAGE * FANOUT;
const BRANCH: u64 = LEAF * FANOUT;

/// The largest size the tree is made for, so that its root stays small: 16 TiB.
pub(crate) const MAX_BYTES: u64 = 1 << 44;

type Page = Box<[AtomicU64]>;
type Table<T> = Box<[OnceLock<T>]>;

fn table<T>(entries: u64) -> Table<T> {
    (0..entries).map(|_| OnceLock::new()).collect()
}

/// A range of memory. All offsets given to it are inside it: callers check.
pub(crate) struct Bytes {
    size: u64,
    fill: u8,
    root: OnceLock<Table<Table<Table<Page>>>>,
}

impl Bytes {
    /// `size` bytes, at most [`MAX_BYTES`], each reading as `fill` until written. O(1).
    pub(crate) const fn new(size: u64, fill: u8) -> Self {
        Self { size, fill, root: OnceLock::new() }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(room_in_page(at)));
            write_words(self.page(at), in_page(at), now);
            at += now.len() as u64;
            rest = later;
        }
    }

    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let mut rest = out;
        let mut at = offset;
        while !rest.is_empty() {
            let taken = rest.len().min(room_in_page(at));
            let (now, later) = rest.split_at_mut(taken);
            match self.page_if_touched(at) {
                Some(page) => read_words(page, in_page(at), now),
                None => now.fill(self.fill),
            }
            at += taken as u64;
            rest = later;
        }
    }

    /// Sets `size` bytes. Untouched pages that read as `byte` anyway stay untouched.
    pub(crate) fn fill(&self, offset: u64, size: u64, byte: u8) {
        let pattern = [byte; PAGE as usize];
        let mut at = offset;
        let mut left = size;
        while left > 0 {
            let taken = left.min(room_in_page(at) as u64);
            if byte != self.fill || self.page_if_touched(at).is_some() {
                write_words(self.page(at), in_page(at), &pattern[..taken as usize]);
            }
            at += taken;
            left -= taken;
        }
    }

    fn page_if_touched(&self, at: u64) -> Option<&Page> {
        let branch = self.root.get()?.get((at / BRANCH) as usize)?.get()?;
        let leaf = branch[(at % BRANCH / LEAF) as usize].get()?;
        leaf[(at % LEAF / PAGE) as usize].get()
    }

    fn page(&self, at: u64) -> &Page {
        // Tables of a small range are cut to its size: most committed buffers are one page.
        let root = self.root.get_or_init(|| table(self.size.div_ceil(BRANCH)));
        let branch_start = at - at % BRANCH;
        let branch = root[(at / BRANCH) as usize]
            .get_or_init(|| table((self.size - branch_start).div_ceil(LEAF).min(FANOUT)));
        let leaf_start = at - at % LEAF;
        let leaf = branch[(at % BRANCH / LEAF) as usize]
            .get_or_init(|| table((self.size - leaf_start).div_ceil(PAGE).min(FANOUT)));
        leaf[(at % LEAF / PAGE) as usize].get_or_init(|| {
            let word = u64::from_le_bytes([self.fill; 8]);
            (0..WORDS).map(|_| AtomicU64::new(word)).collect()
        })
    }
}

const fn in_page(at: u64) -> usize {
    (at % PAGE) as usize
}

const fn room_in_page(at: u64) -> usize {
    PAGE as usize - in_page(at)
}

fn write_words(page: &[AtomicU64], start: usize, bytes: &[u8]) {
    let head = bytes.len().min((8 - start % 8) % 8);
    let (head, body) = bytes.split_at(head);
    if !head.is_empty() {
        write_part(&page[start / 8], start % 8, head);
    }
    let first = (start + head.len()) / 8;
    let (words, tail) = body.as_chunks::<8>();
    for (slot, word) in page[first..].iter().zip(words) {
        slot.store(u64::from_le_bytes(*word), Relaxed);
    }
    if !tail.is_empty() {
        write_part(&page[first + words.len()], 0, tail);
    }
}

/// Writes fewer than eight bytes and leaves the rest of the word to concurrent writes.
fn write_part(slot: &AtomicU64, at: usize, bytes: &[u8]) {
    let mut value = [0; 8];
    let mut mask = [0; 8];
    value[at..at + bytes.len()].copy_from_slice(bytes);
    mask[at..at + bytes.len()].fill(0xFF);
    let (value, mask) = (u64::from_le_bytes(value), u64::from_le_bytes(mask));
    let mut old = slot.load(Relaxed);
    while let Err(newer) = slot.compare_exchange_weak(old, old & !mask | value, Relaxed, Relaxed) {
        old = newer;
    }
}

fn read_words(page: &[AtomicU64], start: usize, out: &mut [u8]) {
    let head = out.len().min((8 - start % 8) % 8);
    let (head, body) = out.split_at_mut(head);
    if !head.is_empty() {
        read_part(&page[start / 8], start % 8, head);
    }
    let first = (start + head.len()) / 8;
    let (words, tail) = body.as_chunks_mut::<8>();
    for (slot, word) in page[first..].iter().zip(words.iter_mut()) {
        *word = slot.load(Relaxed).to_le_bytes();
    }
    if !tail.is_empty() {
        read_part(&page[first + words.len()], 0, tail);
    }
}

fn read_part(slot: &AtomicU64, at: usize, out: &mut [u8]) {
    let word = slot.load(Relaxed).to_le_bytes();
    out.copy_from_slice(&word[at..at + out.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tebibyte_costs_nothing_and_holds_written_bytes() {
        let memory = Bytes::new(1 << 40, 0xCD);
        memory.write((1 << 40) - 5, b"hello");
        let mut out = [0; 7];
        memory.read((1 << 40) - 7, &mut out);
        assert_eq!(&out, b"\xCD\xCDhello");
    }

    #[derive(Clone, Debug)]
    enum Op {
        Write(usize, Vec<u8>),
        Fill(usize, usize, u8),
    }

    fn op() -> impl Strategy<Value = Op> {
        let at = 0_usize..12_000;
        prop_oneof![
            (at.clone(), prop::collection::vec(any::<u8>(), 0..5000))
                .prop_map(|(at, bytes)| Op::Write(at, bytes)),
            (at, 0_usize..9000, any::<u8>()).prop_map(|(at, size, byte)| Op::Fill(at, size, byte)),
        ]
    }

    proptest! {
        #[test]
        fn same_as_a_vec(ops in prop::collection::vec(op(), 1..40)) {
            let memory = Bytes::new(20_001, 7);
            let mut oracle = vec![7_u8; 20_001];
            for op in ops {
                match op {
                    Op::Write(at, bytes) => {
                        memory.write(at as u64, &bytes);
                        oracle[at..at + bytes.len()].copy_from_slice(&bytes);
                    }
                    Op::Fill(at, size, byte) => {
                        let size = size.min(oracle.len() - at);
                        memory.fill(at as u64, size as u64, byte);
                        oracle[at..at + size].fill(byte);
                    }
                }
            }
            let mut out = vec![0; 20_000];
            memory.read(1, &mut out);
            prop_assert_eq!(&out[..], &oracle[1..]);
        }
    }
}
