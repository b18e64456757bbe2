//! The contract of command lists.

use std::ops::Range;
use std::sync::Arc;

use tenure_core::device::{
    Barrier, BufferLayout, CommandList, DeviceError, Marker, State, Subresource, TextureRegion, check,
};

use super::Device;
use crate::command::Command;
use crate::descriptors::DescriptorHeap;
use crate::list::{List, record};
use crate::queries::{QueryHeap, QueryStep, check_results};
use crate::resource::Resource;
use crate::structures::AccelerationStructure;

impl CommandList<Device> for List {
    fn begin(&mut self) -> Result<(), DeviceError> {
        self.begin_recording()
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        self.close_recording()
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Device>]) {
        for barrier in barriers {
            let command = self.barrier(barrier);
            self.record(command);
        }
    }

    fn discard(&mut self, resource: &Resource, subresource: Subresource) {
        let command = record::discarded(self.kind, resource, subresource).map(|state| Command::Discard {
            resource: Arc::clone(&resource.state),
            subresource,
            state,
        });
        self.record(command);
    }

    fn make_visible_to_cpu(&mut self, written: State) {
        let states = written.iter().try_for_each(|state| check::state(self.kind, state));
        // Direct3D 12 needs no command.
        if states.is_err() || self.queues.properties.has_host_barriers() {
            self.record(states.map(|()| Command::MakeVisible { written }));
        }
    }

    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&DescriptorHeap>,
        samplers: Option<&DescriptorHeap>,
    ) {
        let command = record::descriptor_heaps(self.kind, resources, samplers);
        // Elsewhere the program binds them itself.
        if command.is_err() || self.queues.properties.sets_descriptor_heaps() {
            self.record(command);
        }
    }

    fn copy_buffer(&mut self, src: &Resource, src_offset: u64, dst: &Resource, dst_offset: u64, size: u64) {
        let command = record::copy_buffer(&self.queues, (src, src_offset), (dst, dst_offset), size);
        self.record(command);
    }

    fn keep_unwritten(&mut self) {
        self.record(Ok(Command::KeepUnwritten));
    }

    // The simulated GPU completes each command before the next.
    fn write_marker(&mut self, Marker { word, value, .. }: Marker) {
        if word < self.queues.properties.markers.words {
            self.record(Ok(Command::WriteMarker { word, value }));
        }
    }

    fn copy_buffer_to_texture(
        &mut self,
        src: &Resource,
        layout: BufferLayout,
        dst: &Resource,
        region: TextureRegion,
    ) {
        let command = record::copy_texture((&self.queues, self.kind), (src, layout), (dst, region), true);
        self.record(command);
    }

    fn copy_texture_to_buffer(
        &mut self,
        src: &Resource,
        region: TextureRegion,
        dst: &Resource,
        layout: BufferLayout,
    ) {
        let command = record::copy_texture((&self.queues, self.kind), (dst, layout), (src, region), false);
        self.record(command);
    }

    fn copy_texture(&mut self, src: &Resource, dst: &Resource, subresource: Subresource) {
        let rules = (self.queues.properties.features, self.kind);
        let command = record::copy_subresources(rules, src, dst, subresource);
        self.record(command);
    }

    fn generate_mip(&mut self, texture: &Resource, mip: u32, layers: Range<u32>) {
        let command = record::generate_mip((&self.queues, self.kind), texture, mip, layers);
        self.record(command);
    }

    fn reset_queries(&mut self, heap: &QueryHeap, first: u32, count: u32) {
        // Direct3D 12 needs no command.
        let checked = heap.state.desc.check_use(self.queue, first, count);
        if checked.is_err() || self.queues.properties.queries.must_reset {
            self.query(checked, heap, (first, count), QueryStep::Reset);
        }
    }

    fn write_timestamp(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.state.desc.check_timestamp(self.queue, query);
        self.query(checked, heap, (query, 1), QueryStep::Timestamp);
    }

    fn begin_query(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.state.desc.check_ranged(self.queue, query);
        let checked = checked.and_then(|()| {
            self.recorded.get_mut().begun.begin(heap.state.desc.kind, heap.state.label.id, query)
        });
        self.query(checked, heap, (query, 1), QueryStep::Begin);
    }

    fn end_query(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.state.desc.check_ranged(self.queue, query);
        let checked = checked.and_then(|()| {
            self.recorded.get_mut().begun.end(heap.state.desc.kind, heap.state.label.id, query)
        });
        self.query(checked, heap, (query, 1), QueryStep::End);
    }

    fn copy_acceleration_structure(
        &mut self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) {
        self.copy_structure(src, dst, compact);
    }

    fn write_compacted_size(&mut self, structure: &AccelerationStructure, heap: &QueryHeap, query: u32) {
        let checked = heap.state.desc.check_compacted_size(self.queue, query);
        let step = QueryStep::CompactedSize(Arc::clone(&structure.state));
        self.query(checked, heap, (query, 1), step);
    }

    fn resolve_queries(&mut self, heap: &QueryHeap, first: u32, count: u32, dst: &Resource, offset: u64) {
        let checked = heap.state.desc.check_use(self.queue, first, count);
        let checked = checked.and_then(|()| check_results(heap, count, dst, offset));
        let step = QueryStep::Resolve { dst: Arc::clone(&dst.state), offset };
        self.query(checked, heap, (first, count), step);
    }
}
