//! Numbers as columns of bytes that compress well: variable-length integers, or their differences.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Coding {
    /// Each number unchanged.
    Plain,
    /// Each number less the one before it, with the sign in the lowest bit.
    Delta,
}

/// One column. Its numbers are the stored ones times `unit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) coding: Coding,
    pub(crate) unit: u64,
    /// Numbers in it.
    pub(crate) count: usize,
    /// Bytes of it.
    pub(crate) bytes: usize,
}

/// Columns, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) table: Vec<Column>,
    bytes: Vec<u8>,
}

impl Columns {
    /// Adds a column.
    pub(crate) fn add(&mut self, name: impl Into<String>, coding: Coding, values: &[u64]) {
        let unit = values.iter().copied().fold(0, gcd).max(1);
        let begin = self.bytes.len();
        let mut before = 0;
        for value in values.iter().map(|value| value / unit) {
            match coding {
                Coding::Plain => push(&mut self.bytes, value),
                Coding::Delta => push(&mut self.bytes, zigzag(value.wrapping_sub(before))),
            }
            before = value;
        }
        let bytes = self.bytes.len() - begin;
        self.table.push(Column { name: name.into(), coding, unit, count: values.len(), bytes });
    }

    /// All of them behind a header, compressed with zlib: 4 bytes with the length of the header, little-endian, the
    /// header, the columns.
    pub(crate) fn pack(&self, header: &impl Serialize) -> io::Result<Vec<u8>> {
        let header = serde_json::to_vec(header)?;
        let length = u32::try_from(header.len()).map_err(io::Error::other)?;
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(6));
        packed.write_all(&length.to_le_bytes())?;
        packed.write_all(&header)?;
        packed.write_all(&self.bytes)?;
        packed.finish()
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A difference with its sign in the lowest bit, so that small ones are small numbers.
const fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

/// Seven bits a byte, lowest first; the highest bit says that more follow.
fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Unpacks columns as the page's script does.
#[cfg(test)]
pub(crate) mod reading {
    use std::io::{self, Read};

    use flate2::read::ZlibDecoder;

    use super::{Coding, Column};

    /// Unpacks the result of [`Columns::pack`]: the header's text and the bytes of the columns.
    pub(crate) fn unpack(packed: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut all)?;
        let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "the data is cut off");
        let (length, rest) = all.split_first_chunk::<4>().ok_or_else(cut)?;
        let (header, columns) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        Ok((header.to_vec(), columns.to_vec()))
    }

    /// The numbers of a column; `None` if its bytes are truncated.
    pub(crate) fn decode(column: &Column, mut bytes: &[u8]) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        let mut before = 0_u64;
        for _ in 0..column.count {
            let stored = take(&mut bytes)?;
            let value = match column.coding {
                Coding::Plain => stored,
                Coding::Delta => before.wrapping_add(unzigzag(stored)),
            };
            before = value;
            values.push(value.wrapping_mul(column.unit));
        }
        Some(values)
    }

    const fn unzigzag(stored: u64) -> u64 {
        (stored >> 1) ^ (stored & 1).wrapping_neg()
    }

    fn take(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reading::{decode, unpack};
    use super::{Coding, Columns};

    proptest! {
        #[test]
        fn decoding_reverses_encoding(
            columns in prop::collection::vec(
                (any::<bool>(), prop::collection::vec(prop_oneof![any::<u64>(), 0..1000_u64], 0..50), 1..1000_u64),
                0..5,
            ),
        ) {
            let mut encoded = Columns::default();
            let scaled: Vec<Vec<u64>> = columns
                .iter()
                .map(|(_, values, unit)| values.iter().map(|value| value.saturating_mul(*unit)).collect())
                .collect();
            for ((is_delta, ..), values) in columns.iter().zip(&scaled) {
                encoded.add("column", if *is_delta { Coding::Delta } else { Coding::Plain }, values);
            }
            let (header, bytes) = unpack(&encoded.pack(&"header").unwrap()).unwrap();
            prop_assert_eq!(header, b"\"header\"");
            let mut rest = bytes.as_slice();
            for (column, values) in encoded.table.iter().zip(&scaled) {
                let (own, others) = rest.split_at(column.bytes);
                prop_assert_eq!(&decode(column, own).unwrap(), values);
                rest = others;
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn truncated_data_is_an_error() {
        let mut columns = Columns::default();
        columns.add("column", Coding::Plain, &[300, 1]);
        assert_eq!(decode(&columns.table[0], &[0xAC]), None);
        assert_eq!(decode(&columns.table[0], &[0xff; 40]), None);
        let packed = columns.pack(&"header").unwrap();
        assert!(unpack(&packed[..packed.len() - 9]).is_err());
    }
}
