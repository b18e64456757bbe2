//! What the CPU does with bytes: accesses through mappings, and texels that it writes where they stay.

mod bytes;
mod texels;
