//! Triangles, instances, and their builds.

use tenure_core::{
    AccelerationStructure, AccelerationStructureDesc, Buffer, BufferDesc, Gpu, Queue, Recording, State,
    Subresource, Usage,
};
use tenure_vulkan::Device;
use tenure_vulkan::ash::{self, vk};

/// Structures built from triangles of one buffer.
pub(super) struct Scene {
    pub(super) gpu: Gpu<Device>,
    pub(super) calls: ash::khr::acceleration_structure::Device,
    vertices: Buffer<Device>,
}

/// Triangles, one behind the other.
const TRIANGLES: u8 = 64;

fn vertices() -> Vec<u8> {
    let corners = |z: f32| [0.0, 0.0, z, 1.0, 0.0, z, 0.0, 1.0, z];
    (0..TRIANGLES).flat_map(|index| corners(f32::from(index) / 64.0)).flat_map(f32::to_le_bytes).collect()
}

impl Scene {
    pub(super) fn new(gpu: Gpu<Device>) -> Self {
        let device = gpu.device();
        let calls = ash::khr::acceleration_structure::Device::new(device.instance(), device.raw());
        let usage = Usage::VERTEX | Usage::SHADER_READ;
        let bytes = vertices();
        let desc = BufferDesc::new(bytes.len() as u64, usage).name("vertices");
        let vertices = gpu.create_buffer_with(&desc, &bytes).unwrap();
        Self { gpu, calls, vertices }
    }

    fn triangles(&self) -> vk::AccelerationStructureGeometryKHR<'static> {
        let vertices =
            vk::DeviceOrHostAddressConstKHR { device_address: self.vertices.gpu_address().unwrap() };
        let triangles = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
            .vertex_format(vk::Format::R32G32B32_SFLOAT)
            .vertex_data(vertices)
            .vertex_stride(12)
            .max_vertex(u32::from(TRIANGLES) * 3 - 1)
            .index_type(vk::IndexType::NONE_KHR);
        vk::AccelerationStructureGeometryKHR::default()
            .geometry_type(vk::GeometryTypeKHR::TRIANGLES)
            .flags(vk::GeometryFlagsKHR::OPAQUE)
            .geometry(vk::AccelerationStructureGeometryDataKHR { triangles })
    }

    fn instances(buffer: &Buffer<Device>) -> vk::AccelerationStructureGeometryKHR<'static> {
        let data = vk::DeviceOrHostAddressConstKHR { device_address: buffer.gpu_address().unwrap() };
        let instances = vk::AccelerationStructureGeometryInstancesDataKHR::default().data(data);
        vk::AccelerationStructureGeometryKHR::default()
            .geometry_type(vk::GeometryTypeKHR::INSTANCES)
            .geometry(vk::AccelerationStructureGeometryDataKHR { instances })
    }

    fn info<'a>(
        kind: vk::AccelerationStructureTypeKHR,
        geometries: &'a [vk::AccelerationStructureGeometryKHR<'a>],
    ) -> vk::AccelerationStructureBuildGeometryInfoKHR<'a> {
        vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .flags(vk::BuildAccelerationStructureFlagsKHR::ALLOW_COMPACTION)
            .mode(vk::BuildAccelerationStructureModeKHR::BUILD)
            .geometries(geometries)
    }

    fn sizes(
        &self,
        info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        count: u32,
    ) -> vk::AccelerationStructureBuildSizesInfoKHR<'static> {
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        // SAFETY: the device is alive, and the geometry is described whole.
        unsafe {
            self.calls.get_acceleration_structure_build_sizes(
                vk::AccelerationStructureBuildTypeKHR::DEVICE,
                info,
                &[count],
                &mut sizes,
            );
        }
        sizes
    }

    /// A structure with `triangles` triangles.
    pub(super) fn rock(&self, triangles: u32) -> AccelerationStructure<Device> {
        let geometry = [self.triangles()];
        let info = Self::info(vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL, &geometry);
        let size = self.sizes(&info, triangles).acceleration_structure_size;
        let desc = AccelerationStructureDesc::bottom(size).name("rock");
        self.gpu.create_acceleration_structure(&desc).unwrap()
    }

    fn build(
        &self,
        recording: &mut Recording<Device>,
        dst: &AccelerationStructure<Device>,
        info: vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        count: u32,
    ) {
        let (commands, scratch) = recording.split();
        let room = scratch.build_scratch(self.sizes(&info, count).build_scratch_size).unwrap();
        let address = vk::DeviceOrHostAddressKHR { device_address: room.gpu_address().unwrap() };
        let info = info.dst_acceleration_structure(dst.raw().raw()).scratch_data(address);
        let range = vk::AccelerationStructureBuildRangeInfoKHR::default().primitive_count(count);
        let list = commands.raw().command_buffer();
        // SAFETY: the recording is open; the structure and its inputs live until it is done.
        unsafe { self.calls.cmd_build_acceleration_structures(list, &[info], &[&[range]]) };
    }

    /// Notes that builds read the vertices; their structures are noted by the caller.
    pub(super) fn read_vertices(&self, recording: &mut Recording<Device>) {
        recording.use_resource(&self.vertices, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }

    pub(super) fn build_rock(
        &self,
        recording: &mut Recording<Device>,
        rock: &AccelerationStructure<Device>,
        triangles: u32,
    ) {
        let geometry = [self.triangles()];
        let info = Self::info(vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL, &geometry);
        self.build(recording, rock, info, triangles);
    }

    /// A structure of instances: number *i* is moved by 4 *i* along x, and has the custom index 100 + *i*.
    pub(super) fn world(
        &self,
        recording: &mut Recording<Device>,
        rocks: &[&AccelerationStructure<Device>],
    ) -> AccelerationStructure<Device> {
        let mut bytes = Vec::new();
        for (index, rock) in (0_u32..).zip(rocks) {
            let rows = [1.0, 0.0, 0.0, 4.0 * index as f32, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0_f32];
            bytes.extend(rows.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend((0xff00_0000_u32 | (100 + index)).to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(rock.gpu_address().to_le_bytes());
        }
        let desc = BufferDesc::new(bytes.len() as u64, Usage::SHADER_READ).alignment(16).name("instances");
        let buffer = self.gpu.create_buffer_with(&desc, &bytes).unwrap();
        let geometry = [Self::instances(&buffer)];
        let count = rocks.len() as u32;
        let info = Self::info(vk::AccelerationStructureTypeKHR::TOP_LEVEL, &geometry);
        let size = self.sizes(&info, count).acceleration_structure_size;
        let world =
            self.gpu.create_acceleration_structure(&AccelerationStructureDesc::top(size).name("world"));
        let world = world.unwrap();
        recording.use_resource(&buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        recording.use_structures(rocks.iter().copied().chain([&world])).unwrap();
        self.build(recording, &world, info, count);
        world
    }
}

/// A recording of the graphics queue.
pub(super) fn record(gpu: &Gpu<Device>, name: &'static str) -> Recording<Device> {
    gpu.record(Queue::Graphics, name).unwrap()
}
