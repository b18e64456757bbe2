//! Errors of devices, and of missing devices.

use ash::vk;
use tenure_core::device::{
    Allowed, ApiCode, CallRule, DeviceError, DeviceFault, FaultAccess, MemoryTypeId, QueueId, QueueKind,
    QueueSerial,
};
use tenure_core::state::StateError;
use tenure_core::{Error, Format, State, Usage};
use tenure_vulkan::{ApiVersion, CreateError, DeviceIds, ExportDesc, HandleKind, ShareError};

use crate::table::Table;

const MEMORY: MemoryTypeId = MemoryTypeId(2);

pub(crate) fn make(table: &mut Table) {
    table.all([
        DeviceError::OutOfMemory { requested: 4096, memory: MEMORY },
        DeviceError::NotGranted { requested: 4096, memory: MEMORY },
        DeviceError::NeverAllocate { requested: 4096, memory: MEMORY },
        DeviceError::DeviceLocalOnly { requested: 4096, memory: MEMORY },
        DeviceError::OutOfHostMemory { what: "vkCreateBuffer" },
        DeviceError::OutOfDeviceMemory { what: "vkQueueSubmit" },
        DeviceError::TooManyAllocations { limit: 4096 },
        DeviceError::Unsupported { feature: "tiled resources" },
        DeviceError::UnsupportedFormat { format: Format::Bc7Unorm, feature: "textures" },
        DeviceError::invalid_desc("width", 40_000_u64, Allowed::AtMost(16_384)),
        DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1)),
        DeviceError::invalid_desc("samples", 3_u64, Allowed::Exactly(1)),
        DeviceError::invalid_desc("size", 100_u64, Allowed::MultipleOf(256)),
        DeviceError::invalid_desc("usage", Usage::VERTEX | Usage::INDEX, Allowed::Usage(Usage::SHADER_READ)),
        DeviceError::invalid_desc("alignment", 48_u64, Allowed::POWER_OF_TWO),
        DeviceError::invalid_desc("mip_bias", f32::NAN, Allowed::Rule("finite")),
        DeviceError::invalid_desc("mip_bias", 0.5, Allowed::Rule("0")),
        DeviceError::cannot_discard(Usage::SHADER_READ),
        DeviceError::MissingUsage { needs: Usage::COPY_SRC, has: Usage::VERTEX | Usage::COPY_DST },
        DeviceError::write_state_alone(State::COPY_DST | State::COPY_SRC),
        DeviceError::invalid_call(CallRule::InsideResource, 300_u64, 256_u64),
        DeviceError::invalid_value(CallRule::QueueExists, 7_u64),
        DeviceError::broken_rule(CallRule::IsBuffer),
        DeviceError::ApiFailed { call: "vkMapMemory", code: ApiCode::VkResult(-13) },
        DeviceError::ApiFailed { call: "vkMapMemory", code: ApiCode::VkResult(-1_000_999_000) },
        DeviceError::ApiFailed { call: "ID3D12Device::CreateHeap", code: ApiCode::HResult(0x8007_0057) },
        DeviceError::ApiFailed { call: "ID3D12Device::CreateHeap", code: ApiCode::HResult(0x8899_0001) },
        DeviceError::Lost { reason: "DXGI_ERROR_DEVICE_HUNG".to_owned() },
    ]);
    let kinds = [FaultAccess::Read, FaultAccess::Write, FaultAccess::Execute, FaultAccess::Instruction];
    for access in kinds.into_iter().chain([FaultAccess::Unknown]) {
        table.add(&access);
        table.all([0..0, 4096..8192].map(|addresses| DeviceFault::new(access, addresses, "")));
    }
    table.add(&DeviceFault::new(FaultAccess::Unknown, 0..0, "MMU fault (code 3, data 0)"));
    table.add(&DeviceFault::new(FaultAccess::Read, 4096..8192, "page not mapped"));
    states(table);
    vulkan(table);
    sharing(table);
}

fn states(table: &mut Table) {
    let (state, queue) = (State::COPY_DST, QueueId(1));
    table.all([
        StateError::InvalidCombination { state: State::COPY_DST | State::COPY_SRC },
        StateError::NotAllowedForUsage { state, allowed: State::VERTEX_OR_CONSTANT | State::INDEX },
        StateError::NotAllowedOnQueue {
            state: State::RENDER_TARGET,
            allowed: State::COPY_DST | State::COPY_SRC,
            kind: QueueKind::Copy,
        },
        StateError::Fixed { state, initial: State::ACCELERATION_STRUCTURE },
        StateError::NotToCommon,
        StateError::Released { to: queue },
        StateError::OutOfRange { subresource: 3, count: 1 },
        StateError::NoSuchPart { part: "mip", index: 9, count: 5 },
        StateError::Unflushed { pending: 2 },
        StateError::UnknownQueue { queue, count: 1 },
        StateError::WrongQueue { recorded: QueueKind::Graphics, actual: QueueKind::Copy },
        StateError::NoCommonLayout { state: State::COPY_SRC | State::PIXEL_SHADER },
        StateError::Shared,
        StateError::NotShared,
        StateError::ReadOnly { state, allowed: State::PIXEL_SHADER },
        StateError::NotReadOnQueue { allowed: State::PIXEL_SHADER, kind: QueueKind::Compute },
        StateError::CannotBeReadOnly {
            state: State::PIXEL_SHADER,
            rule: "its memory is shared over time with other resources",
        },
        StateError::UsedBeforeAcquired,
        StateError::NoCapableQueue { state: State::PIXEL_SHADER },
        StateError::SplitSubmission { submission: QueueSerial { queue, serial: 9 } },
    ]);
}

fn vulkan(table: &mut Table) {
    let version = ApiVersion { major: 1, minor: 0 };
    table.all([
        CreateError::NoLoader { reason: "libvulkan.so.1: cannot open".to_owned() },
        CreateError::TooOld { found: version },
        CreateError::NoLayer { layer: "VK_LAYER_KHRONOS_validation".to_owned() },
        CreateError::NoExtension { extension: "VK_KHR_swapchain".to_owned() },
        CreateError::NoFeature { feature: "geometryShader of VkPhysicalDeviceFeatures".to_owned() },
        CreateError::InvalidFeatures {
            rule: "a structure is in the chain once",
            found: "VkPhysicalDeviceVulkan12Features".to_owned(),
        },
        CreateError::InvalidQueues {
            rule: "the family has as many queues",
            family: 1,
            found: "3 of 2".to_owned(),
        },
        CreateError::NoAdapter { found: 2 },
        CreateError::NoFunction { function: "vkWaitSemaphores" },
        CreateError::ExtensionNotEnabled {
            feature: "TIMELINE_SEMAPHORE",
            extension: "VK_KHR_timeline_semaphore",
            version: ApiVersion { major: 1, minor: 1 },
        },
        CreateError::Failed { call: "vkCreateDevice", result: vk::Result::ERROR_INITIALIZATION_FAILED },
        CreateError::InvalidRaw { rule: "there is a queue", value: 0 },
    ]);
}

fn sharing(table: &mut Table) {
    let ids = |first: u8| DeviceIds { device: [first; 16], driver: [3; 16] };
    table.all([
        ShareError::OtherDevice { exporter: ids(1), importer: ids(2) },
        ShareError::OtherDescription { exporter: 1, importer: 2 },
        ShareError::TooSmall { size: 4096, needed: 8192 },
        ShareError::MemoryType { found: 0b101, allowed: 0b10 },
        ShareError::NotExportable { kind: HandleKind::DmaBuf },
        ShareError::Unaligned { address: 0x1004, size: 100, alignment: 4096 },
        ShareError::Descriptor { reason: "too many open files".to_owned() },
        ShareError::Device(DeviceError::Unsupported { feature: "handles of memory" }),
        ShareError::Manager(Error::ShutDown),
    ]);
    table.add(&ExportDesc::from_bytes(&[0; 3]).unwrap_err());
}
