//! Values and structures of the header for queries, and the object behind a `tn_Query`.

use std::ffi::c_void;

use tenure_core::device::Device;
use tenure_core::{
    AnySamples, CompactedSize, Error, PipelineStatistics, QueryTicket, QueryValue, SampleCount, Timestamp,
};

use crate::convert::duration;
use crate::pointer::{In, Outcome};
use crate::types::*;

/// The property measured by a query.
pub type tn_QueryKind = u32;
/// The GPU time of a scope.
pub const TN_QUERY_GPU_TIME: tn_QueryKind = 0;
/// The number of samples that pass the depth and stencil tests.
pub const TN_QUERY_OCCLUSION: tn_QueryKind = 1;
/// Whether any samples pass the depth and stencil tests: cheaper on some GPUs, and available on every graphics queue.
pub const TN_QUERY_BINARY_OCCLUSION: tn_QueryKind = 2;
/// The number of invocations of each pipeline stage.
pub const TN_QUERY_PIPELINE_STATISTICS: tn_QueryKind = 3;

/// An open query or scope of a recording. A plain value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_OpenQuery {
    /// Internal numbers of the recording and the query.
    pub numbers: [u64; 2],
    /// `TN_QUERY_…`.
    pub kind: tn_QueryKind,
    /// Must be 0.
    pub reserved: u32,
}

/// The result of a query. The counts of stages are set by pipeline statistics, and 0 for other kinds. GPUs count differently: some
/// include skipped work, or count batches of invocations.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_QueryResult {
    /// `sizeof(tn_QueryResult)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Ticks of the queue's clock from an arbitrary origin, samples, 0 or 1, or bytes of a compacted structure. Use
    /// `tn_query_between` for times.
    pub value: u64,
    /// Vertices read.
    pub vertices: u64,
    /// Primitives read.
    pub primitives: u64,
    /// Invocations of vertex shaders.
    pub vertex_invocations: u64,
    /// Invocations of geometry shaders.
    pub geometry_invocations: u64,
    /// Primitives output by geometry shaders.
    pub geometry_primitives: u64,
    /// Primitives input to clipping.
    pub clipping_invocations: u64,
    /// Primitives output by clipping.
    pub clipping_primitives: u64,
    /// Invocations of pixel shaders.
    pub pixel_invocations: u64,
    /// Invocations of hull shaders; on Vulkan patches of tessellation control shaders.
    pub hull_invocations: u64,
    /// Invocations of domain shaders.
    pub domain_invocations: u64,
    /// Invocations of compute shaders.
    pub compute_invocations: u64,
}

/// The GPU time of a scope.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_GpuTime {
    /// The name of the scope, valid during the call.
    pub name: tn_Str,
    /// The frame in which the scope began; 0 before the first frame.
    pub frame: u64,
    /// Nanoseconds.
    pub nanoseconds: u64,
    /// The number of the queue: `n` of `TN_QUEUE_FIRST + n`.
    pub queue: u32,
    /// The number of enclosing scopes of the same recording.
    pub depth: u32,
}

/// Receives a GPU time, inside `tn_gpu_times`. Must not unwind. May release handles, except a `tn_Gpu` and a `tn_Swapchain`; other
/// functions return `TN_ERROR_CALLBACK`.
pub type tn_GpuTimeFn = extern "C-unwind" fn(user: *mut c_void, time: tn_GpuTime);

descs! {
    tn_QueryResult: 0,
}

impl Outcome for tn_QueryResult {}

/// The object behind a `tn_Query`.
pub(crate) enum QueryOf<D: Device> {
    Timestamp(QueryTicket<D, Timestamp>),
    Samples(QueryTicket<D, SampleCount>),
    AnySamples(QueryTicket<D, AnySamples>),
    Statistics(QueryTicket<D, PipelineStatistics>),
    CompactedSize(QueryTicket<D, CompactedSize>),
}

/// The result, or `None` after the timeout.
fn arrived<D: Device, V: QueryValue>(
    ticket: &QueryTicket<D, V>,
    timeout_ns: u64,
) -> Result<Option<V>, Failure> {
    if timeout_ns == 0 {
        return Ok(ticket.poll()?);
    }
    match ticket.wait(duration(timeout_ns)) {
        Ok(value) => Ok(Some(value)),
        Err(Error::Timeout { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl<D: Device> QueryOf<D> {
    pub(crate) fn result(&self, timeout_ns: u64) -> Result<Option<tn_QueryResult>, Failure> {
        let plain = |value| tn_QueryResult { value, ..tn_QueryResult::NONE };
        Ok(match self {
            Self::Timestamp(ticket) => arrived(ticket, timeout_ns)?.map(|time| plain(time.ticks())),
            Self::Samples(ticket) => arrived(ticket, timeout_ns)?.map(|count| plain(count.0)),
            Self::AnySamples(ticket) => arrived(ticket, timeout_ns)?.map(|any| plain(any.0.into())),
            Self::CompactedSize(ticket) => arrived(ticket, timeout_ns)?.map(|size| plain(size.0)),
            Self::Statistics(ticket) => arrived(ticket, timeout_ns)?.map(statistics),
        })
    }

    pub(crate) fn timestamp(&self) -> Result<&QueryTicket<D, Timestamp>, Failure> {
        match self {
            Self::Timestamp(ticket) => Ok(ticket),
            _ => Err(Failure::new(TN_ERROR_QUERY, "a query of another kind, where a timestamp is needed")),
        }
    }
}

fn statistics(found: PipelineStatistics) -> tn_QueryResult {
    tn_QueryResult {
        vertices: found.vertices,
        primitives: found.primitives,
        vertex_invocations: found.vertex_invocations,
        geometry_invocations: found.geometry_invocations,
        geometry_primitives: found.geometry_primitives,
        clipping_invocations: found.clipping_invocations,
        clipping_primitives: found.clipping_primitives,
        pixel_invocations: found.pixel_invocations,
        hull_invocations: found.hull_invocations,
        domain_invocations: found.domain_invocations,
        compute_invocations: found.compute_invocations,
        ..tn_QueryResult::NONE
    }
}

impl tn_QueryResult {
    const NONE: Self = Self {
        struct_size: size_of::<Self>() as u32,
        flags: 0,
        next: In::NULL,
        value: 0,
        vertices: 0,
        primitives: 0,
        vertex_invocations: 0,
        geometry_invocations: 0,
        geometry_primitives: 0,
        clipping_invocations: 0,
        clipping_primitives: 0,
        pixel_invocations: 0,
        hull_invocations: 0,
        domain_invocations: 0,
        compute_invocations: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_its_own_count() {
        let mut found = PipelineStatistics::default();
        found.vertices = 1;
        found.primitives = 2;
        found.vertex_invocations = 3;
        found.geometry_invocations = 4;
        found.geometry_primitives = 5;
        found.clipping_invocations = 6;
        found.clipping_primitives = 7;
        found.pixel_invocations = 8;
        found.hull_invocations = 9;
        found.domain_invocations = 10;
        found.compute_invocations = 11;
        let in_c = statistics(found);
        let counts = [
            in_c.value,
            in_c.vertices,
            in_c.primitives,
            in_c.vertex_invocations,
            in_c.geometry_invocations,
            in_c.geometry_primitives,
            in_c.clipping_invocations,
            in_c.clipping_primitives,
            in_c.pixel_invocations,
            in_c.hull_invocations,
            in_c.domain_invocations,
            in_c.compute_invocations,
        ];
        assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
}
