//! The settings to try, and their values.

use tenure::{
    Config,
    config::{Strategy, UploadSuballocator},
};

use crate::compare::STRATEGIES;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The notation of a setting's value in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Number,
    Bytes,
    Strategy,
    Suballocator,
}

/// A field of the configuration. Values that are not numbers are indices of variants.
pub(super) struct Setting {
    /// The part of [`Config`].
    pub(super) part: &'static str,
    /// The type of the part.
    pub(super) part_type: &'static str,
    pub(super) field: &'static str,
    pub(super) notation: Notation,
    pub(super) get: fn(&Config) -> u64,
    pub(super) set: fn(&mut Config, u64),
    /// The values to try, in addition to the default. Empty for settings fixed by the program's arguments.
    pub(super) values: &'static [u64],
}

macro_rules! setting {
    ($part:ident . $field:ident: $type:literal, $notation:ident, $values:expr) => {
        Setting {
            part: stringify!($part),
            part_type: $type,
            field: stringify!($field),
            notation: Notation::$notation,
            get: |config| u64::from(config.$part.$field),
            // Every value is from the list.
            set: |config, value| config.$part.$field = value.try_into().unwrap_or_default(),
            values: &$values,
        }
    };
}

const SUBALLOCATORS: [UploadSuballocator; 2] = [UploadSuballocator::General, UploadSuballocator::Buddy];

/// All settings, in the order of the search. Pool shards are not among them, because a replay has one thread.
pub(super) const SETTINGS: [Setting; 12] = [
    Setting {
        part: "pools",
        part_type: "PoolConfig",
        field: "strategy",
        notation: Notation::Strategy,
        get: |config| position(&STRATEGIES, config.pools.strategy),
        set: |config, value| config.pools.strategy = variant(&STRATEGIES, value),
        values: &[0, 1, 2],
    },
    setting!(pools.growth_divisor: "PoolConfig", Number, [4, 8, 16, 32, 64]),
    setting!(pools.min_block: "PoolConfig", Bytes, [64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB, 4 * MIB]),
    setting!(pools.max_buffer_block: "PoolConfig", Bytes, [16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB]),
    setting!(pools.max_texture_block: "PoolConfig", Bytes, [16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB]),
    setting!(pools.max_pooled_buffer: "PoolConfig", Bytes, [MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB]),
    setting!(pools.small_buffer_slot: "PoolConfig", Bytes, [64 * KIB, 128 * KIB, 256 * KIB, MIB]),
    setting!(frames.idle: "FrameConfig", Number, [2, 4, 8, 16, 32, 64, 256]),
    setting!(frames.in_flight: "FrameConfig", Number, []),
    Setting {
        part: "uploads",
        part_type: "UploadConfig",
        field: "suballocator",
        notation: Notation::Suballocator,
        get: |config| position(&SUBALLOCATORS, config.uploads.suballocator),
        set: |config, value| config.uploads.suballocator = variant(&SUBALLOCATORS, value),
        values: &[0, 1],
    },
    setting!(uploads.max_pooled: "UploadConfig", Bytes, [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB]),
    setting!(uploads.max_small: "UploadConfig", Bytes, [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB]),
];

fn position<T: PartialEq>(variants: &[T], wanted: T) -> u64 {
    variants.iter().position(|variant| *variant == wanted).unwrap_or_default() as u64
}

fn variant<T: Copy + Default>(variants: &[T], number: u64) -> T {
    usize::try_from(number).ok().and_then(|number| variants.get(number)).copied().unwrap_or_default()
}

impl Setting {
    /// The path of the field, as in errors about configurations.
    pub(super) fn path(&self) -> String {
        format!("{}.{}", self.part, self.field)
    }

    /// A value in Rust.
    pub(super) fn written(&self, value: u64) -> String {
        match self.notation {
            Notation::Number => value.to_string(),
            Notation::Bytes if value > 0 && value.is_multiple_of(MIB) => format!("{} << 20", value / MIB),
            Notation::Bytes if value > 0 && value.is_multiple_of(KIB) => format!("{} << 10", value / KIB),
            Notation::Bytes => value.to_string(),
            Notation::Strategy => format!("Strategy::{:?}", variant::<Strategy>(&STRATEGIES, value)),
            Notation::Suballocator => {
                format!("UploadSuballocator::{:?}", variant::<UploadSuballocator>(&SUBALLOCATORS, value))
            }
        }
    }
}

/// The values of all settings.
pub(super) fn values(config: &Config) -> Vec<u64> {
    SETTINGS.iter().map(|setting| (setting.get)(config)).collect()
}

/// The settings that differ between two configurations, with both values.
pub(super) fn changes<'a>(
    from: &'a Config,
    to: &'a Config,
) -> impl Iterator<Item = (&'static Setting, u64, u64)> + 'a {
    let differ = |setting: &'static Setting| {
        let (from, to) = ((setting.get)(from), (setting.get)(to));
        (from != to).then_some((setting, from, to))
    };
    const { &SETTINGS }.iter().filter_map(differ)
}

#[cfg(test)]
mod tests {
    use tenure::Config;

    use super::{SETTINGS, changes, values};

    #[test]
    fn every_value_can_be_set_and_is_valid_alone() {
        let default = Config::default();
        for setting in &SETTINGS {
            let known = (setting.get)(&default);
            assert!(setting.values.is_empty() || setting.values.contains(&known), "{}", setting.path());
            for &value in setting.values {
                let mut config = default.clone();
                (setting.set)(&mut config, value);
                assert_eq!((setting.get)(&config), value, "{}", setting.path());
                config.validate().unwrap();
                let changed: Vec<_> =
                    changes(&default, &config).map(|(changed, ..)| changed.path()).collect();
                assert_eq!(changed.is_empty(), value == known);
                assert!(changed.iter().all(|path| *path == setting.path()));
            }
        }
        assert_eq!(values(&default).len(), SETTINGS.len());
    }
}
