//! Errors of configurations.

use std::fmt;

/// A configuration field out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration: {field} = {value}{unit}: {rule}{}", if rule.has_unit() { unit.suffix() } else { "" })]
#[non_exhaustive]
pub struct ConfigError {
    /// The path of the field, for example `pools.min_block`.
    pub field: &'static str,
    /// The value of the field, in `unit`.
    pub value: u64,
    /// The unit of the value, and of the numbers in the rule.
    pub unit: ConfigUnit,
    /// The violated rule.
    pub rule: ConfigRule,
}

/// Unit of a configuration value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigUnit {
    /// A plain number.
    Count,
    /// Bytes.
    Bytes,
    /// Descriptors.
    Descriptors,
    /// Frames.
    Frames,
    /// Milliseconds.
    Milliseconds,
    /// Percent.
    Percent,
}

impl ConfigUnit {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => " B",
            Self::Descriptors => " descriptors",
            Self::Frames => " frames",
            Self::Milliseconds => " ms",
            Self::Percent => " %",
        }
    }
}

impl fmt::Display for ConfigUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.suffix())
    }
}

/// Rule for a configuration value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigRule {
    /// The value must be in a range.
    #[error("must be {min} to {max}")]
    Range {
        /// The smallest value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// The value must be in a range limited by another field.
    #[error("must be {min} to {field}, which is {max}")]
    UpTo {
        /// The smallest value allowed.
        min: u64,
        /// The path of the other field.
        field: &'static str,
        /// The other field's value.
        max: u64,
    },
    /// The value must be a power of two.
    #[error("must be a power of two")]
    PowerOfTwo,
    /// The value must not exceed the device's limit minus the heap's other part.
    #[error("the device has {available} left for this part of the heap")]
    Available {
        /// Descriptors allowed by the device, minus those of the heap's other part.
        available: u64,
    },
}

impl ConfigRule {
    const fn has_unit(self) -> bool {
        matches!(self, Self::Range { .. } | Self::UpTo { .. })
    }
}

/// A field during the checks.
#[derive(Clone, Copy)]
pub struct Check {
    field: &'static str,
    value: u64,
    unit: ConfigUnit,
}

impl Check {
    pub const fn new(field: &'static str, value: u64, unit: ConfigUnit) -> Self {
        Self { field, value, unit }
    }

    pub const fn bytes(field: &'static str, value: u64) -> Self {
        Self::new(field, value, ConfigUnit::Bytes)
    }

    pub fn range(self, min: u64, max: u64) -> Result<(), ConfigError> {
        self.holds((min..=max).contains(&self.value), ConfigRule::Range { min, max })
    }

    pub fn up_to(self, min: u64, field: &'static str, max: u64) -> Result<(), ConfigError> {
        self.holds((min..=max).contains(&self.value), ConfigRule::UpTo { min, field, max })
    }

    pub fn power_of_two(self, min: u64, max: u64) -> Result<(), ConfigError> {
        self.range(min, max)?;
        self.holds(self.value.is_power_of_two(), ConfigRule::PowerOfTwo)
    }

    pub fn available(self, available: u64) -> Result<(), ConfigError> {
        self.holds(self.value <= available, ConfigRule::Available { available })
    }

    fn holds(self, is_satisfied: bool, rule: ConfigRule) -> Result<(), ConfigError> {
        let Self { field, value, unit } = self;
        if is_satisfied { Ok(()) } else { Err(ConfigError { field, value, unit, rule }) }
    }
}
