// Buffers and textures that are created and released, by tenure and by VMA on one Vulkan device. `cargo xtask c-managers` builds
// this program with VMA's header, and runs it.
#define VMA_IMPLEMENTATION
#include <vk_mem_alloc.h>

#include <tenure_vulkan.hpp>

#include "managers.hpp"

namespace {

void checked(VkResult result) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "VkResult %d\n", result);
    std::exit(1);
}

/** The first device, as both managers get it. */
struct Vulkan {
    VkInstance instance{};
    VkPhysicalDevice physical_device{};
    VkDevice device{};
    VkQueue queue{};
    tn::Device wrapped;

    Vulkan() {
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.apiVersion = VK_API_VERSION_1_2;
        VkInstanceCreateInfo instance_info{};
        instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        instance_info.pApplicationInfo = &application;
        checked(vkCreateInstance(&instance_info, nullptr, &instance));
        std::uint32_t count = 1;
        const VkResult found = vkEnumeratePhysicalDevices(instance, &count, &physical_device);
        checked(found == VK_INCOMPLETE ? VK_SUCCESS : found);

        VkPhysicalDeviceVulkan12Features features{};
        features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        features.timelineSemaphore = VK_TRUE;
        const float priority = 1;
        VkDeviceQueueCreateInfo queue_info{};
        queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue_info.queueCount = 1;
        queue_info.pQueuePriorities = &priority;
        VkDeviceCreateInfo device_info{};
        device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        device_info.pNext = &features;
        device_info.queueCreateInfoCount = 1;
        device_info.pQueueCreateInfos = &queue_info;
        checked(vkCreateDevice(physical_device, &device_info, nullptr, &device));
        vkGetDeviceQueue(device, 0, 0, &queue);

        const tn_VkQueue queues[] = {{queue, 0, TN_QUEUE_KIND_ALL}};
        tn::Desc<tn_VkDeviceDesc> desc;
        desc.get_instance_proc_addr = vkGetInstanceProcAddr;
        desc.instance = instance;
        desc.physical_device = physical_device;
        desc.device = device;
        desc.create_info = &device_info;
        desc.queues = queues;
        desc.queue_count = 1;
        desc.api_version = VK_API_VERSION_1_2;
        wrapped = tn::device_from_vk(desc);
    }
    Vulkan(const Vulkan&) = delete;
    Vulkan& operator=(const Vulkan&) = delete;
    ~Vulkan() {
        wrapped.reset();
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }
};

/** Destroys at once: nothing uses the resources, which a program would have to know. */
template <class Resource>
class Vma {
public:
    explicit Vma(VmaAllocator allocator) : allocator_(allocator) {
        allocation_.usage = VMA_MEMORY_USAGE_AUTO;
        if constexpr (std::is_same_v<Resource, VkBuffer>) {
            info_.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
            info_.size = BYTES;
            info_.usage =
                VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        } else {
            info_.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
            info_.imageType = VK_IMAGE_TYPE_2D;
            info_.format = VK_FORMAT_R8G8B8A8_UNORM;
            info_.extent = {SIDE, SIDE, 1};
            info_.mipLevels = info_.arrayLayers = 1;
            info_.samples = VK_SAMPLE_COUNT_1_BIT;
            info_.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        }
    }
    using Made = std::vector<std::pair<Resource, VmaAllocation>>;
    void begin() {}
    void create(Made& made) {
        Resource resource{};
        VmaAllocation memory{};
        if constexpr (std::is_same_v<Resource, VkBuffer>) {
            checked(vmaCreateBuffer(allocator_, &info_, &allocation_, &resource, &memory, nullptr));
        } else {
            checked(vmaCreateImage(allocator_, &info_, &allocation_, &resource, &memory, nullptr));
        }
        made.emplace_back(resource, memory);
    }
    void submit() {}
    void release(Made& made) {
        for (const auto& [resource, memory] : made) {
            if constexpr (std::is_same_v<Resource, VkBuffer>) {
                vmaDestroyBuffer(allocator_, resource, memory);
            } else {
                vmaDestroyImage(allocator_, resource, memory);
            }
        }
        made.clear();
    }
    void end() {}

private:
    VmaAllocator allocator_;
    VmaAllocationCreateInfo allocation_{};
    std::conditional_t<std::is_same_v<Resource, VkBuffer>, VkBufferCreateInfo, VkImageCreateInfo> info_{};
};

void run(int count, char** arguments) {
    const Vulkan vulkan;
    const tn::Gpu gpu = tn::Gpu::create(vulkan.wrapped);
    VmaAllocatorCreateInfo info{};
    info.vulkanApiVersion = VK_API_VERSION_1_2;
    info.instance = vulkan.instance;
    info.physicalDevice = vulkan.physical_device;
    info.device = vulkan.device;
    VmaAllocator allocator{};
    checked(vmaCreateAllocator(&info, &allocator));
    {
        RoundsOf<Tenure<tn::Buffer>> buffers(gpu);
        RoundsOf<Vma<VkBuffer>> vma_buffers(allocator);
        RoundsOf<Tenure<tn::Texture>> textures(gpu);
        RoundsOf<Vma<VkImage>> vma_textures(allocator);
        play_lines({{"4 KiB buffer", "tenure", &buffers},
                    {"4 KiB buffer", "VMA", &vma_buffers},
                    {"64x64 texture", "tenure", &textures},
                    {"64x64 texture", "VMA", &vma_textures}},
                   count, arguments);
    }
    vmaDestroyAllocator(allocator);
    print_leaks(gpu);
}

}  // namespace

int main(int count, char** arguments) { return status_of(run, count, arguments); }
