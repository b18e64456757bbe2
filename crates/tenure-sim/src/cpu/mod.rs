//! Accesses of the CPU: through mappings, and to texels in place.

mod bytes;
mod texels;
