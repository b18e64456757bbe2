//! The configuration as numbers by name.

use std::time::Duration;

use tenure_core::{Config, Strategy, UploadSuballocator};

use crate::types::{Failure, TN_ERROR_CONFIG, tn_Setting};

/// A setting.
struct Row {
    name: &'static str,
    get: fn(&Config) -> u64,
    /// Sets the field; false for a number out of range.
    set: fn(&mut Config, u64) -> bool,
}

/// A type of a field that a number can set.
trait Number: Sized {
    fn number(&self) -> u64;
    fn of(number: u64) -> Option<Self>;
}

impl Number for u64 {
    fn number(&self) -> u64 {
        *self
    }

    fn of(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl Number for u32 {
    fn number(&self) -> u64 {
        u64::from(*self)
    }

    fn of(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

impl Number for bool {
    fn number(&self) -> u64 {
        u64::from(*self)
    }

    fn of(number: u64) -> Option<Self> {
        (number <= 1).then_some(number == 1)
    }
}

impl Number for Duration {
    fn number(&self) -> u64 {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX)
    }

    fn of(number: u64) -> Option<Self> {
        Some(Self::from_nanos(number))
    }
}

/// `UINT64_MAX`: the default of the device.
impl Number for Option<u32> {
    fn number(&self) -> u64 {
        self.map_or(u64::MAX, u64::from)
    }

    fn of(number: u64) -> Option<Self> {
        if number == u64::MAX { Some(None) } else { u32::of(number).map(Some) }
    }
}

/// Enumerations are numbered by position.
macro_rules! positions {
    ($($Type:ident: $($value:ident),+;)*) => {$(
        impl Number for $Type {
            fn number(&self) -> u64 {
                let values = [$(Self::$value),+];
                values.iter().position(|value| value == self).map_or(u64::MAX, |position| position as u64)
            }

            fn of(number: u64) -> Option<Self> {
                [$(Self::$value),+].into_iter().find(|value| value.number() == number)
            }
        }
    )*};
}

positions! {
    Strategy: Pooled, Placed, Committed;
    UploadSuballocator: General, Buddy;
}

macro_rules! rows {
    ($($($part:ident).+;)*) => {
        &[$(Row {
            name: concat_dots!($($part)+),
            get: |config| config.$($part).+.number(),
            set: |config, number| match Number::of(number) {
                Some(value) => {
                    config.$($part).+ = value;
                    true
                }
                None => false,
            },
        },)*]
    };
}

macro_rules! concat_dots {
    ($one:ident) => {
        stringify!($one)
    };
    ($one:ident $two:ident) => {
        concat!(stringify!($one), ".", stringify!($two))
    };
}

const ROWS: &[Row] = rows! {
    frames.in_flight; frames.idle; frames.timeout; frames.shutdown_timeout;
    pools.strategy; pools.small_buffer_slot; pools.min_block; pools.max_buffer_block; pools.max_texture_block;
    pools.max_pooled_buffer; pools.growth_divisor; pools.shards; pools.max_wait;
    uploads.suballocator; uploads.max_small; uploads.max_pooled; uploads.max_block;
    staging.constant_page; staging.upload_page; staging.readback_page; staging.build_scratch_page; staging.max_pending;
    in_place.initial_data; in_place.uploads; in_place.textures; in_place.max_upload; in_place.max_over_bus;
    descriptors.block; descriptors.static_resources; descriptors.dynamic_resources; descriptors.static_samplers;
    descriptors.dynamic_samplers; descriptors.chunk; descriptors.set_pool; descriptors.poison; descriptors.report_unnamed;
    transient.heap; transient.cache; transient.latency; transient.improvement; transient.gpu_times;
    pressure.high; pressure.critical; pressure.hysteresis; pressure.interval;
    compaction.is_automatic; compaction.min_free; compaction.quiet_frames; compaction.frame_bytes; compaction.frame_moves;
    compaction.frame_pieces;
    leak_backtraces; released_history;
};

/// The default configuration with some settings changed.
pub(crate) fn config(settings: &[tn_Setting]) -> Result<Config, Failure> {
    let mut config = Config::default();
    for setting in settings {
        let name = setting.name.text()?;
        let row = ROWS.iter().find(|row| row.name == name);
        let Some(row) = row else {
            let text =
                format!("configuration: {name}: no setting has this name; TN_REPORT_SETTINGS lists all");
            return Err(Failure::new(TN_ERROR_CONFIG, text));
        };
        if !(row.set)(&mut config, setting.value) {
            let text = format!("configuration: {name} = {}: is no value of this setting", setting.value);
            return Err(Failure::new(TN_ERROR_CONFIG, text));
        }
    }
    Ok(config)
}

/// Every setting as a JSON object.
pub(crate) fn json(config: &Config) -> String {
    let rows: serde_json::Map<_, _> =
        ROWS.iter().map(|row| (row.name.to_owned(), (row.get)(config).into())).collect();
    serde_json::Value::Object(rows).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Config, ROWS};

    /// The names of all fields, from the only list of them that a macro writes.
    fn fields(config: &Config) -> Vec<String> {
        let mut part = String::new();
        let mut names = Vec::new();
        for line in format!("{config:#?}").lines() {
            let Some((name, value)) = line.trim().split_once(": ") else { continue };
            match (value.ends_with('{'), line.starts_with("        ")) {
                (true, _) => part = name.to_owned(),
                (false, true) if !line.starts_with("         ") => names.push(format!("{part}.{name}")),
                (false, true) => {}
                (false, false) => names.push(name.to_owned()),
            }
        }
        names
    }

    #[test]
    fn each_field_of_the_configuration_is_a_setting() {
        let fields = fields(&Config::default());
        let mut rows: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        for field in &fields {
            assert!(rows.contains(&field.as_str()), "{field} is no setting");
        }
        rows.retain(|row| !fields.contains(&(*row).to_owned()));
        assert!(rows.is_empty(), "{rows:?} are settings twice, or no fields");
    }

    #[test]
    fn each_setting_keeps_its_own_value() {
        let defaults = Config::default();
        for row in ROWS {
            let mut config = defaults.clone();
            let default = (row.get)(&defaults);
            // `UINT64_MAX` is the device's own number, and its neighbour is none.
            let other = if default == u64::MAX { 1 } else { default ^ 1 };
            assert!((row.set)(&mut config, other), "{}", row.name);
            assert_eq!((row.get)(&config), other, "{}", row.name);
            let changed = ROWS.iter().filter(|row| (row.get)(&config) != (row.get)(&defaults)).count();
            assert_eq!(changed, 1, "{}", row.name);
        }
    }
}
