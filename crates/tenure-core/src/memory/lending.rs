//! How much the first shard lends another at once.

/// A piece is about this part of what the borrower has. What is still empty of it is not lost: others fill
/// its holes before memory is asked for. Many small pieces are worse, because none is packed across its ends.
const PART: u64 = 16;

/// Bytes; the smallest piece to begin with, and the largest.
const LEAST: u64 = 64 << 10;
const MOST: u64 = 8 << 20;

/// A piece serves at least so many requests like the one that it is taken for, where blocks are large enough.
const REQUESTS: u64 = 4;

/// The sizes of pieces to try for a request of `size` bytes, in bytes, best first: powers of two, down to
/// what is hardly worth it. `taken` is what the borrower has in use, `block` how large blocks can be.
pub(super) fn pieces(taken: u64, size: u64, block: u64) -> impl Iterator<Item = u64> {
    let most = MOST.min(block).max(1);
    let least = size.saturating_mul(REQUESTS).clamp(LEAST / 4, MOST).next_power_of_two().min(most);
    let wanted = (taken / PART).clamp(LEAST, MOST).next_power_of_two().min(most).max(least);
    std::iter::successors(Some(wanted), |piece| Some(piece / 2)).take_while(move |piece| *piece >= least)
}

#[cfg(test)]
mod tests {
    use super::pieces;

    fn all(taken: u64, size: u64) -> Vec<u64> {
        pieces(taken, size, 32 << 20).collect()
    }

    #[test]
    fn pieces_follow_what_the_borrower_has() {
        assert_eq!(all(0, 100), [64 << 10, 32 << 10, 16 << 10]);
        assert_eq!(all(2 << 20, 20_000), [128 << 10]);
        assert_eq!(all(4 << 20, 20_000), [256 << 10, 128 << 10]);
        assert_eq!(all(u64::MAX, 1 << 20)[0], 8 << 20, "but they stay pieces");
    }

    #[test]
    fn a_piece_serves_several_requests() {
        for size in [1, 4095, 4096, 20_000, 65_535] {
            for taken in [0, 1 << 20, 1 << 40] {
                let sizes = all(taken, size);
                assert!(!sizes.is_empty());
                for piece in sizes {
                    assert!(piece >= 4 * size && piece.is_power_of_two(), "{piece} for {size}");
                }
            }
        }
    }

    #[test]
    fn a_small_block_is_lent_whole() {
        assert_eq!(pieces(0, 40_000, 64 << 10).collect::<Vec<_>>(), [64 << 10]);
        assert_eq!(pieces(1 << 30, 100, 64 << 10).collect::<Vec<_>>(), [64 << 10, 32 << 10, 16 << 10]);
    }
}
