//! Replacement of the crate `zstd` in a build without it: reads and writes fail.

use std::convert::Infallible;
use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;

pub(crate) const DEFAULT_COMPRESSION_LEVEL: i32 = 0;

fn unsupported() -> io::Error {
    let reason = "this program was built without zstd (the feature `zstd` of the crate tenure-trace)";
    io::Error::new(io::ErrorKind::Unsupported, reason)
}

/// A decoder whose reads fail, as for data that is damaged from the beginning.
pub(crate) struct Decoder<'a, R>(PhantomData<(&'a (), R)>);

impl<R: Read> Decoder<'_, BufReader<R>> {
    #[expect(clippy::unnecessary_wraps, reason = "as in the crate")]
    pub(crate) fn new(_: R) -> io::Result<Self> {
        Ok(Self(PhantomData))
    }
}

impl<R> Read for Decoder<'_, R> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(unsupported())
    }
}

/// An encoder that cannot be created.
pub(crate) struct Encoder<'a, W>(Infallible, PhantomData<(&'a (), W)>);

impl<W: Write> Encoder<'_, W> {
    pub(crate) fn new(_: W, _: i32) -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn include_checksum(&mut self, _: bool) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        match self.0 {}
    }
}

impl<W> Write for Encoder<'_, W> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}
