// Buffers and textures that are created and released, by tenure and by D3D12MA on one Direct3D 12 device.
// `cargo xtask c-managers --d3d12ma FOLDER` builds this program with the sources of D3D12MA, and runs it in the device lab.
#include <D3D12MemAlloc.h>

#include <tenure_d3d12.hpp>

#include <memory>
#include <utility>

#include "managers.hpp"

namespace {

void checked(HRESULT result) {
    if (SUCCEEDED(result)) return;
    std::fprintf(stderr, "HRESULT %#lx\n", static_cast<unsigned long>(result));
    std::exit(1);
}

struct Release {
    void operator()(IUnknown* object) const { object->Release(); }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;

/** Destroys at once: nothing uses the resources, which a program would have to know. The allocation owns its resource. */
class D3d12ma {
public:
    D3d12ma(D3D12MA::Allocator& allocator, bool is_texture) : allocator_(allocator) {
        allocation_.HeapType = D3D12_HEAP_TYPE_DEFAULT;
        desc_.Dimension = is_texture ? D3D12_RESOURCE_DIMENSION_TEXTURE2D : D3D12_RESOURCE_DIMENSION_BUFFER;
        desc_.Width = is_texture ? SIDE : BYTES;
        desc_.Height = is_texture ? SIDE : 1;
        desc_.DepthOrArraySize = desc_.MipLevels = 1;
        desc_.Format = is_texture ? DXGI_FORMAT_R8G8B8A8_UNORM : DXGI_FORMAT_UNKNOWN;
        desc_.SampleDesc.Count = 1;
        desc_.Layout = is_texture ? D3D12_TEXTURE_LAYOUT_UNKNOWN : D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    }
    using Made = std::vector<Owned<D3D12MA::Allocation>>;
    void begin() {}
    void create(Made& made) {
        D3D12MA::Allocation* created = nullptr;
        checked(allocator_.CreateResource(&allocation_, &desc_, D3D12_RESOURCE_STATE_COMMON, nullptr, &created, IID_NULL, nullptr));
        made.emplace_back(created);
    }
    void submit() {}
    void release(Made& made) { made.clear(); }
    void end() {}

private:
    D3D12MA::Allocator& allocator_;
    D3D12MA::ALLOCATION_DESC allocation_{};
    D3D12_RESOURCE_DESC desc_{};
};

void run(int count, char** arguments) {
    IDXGIFactory1* made_factory = nullptr;
    checked(CreateDXGIFactory1(IID_PPV_ARGS(&made_factory)));
    const Owned<IDXGIFactory1> factory(made_factory);
    IDXGIAdapter* made_adapter = nullptr;
    checked(factory->EnumAdapters(0, &made_adapter));
    const Owned<IDXGIAdapter> adapter(made_adapter);
    ID3D12Device* made_device = nullptr;
    checked(D3D12CreateDevice(adapter.get(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&made_device)));
    const Owned<ID3D12Device> device(made_device);
    const D3D12_COMMAND_QUEUE_DESC queue_desc{};
    ID3D12CommandQueue* made_queue = nullptr;
    checked(device->CreateCommandQueue(&queue_desc, IID_PPV_ARGS(&made_queue)));
    const Owned<ID3D12CommandQueue> queue(made_queue);

    D3D12MA::ALLOCATOR_DESC desc{};
    desc.pDevice = device.get();
    desc.pAdapter = adapter.get();
    D3D12MA::Allocator* made_allocator = nullptr;
    checked(D3D12MA::CreateAllocator(&desc, &made_allocator));
    const Owned<D3D12MA::Allocator> allocator(made_allocator);
    const tn::Gpu gpu = tn::Gpu::create(tn::device_from_d3d12(device.get(), {queue.get()}));
    {
        RoundsOf<Tenure<tn::Buffer>> buffers(gpu);
        RoundsOf<D3d12ma> other_buffers(*allocator, false);
        RoundsOf<Tenure<tn::Texture>> textures(gpu);
        RoundsOf<D3d12ma> other_textures(*allocator, true);
        play_lines({{"4 KiB buffer", "tenure", &buffers},
                    {"4 KiB buffer", "D3D12MA", &other_buffers},
                    {"64x64 texture", "tenure", &textures},
                    {"64x64 texture", "D3D12MA", &other_textures}},
                   count, arguments);
    }
    print_leaks(gpu);
}

}  // namespace

int main(int count, char** arguments) { return status_of(run, count, arguments); }
