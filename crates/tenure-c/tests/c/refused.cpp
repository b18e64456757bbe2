// Mistakes that do not compile: the compiler has a message for each line with the comment "refused", and for no other line.
#include "tenure_d3d12.hpp"
#include "tenure_vulkan.hpp"

#include <array>

using namespace tn::literals;

struct D3D12_CPU_DESCRIPTOR_HANDLE {
    std::size_t ptr;
};
struct D3D12_GPU_DESCRIPTOR_HANDLE {
    std::uint64_t ptr;
};
using VkBuffer = VkBuffer_T*;
using VkImage = VkImage_T*;
using VkImageView = VkImageView_T*;

static void no_changes(const tn_PressureChange&) {}

// Handles of a graph or a swap chain are not the program's to release.
void lent(const tn::Pass& pass, tn::SwapchainImage& image);
void lent(const tn::Pass& pass, tn::SwapchainImage& image) {
    auto list = pass.recording();
    auto texture = pass.texture(0);
    texture = pass.texture(1);
    const tn::Texture& borrowed = pass.texture(0);
    tn::Texture kept(borrowed.raw());
    std::vector<tn::Texture> all;
    tn::Recording stolen = pass.recording();  // refused
    tn::Recording moved(std::move(list));     // refused
    tn::Texture first = pass.texture(0);      // refused
    tn::Buffer second(pass.buffer(0));        // refused
    kept = pass.texture(0);                   // refused
    kept = std::move(texture);                // refused
    all.push_back(pass.texture(0));           // refused
    pass.recording().submit();                // refused
    std::move(list).submit();                 // refused
    texture.reset();                          // refused
    texture.detach();                         // refused
    image.view.reset();                       // refused
    tn::View view = std::move(image.view);    // refused
    kept.detach();
}

// The owner of a handle that nothing keeps releases it at once.
void dropped(const tn::Gpu& gpu, const tn::Buffer& buffer, const tn::Recording& list, const tn::Swapchain& swapchain);
void dropped(const tn::Gpu& gpu, const tn::Buffer& buffer, const tn::Recording& list, const tn::Swapchain& swapchain) {
    gpu.upload(buffer, 0, "rock", 4);
    gpu.on_pressure(no_changes);
    swapchain.present();
    gpu.create_buffer(tn::Desc<tn_BufferDesc>());   // refused
    gpu.create_view(buffer, {});                    // refused
    gpu.begin_frame();                              // refused
    gpu.record(TN_QUEUE_GRAPHICS, "draw"_tn);       // refused
    gpu.defer("pipeline"_tn, [] {});                // refused
    gpu.read_back(tn::part(buffer, 0, 4));          // refused
    list.transient_buffer(tn::Desc<tn_BufferDesc>());  // refused
    list.write_timestamp();                         // refused
    tn::Graph::create();                            // refused
}

// A query would never end, and bytes would never be used.
void forgotten(const tn::Gpu& gpu, const tn::Recording& list, const tn::Query& query, const tn::UploadRing& ring);
void forgotten(const tn::Gpu& gpu, const tn::Recording& list, const tn::Query& query, const tn::UploadRing& ring) {
    ring.close();
    list.begin_query(TN_QUERY_OCCLUSION);      // refused
    list.begin_gpu_time("draws"_tn);           // refused
    list.build_scratch(64);                    // refused
    query.since(query);                        // refused
    ring.allocate(list, 64, 16);               // refused
    gpu.cost(tn::Desc<tn_BufferDesc>());       // refused
    gpu.cost(tn::Desc<tn_TextureDesc>());      // refused
}

// The GPU would read pointers, or the numbers of handles.
void constants(const tn::Recording& list, const tn::Buffer& buffer);
void constants(const tn::Recording& list, const tn::Buffer& buffer) {
    struct Row {
        const float* data() const { return nullptr; }
    };
    const std::array<const char*, 2> names{"a", "b"};
    const float* const pointer = nullptr;
    list.constants(1.0f);
    list.constants(std::vector<float>(4));
    list.constants(pointer);                      // refused
    list.constants(names);                        // refused
    list.constants(Row());                        // refused
    list.constants(buffer);                       // refused
    list.constants(std::vector<std::string>(1));  // refused
}

// Elements of another size.
struct Mine : tn_Use {
    int number;
};

void arrays(const tn::Recording& list, Mine* mine);
void arrays(const tn::Recording& list, Mine* mine) {
    const Mine two[2] = {};
    const std::vector<tn_Use> uses(1);
    list.use(uses);
    list.use({uses.data(), uses.size()});
    const tn::Array<tn_BufferDesc> descriptions = std::vector<tn::Desc<tn_BufferDesc>>(1);
    list.use(std::vector<Mine>(2));  // refused
    list.use({mine, 2});             // refused
    list.use(two);                   // refused
    list.copy(uses);                 // refused
    static_cast<void>(descriptions);
}

// The API's types for other objects.
void vulkan(const tn::Recording& list, const tn::Texture& texture, const tn::View& view, const tn::Buffer& buffer);
void vulkan(const tn::Recording& list, const tn::Texture& texture, const tn::View& view, const tn::Buffer& buffer) {
    tn::vk<VkImage>(texture);
    tn::vk<VkImage>(list, texture);
    tn::vk<VkImageView>(view);
    tn::vk<VkCommandBuffer_T*>(list);
    tn::vk<std::uint64_t>(texture);
    tn::vk<VkBuffer>(buffer.place().object);
    tn::vk<VkImageView>(texture);                // refused
    tn::vk<VkImageView>(list, texture);          // refused
    tn::vk<VkImage>(view);                       // refused
    tn::vk<VkBuffer>(view);                      // refused
    tn::vk<VkBuffer>(buffer);                    // refused
    tn::vk<std::uint64_t>(buffer);               // refused
    tn::vk<VkImage>(list);                       // refused
    tn::vk<float>(texture);                      // refused
    tn::vk<float>(buffer.place().object);        // refused
    tn::vk<std::uint32_t>(buffer.place().object);  // refused
}

void d3d12(const tn::Recording& list, const tn::Texture& texture, const tn::View& view, const tn::DescriptorTable& table);
void d3d12(const tn::Recording& list, const tn::Texture& texture, const tn::View& view, const tn::DescriptorTable& table) {
    tn::d3d12<ID3D12Resource*>(texture);
    tn::d3d12<ID3D12Resource*>(list, texture);
    tn::d3d12<D3D12_CPU_DESCRIPTOR_HANDLE>(view);
    tn::d3d12<ID3D12DescriptorHeap*>(table);
    tn::d3d12<D3D12_GPU_DESCRIPTOR_HANDLE>(table.place().gpu_address);
    tn::d3d12<ID3D12GraphicsCommandList*>(list);
    tn::d3d12<ID3D12Resource*>(view);              // refused
    tn::d3d12<D3D12_GPU_DESCRIPTOR_HANDLE>(view);  // refused
    tn::d3d12<D3D12_CPU_DESCRIPTOR_HANDLE>(texture);  // refused
    tn::d3d12<D3D12_GPU_DESCRIPTOR_HANDLE>(table);    // refused
    tn::d3d12<ID3D12Resource*>(list);              // refused
}
