//! A cache of the driver's properties of textures, by description.

use core::fmt;
use core::hash::{BuildHasher as _, Hash, Hasher};

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::{ClearValue, TextureInfo};

/// Number of sets; a power of two.
const SETS: usize = 256;
/// Number of descriptions per set.
const WAYS: usize = 4;

/// A cache of results that depend only on a texture's description: its memory requirements, and the backend's parameters of its
/// creation.
///
/// A backend has one per device, because such queries are slow: a driver may create a texture for a query, and
/// programs create many textures of few descriptions. At most 1,024 results are kept; a further one replaces an older one,
/// which is queried again when needed. Descriptions are compared completely, with clear value and view formats, so that any
/// result derived from the description may be cached.
///
/// `Send` and `Sync` if the results are `Send`. [`get_or_ask`](Self::get_or_ask) is O(1) and, for a cached result, allocates
/// only for cloning the result; the lock is one of 256, held for the comparison and the clone, never during a query.
///
/// ```
/// use tenure::device::TextureCache;
/// use tenure::{Format, TextureDesc, Usage, error::DeviceError};
///
/// let kept = TextureCache::new();
/// let brick = TextureDesc::d2(256, 256, Format::Bc7Unorm, Usage::SHADER_READ).info;
/// let ask = || Ok::<_, DeviceError>(65_536);
/// assert_eq!(kept.get_or_ask(&brick, ask), Ok(65_536));
/// assert_eq!(kept.get_or_ask(&brick, || unreachable!("asked already")), Ok::<_, DeviceError>(65_536));
/// ```
pub struct TextureCache<T> {
    sets: Box<[Mutex<Set<T>>]>,
}

/// Descriptions with the same hash, unordered.
struct Set<T> {
    entries: Vec<(TextureInfo, T)>,
    /// Index of the entry to replace next when the set is full.
    oldest: usize,
}

impl<T> TextureCache<T> {
    /// An empty cache. Allocates memory for results on demand.
    #[must_use]
    pub fn new() -> Self {
        Self::with_sets(SETS)
    }

    /// A cache with this number of sets, a power of two.
    fn with_sets(sets: usize) -> Self {
        let empty = || Mutex::new(Set { entries: Vec::new(), oldest: 0 });
        Self { sets: std::iter::repeat_with(empty).take(sets).collect() }
    }

    /// Reads a part of the result for a description: as [`get_or_ask`](Self::get_or_ask), for callers that need a part of a
    /// large result. `read` is called under the lock, and must not call this cache.
    ///
    /// # Errors
    /// The errors of `ask`, which are not cached.
    #[inline]
    pub fn read_or_ask<R, E>(
        &self,
        info: &TextureInfo,
        read: impl FnOnce(&T) -> R,
        ask: impl FnOnce() -> Result<T, E>,
    ) -> Result<R, E> {
        let set = self.set(info);
        if let Some(answer) = set.lock().find(info) {
            return Ok(read(answer));
        }
        let answer = ask()?;
        let part = read(&answer);
        set.lock().keep(info, answer);
        Ok(part)
    }

    #[inline]
    fn set(&self, info: &TextureInfo) -> &Mutex<Set<T>> {
        // There is at least one set, and their number is a power of two.
        let hash = FxBuildHasher.hash_one(TextureKey(info));
        &self.sets[hash as usize & (self.sets.len() - 1)]
    }
}

impl<T: Clone> TextureCache<T> {
    /// The result for a description: the cached one, or the result of `ask`, which is then cached.
    ///
    /// Two threads that need a result at the same time may both call `ask`.
    ///
    /// # Errors
    /// The errors of `ask`, which are not cached.
    #[inline]
    pub fn get_or_ask<E>(&self, info: &TextureInfo, ask: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.read_or_ask(info, T::clone, ask)
    }
}

impl<T> Set<T> {
    #[inline]
    fn find(&self, info: &TextureInfo) -> Option<&T> {
        self.entries.iter().find(|(kept, _)| TextureKey(kept) == TextureKey(info)).map(|(_, answer)| answer)
    }

    #[cold]
    fn keep(&mut self, info: &TextureInfo, answer: T) {
        // Another thread may have called `ask`, too.
        if self.find(info).is_some() {
            return;
        }
        let entry = (info.clone(), answer);
        if self.entries.len() < WAYS {
            self.entries.push(entry);
        } else {
            self.entries[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % WAYS;
        }
    }
}

impl<T> Default for TextureCache<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for TextureCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextureCache").field("sets", &self.sets.len()).finish_non_exhaustive()
    }
}

/// A clear value as integers, equal if all bits are.
#[inline]
fn clear_bits(clear: Option<ClearValue>) -> [u32; 5] {
    match clear {
        None => [0; 5],
        Some(ClearValue::Color([red, green, blue, alpha])) => {
            [1, red.to_bits(), green.to_bits(), blue.to_bits(), alpha.to_bits()]
        }
        Some(ClearValue::DepthStencil(depth, stencil)) => [2, depth.to_bits(), u32::from(stencil), 0, 0],
    }
}

/// A texture's description that can be compared and hashed: clear values are equal if all bits are.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TextureKey<'a>(pub &'a TextureInfo);

impl Eq for TextureKey<'_> {}

impl PartialEq for TextureKey<'_> {
    /// The pattern names each field, so that no field is forgotten. The fields that differ most often are compared first.
    #[inline]
    fn eq(&self, Self(other): &Self) -> bool {
        let TextureInfo {
            dimension,
            width,
            height,
            depth_or_layers,
            mips,
            samples,
            format,
            usage,
            clear,
            view_formats,
        } = self.0;
        let extent = [*width, *height, *depth_or_layers, *mips, *samples];
        extent == [other.width, other.height, other.depth_or_layers, other.mips, other.samples]
            && (*format, *usage, *dimension) == (other.format, other.usage, other.dimension)
            && clear.is_some() == other.clear.is_some()
            && (clear.is_none() || clear_bits(*clear) == clear_bits(other.clear))
            && *view_formats == other.view_formats
    }
}

impl Hash for TextureKey<'_> {
    /// Hashes the fields that usually differ, in few steps; other fields only if they are set.
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self(info) = self;
        let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        hasher.write_u64(pair(info.width, info.height));
        hasher.write_u64(pair(info.depth_or_layers, info.mips));
        (info.format, info.usage, info.samples).hash(hasher);
        if info.clear.is_some() || !info.view_formats.is_empty() {
            (clear_bits(info.clear), &info.view_formats).hash(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use proptest::{collection, option, sample};

    use super::{TextureCache, WAYS, clear_bits};
    use crate::{ClearValue, Dimension, Format, TextureInfo, Usage};

    const FORMATS: [Format; 4] = [Format::Rgba8Unorm, Format::Rgba8Srgb, Format::Bc7Unorm, Format::D32Float];

    /// Values for descriptions that often differ in one field only.
    fn value() -> impl Strategy<Value = u32> {
        sample::select(vec![1, 2, 256, 257, u32::MAX])
    }

    fn clear() -> impl Strategy<Value = ClearValue> {
        let number = || sample::select(vec![0.0_f32, -0.0, 1.0, f32::NAN]);
        prop_oneof![
            number().prop_map(|red| ClearValue::Color([red, 0.0, 0.0, 1.0])),
            (number(), 0..2_u8).prop_map(|(depth, stencil)| ClearValue::DepthStencil(depth, stencil)),
        ]
    }

    fn info() -> impl Strategy<Value = TextureInfo> {
        let shape = (any::<bool>(), value(), value(), value(), value(), value());
        let format = || sample::select(FORMATS.to_vec());
        let usage = (0..4_u32).prop_map(|bits| Usage::from_bits_truncate(bits << 8));
        let rest = (format(), usage, option::of(clear()), collection::vec(format(), 0..3));
        (shape, rest).prop_map(|(shape, (format, usage, clear, view_formats))| {
            let (is_flat, width, height, depth_or_layers, mips, samples) = shape;
            let dimension = if is_flat { Dimension::D2 } else { Dimension::D3 };
            TextureInfo {
                dimension,
                width,
                height,
                depth_or_layers,
                mips,
                samples,
                format,
                usage,
                clear,
                view_formats,
            }
        })
    }

    /// A complete text of a description, different for different descriptions.
    fn words(info: &TextureInfo) -> String {
        format!("{info:?} {:?}", clear_bits(info.clear))
    }

    proptest! {
        /// With one set all descriptions collide, with a few sets most do.
        #[test]
        fn an_answer_is_that_of_its_description(
            infos in collection::vec(info(), 1..60),
            log_sets in 0..3_u32,
        ) {
            let kept = TextureCache::with_sets(1 << log_sets);
            for info in &infos {
                let answer = kept.get_or_ask(info, || Ok::<_, ()>(words(info)));
                prop_assert_eq!(answer, Ok(words(info)));
            }
            let entries: usize = kept.sets.iter().map(|set| set.lock().entries.len()).sum();
            prop_assert!(entries <= WAYS << log_sets);
        }
    }

    fn flat(side: u32) -> TextureInfo {
        TextureInfo {
            dimension: Dimension::D2,
            width: side,
            height: 1,
            depth_or_layers: 1,
            mips: 1,
            samples: 1,
            format: Format::R8Unorm,
            usage: Usage::SHADER_READ,
            clear: None,
            view_formats: Vec::new(),
        }
    }

    #[test]
    fn answers_are_kept_until_they_are_replaced() {
        let kept = TextureCache::with_sets(1);
        let asked = Cell::new(0);
        let ask = |side: u32| {
            let info = flat(side);
            let answer = kept.get_or_ask(&info, || {
                asked.set(asked.get() + 1);
                Ok::<_, ()>(side)
            });
            assert_eq!(answer, Ok(side));
            asked.get()
        };
        (1..=4).for_each(|side| assert_eq!(ask(side), side));
        (1..=4).for_each(|side| assert_eq!(ask(side), 4, "{side} is kept"));
        assert_eq!(ask(5), 5, "it takes the place of the oldest");
        (2..=5).for_each(|side| assert_eq!(ask(side), 5, "{side} is kept"));
        assert_eq!(ask(1), 6, "the oldest is asked about again");
    }

    #[test]
    fn a_refusal_is_not_kept() {
        let kept = TextureCache::new();
        let info = flat(4);
        assert_eq!(kept.get_or_ask(&info, || Err("lost")), Err("lost"));
        assert_eq!(kept.get_or_ask(&info, || Ok::<_, &str>(1)), Ok(1));
        assert_eq!(kept.get_or_ask(&info, || Err("lost")), Ok(1));
    }
}
