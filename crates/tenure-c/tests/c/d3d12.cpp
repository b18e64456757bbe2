// tenure_d3d12.hpp on a Direct3D 12 device of the program.
#include "tenure_d3d12.hpp"

#include <d3d12.h>

#include "check.h"

#include <array>
#include <memory>

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
        window(gpu);
        CHECK(gpu.shutdown().empty());
    }
    // No references are left.
    CHECK(direct.release()->Release() == 0 && compute.release()->Release() == 0);
    return 0;
}
