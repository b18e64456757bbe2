//! An adapter's properties, as the backends report them.

/// The properties of an adapter that [`Device`](tenure::device::Device) does not have.
pub(crate) struct About {
    /// Discrete, integrated, …
    pub(crate) kind: &'static str,
    /// The API's version, or feature level.
    pub(crate) version: String,
    /// The driver's name and version.
    pub(crate) driver: String,
    /// PCI vendor id.
    pub(crate) vendor: u32,
    /// PCI device id.
    pub(crate) device: u32,
    /// The optional features of the API, and the workarounds, that tenure uses.
    pub(crate) uses: Vec<String>,
}
