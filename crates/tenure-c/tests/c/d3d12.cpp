// tenure_d3d12.hpp on a Direct3D 12 device of the program.
#include "tenure_d3d12.hpp"

#include <d3d12.h>

#include "check.h"

#include <array>
#include <memory>
#include <string>

using namespace tn::literals;

struct Release {
    void operator()(IUnknown* object) const { object->Release(); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

static Owned<ID3D12Device> create_device() {
    ID3D12Device* device = nullptr;
    CHECK(SUCCEEDED(D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device))));
    return Owned<ID3D12Device>(device);
}

static Owned<ID3D12CommandQueue> create_queue(ID3D12Device& device, D3D12_COMMAND_LIST_TYPE type) {
    D3D12_COMMAND_QUEUE_DESC desc{};
    desc.Type = type;
    ID3D12CommandQueue* queue = nullptr;
    CHECK(SUCCEEDED(device.CreateCommandQueue(&desc, IID_PPV_ARGS(&queue))));
    return Owned<ID3D12CommandQueue>(queue);
}

static void refusals(ID3D12Device& device, ID3D12CommandQueue* compute) {
    try {
        static_cast<void>(tn::device_from_d3d12(&device, {compute}));
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_CREATE_DEVICE);
    }
}

// tenure's resources and barriers, the program's commands.
static void commands(const tn::Gpu& gpu) {
    const std::array<unsigned char, 64> bytes{1, 2, 3, 4};
    tn::Desc<tn_BufferDesc> desc;
    desc.size = desc.data_size = bytes.size();
    desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.data = bytes.data();
    tn::Buffer source = gpu.create_buffer(desc);
    desc.data_size = 0;
    desc.data = nullptr;
    const tn::Buffer copy = gpu.create_buffer(desc);
    tn::Desc<tn_TextureDesc> target_desc;
    target_desc.format = TN_FORMAT_RGBA8_UNORM;
    target_desc.width = target_desc.height = 4;
    target_desc.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_COPY_SRC;
    const tn::Texture target = gpu.create_texture(target_desc);
    tn::Desc<tn_TextureViewDesc> view_desc;
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    const tn::View view = gpu.create_view(target, view_desc);

    tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "commands"_tn);
    recording.use({tn::use(source, TN_STATE_COPY_SRC), tn::use(copy, TN_STATE_COPY_DST),
                   tn::use(target, TN_STATE_RENDER_TARGET)});
    const tn_Place from = source.place(), to = copy.place();
    auto* const list = tn::d3d12<ID3D12GraphicsCommandList*>(recording);
    list->CopyBufferRegion(tn::d3d12<ID3D12Resource*>(to.object), to.offset, tn::d3d12<ID3D12Resource*>(from.object), from.offset,
                           from.size);
    const float red[4] = {1.0f, 0.0f, 0.0f, 1.0f};
    list->ClearRenderTargetView(tn::d3d12<D3D12_CPU_DESCRIPTOR_HANDLE>(view), red, 0, nullptr);
    source.reset();
    const tn::Readback copied = recording.read_back(tn::part(copy, 0, bytes.size()));
    const tn::Readback cleared = recording.read_back(tn::part(target));
    std::move(recording).submit();
    CHECK(copied.wait() == std::vector<unsigned char>(bytes.begin(), bytes.end()));
    const std::vector<unsigned char> texels = cleared.wait().value();
    for (std::size_t at = 0; at < texels.size(); ++at) CHECK(texels[at] == (at % 4 % 3 == 0 ? 255 : 0));
}

// A table by its GPU descriptor handle, and objects of the program that wait for the GPU.
static void objects(const tn::Gpu& gpu, ID3D12Device& device, ID3D12CommandQueue* queue) {
    const tn::Sampler smooth = gpu.create_sampler();
    const tn::DescriptorTable table = gpu.create_descriptor_table({tn::bind(smooth)}, "samplers"_tn);
    CHECK(tn::d3d12<D3D12_GPU_DESCRIPTOR_HANDLE>(table.place().gpu_address).ptr != 0);
    CHECK(tn::d3d12<ID3D12DescriptorHeap*>(table) != nullptr);

    ID3D12Fence* fence = nullptr;
    CHECK(SUCCEEDED(device.CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence))));
    const tn_SyncPoint done = gpu.submit_external(TN_QUEUE_GRAPHICS, {}, [&](tn_Native native) {
        CHECK(tn::d3d12<ID3D12CommandQueue*>(native) == queue);
        CHECK(SUCCEEDED(queue->Signal(fence, 7)));
    });
    CHECK(gpu.wait(done) && fence->GetCompletedValue() == 7);
    gpu.release_after(done, [owned = Owned<ID3D12Fence>(fence)] {});
    gpu.reclaim();

    // Recordings that wait for a fence of the program, and signal it.
    ID3D12Fence* own = nullptr;
    CHECK(SUCCEEDED(device.CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&own))));
    const Owned<ID3D12Fence> owned(own);
    tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "waits"_tn);
    tn::add_fences_d3d12(recording, {{own, 1}}, {{own, 2}});
    const tn_SyncPoint submitted = std::move(recording).submit();
    CHECK(!gpu.wait(submitted, std::chrono::milliseconds(50)) && own->GetCompletedValue() == 0);
    CHECK(SUCCEEDED(own->Signal(1)) && gpu.wait(submitted) && own->GetCompletedValue() == 2);
}

static Owned<ID3D12Resource> create_committed(ID3D12Device& device, const D3D12_RESOURCE_DESC& desc, D3D12_HEAP_TYPE type) {
    D3D12_HEAP_PROPERTIES heap{};
    heap.Type = type;
    const D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD ? D3D12_RESOURCE_STATE_GENERIC_READ : D3D12_RESOURCE_STATE_COMMON;
    ID3D12Resource* resource = nullptr;
    CHECK(SUCCEEDED(device.CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, IID_PPV_ARGS(&resource))));
    return Owned<ID3D12Resource>(resource);
}

// Resources of the program that the manager adopts, with a reference until the GPU is done.
static void adopted(const tn::Gpu& gpu, ID3D12Device& device) {
    D3D12_RESOURCE_DESC own{};
    own.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    own.Width = 256;
    own.Height = own.DepthOrArraySize = own.MipLevels = 1;
    own.SampleDesc.Count = 1;
    own.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    Owned<ID3D12Resource> buffer = create_committed(device, own, D3D12_HEAP_TYPE_UPLOAD);
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 256;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_VERTEX;
    desc.memory = TN_MEMORY_UPLOAD;
    desc.name = "mine"_tn;
    const auto refused = [&](ID3D12Resource* resource, tn_State last, tn_Status status, const char* part = "") {
        try {
            static_cast<void>(tn::adopt_buffer_d3d12(gpu, desc, resource, last));
            CHECK(false);
        } catch (const tn::Error& error) {
            CHECK(error.status() == status && std::string(error.what()).find(part) != std::string::npos);
        }
    };
    refused(nullptr, TN_STATE_COMMON, TN_ERROR_POINTER);
    refused(reinterpret_cast<ID3D12Resource*>(&device), TN_STATE_COMMON, TN_ERROR_POINTER);
    refused(buffer.get(), TN_STATE_RENDER_TARGET, TN_ERROR_STATE);
    desc.size = 512;
    refused(buffer.get(), TN_STATE_COMMON, TN_ERROR_DEVICE);
    desc.size = 256;
    // The heap decides on the memory.
    Owned<ID3D12Resource> local = create_committed(device, own, D3D12_HEAP_TYPE_DEFAULT);
    refused(local.get(), TN_STATE_COMMON, TN_ERROR_DEVICE,
            "mine: memory = TN_MEMORY_UPLOAD, but it is in a heap that only the GPU accesses: TN_MEMORY_GPU_ONLY");
    for (const tn_Memory memory : {TN_MEMORY_GPU_ONLY, TN_MEMORY_READBACK, TN_MEMORY_GPU_UPLOAD}) {
        desc.memory = memory;
        refused(buffer.get(), TN_STATE_COPY_SRC, TN_ERROR_DEVICE, "but it is in an upload heap: TN_MEMORY_UPLOAD");
    }
    desc.memory = TN_MEMORY_GPU_ONLY;
    tn::adopt_buffer_d3d12(gpu, desc, local.get(), TN_STATE_COMMON).reset();
    desc.memory = TN_MEMORY_UPLOAD;
    {
        const tn::Buffer mine = tn::adopt_buffer_d3d12(gpu, desc, buffer.get(), TN_STATE_COPY_SRC);
        const std::vector<unsigned char> bytes(256, 9);
        mine.write(0, bytes.data(), bytes.size());
        const tn::Readback read = gpu.read_back(tn::part(mine, 0, bytes.size()));
        CHECK(read.wait() == bytes);
    }
    own.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
    own.Width = own.Height = 16;
    own.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    own.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
    Owned<ID3D12Resource> image = create_committed(device, own, D3D12_HEAP_TYPE_DEFAULT);
    tn::Desc<tn_TextureDesc> texture_desc;
    texture_desc.width = texture_desc.height = 16;
    texture_desc.format = TN_FORMAT_RGBA8_UNORM;
    texture_desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    {
        const tn::Texture grass = tn::adopt_texture_d3d12(gpu, texture_desc, image.get(), TN_STATE_COMMON);
        const std::vector<unsigned char> texels(16 * 16 * 4, 3);
        CHECK(gpu.wait(gpu.upload(tn::part(grass), {texels.data(), texels.size(), 0, 0, 0}), std::chrono::seconds(10)));
    }
    CHECK(gpu.wait(gpu.submitted()));
    gpu.reclaim();
    // The manager holds no reference any more.
    CHECK(buffer.release()->Release() == 0 && image.release()->Release() == 0 && local.release()->Release() == 0);
}

static void window(const tn::Gpu& gpu) {
    const HWND window =
        CreateWindowExA(WS_EX_TOPMOST, "STATIC", "tenure", WS_POPUP | WS_VISIBLE, 0, 0, 64, 32, nullptr, nullptr, nullptr, nullptr);
    CHECK(window != nullptr);
    tn::Desc<tn_SwapchainDesc> desc;
    desc.width = 64;
    desc.height = 32;
    {
        const tn::Swapchain swapchain = tn::create_swapchain_d3d12(gpu, window, desc);
        swapchain.set_frame_latency(1);
        CHECK(WaitForSingleObject(tn::waitable_d3d12(swapchain), 10000) == WAIT_OBJECT_0);
        tn::waited_d3d12(swapchain);
        const std::optional<tn::SwapchainImage> image = swapchain.acquire();
        CHECK(image);
        tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "picture"_tn);
        swapchain.begin(recording);
        recording.use({tn::use(image->texture, TN_STATE_RENDER_TARGET)});
        auto* const list = tn::d3d12<ID3D12GraphicsCommandList*>(recording);
        const float red[4] = {1.0f, 0.0f, 0.0f, 1.0f};
        list->ClearRenderTargetView(tn::d3d12<D3D12_CPU_DESCRIPTOR_HANDLE>(image->view), red, 0, nullptr);
        swapchain.finish(recording);
        std::move(recording).submit();
        swapchain.present();
    }
    DestroyWindow(window);
}

int main() {
    const Owned<ID3D12Device> device = create_device();
    Owned<ID3D12CommandQueue> direct = create_queue(*device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    Owned<ID3D12CommandQueue> compute = create_queue(*device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    refusals(*device, compute.get());
    {
        const tn::Device wrapped = tn::device_from_d3d12(device.get(), {direct.get(), compute.get()});
        CHECK(wrapped.properties().backend == TN_BACKEND_D3D12);
        const tn::Gpu gpu = tn::Gpu::create(wrapped);
        commands(gpu);
        objects(gpu, *device, direct.get());
        adopted(gpu, *device);
        window(gpu);
        CHECK(gpu.shutdown().empty());
    }
    // No references are left.
    CHECK(direct.release()->Release() == 0 && compute.release()->Release() == 0);
    return 0;
}
