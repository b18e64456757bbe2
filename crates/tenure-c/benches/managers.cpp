// Buffers and textures that are created and released, by tenure and by VMA on one Vulkan device. `cargo xtask c-managers` builds
// this program with VMA's header, and runs it.
//
// Without arguments it prints a line for each kind and manager, with nanoseconds: create, release, end of the frame, together.
// With a kind, a manager and a number of rounds it plays the rounds, for callgrind.
#define VMA_IMPLEMENTATION
#include <vk_mem_alloc.h>

#include <tenure_vulkan.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace tn::literals;

namespace {

constexpr std::uint32_t COUNT = 1000;
constexpr std::uint32_t WARM_UP = 5, ROUNDS = 101;
constexpr std::uint32_t BYTES = 4096, SIDE = 64;

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

/** Releases after a submission that may use the resources; the end of the frame frees their memory. */
template <class Resource>
class Tenure {
public:
    explicit Tenure(const tn::Gpu& gpu) : gpu_(gpu) {
        if constexpr (std::is_same_v<Resource, tn::Buffer>) {
            desc_.size = BYTES;
            desc_.usage = TN_USAGE_VERTEX | TN_USAGE_INDEX | TN_USAGE_COPY_DST;
        } else {
            desc_.format = TN_FORMAT_RGBA8_UNORM;
            desc_.width = desc_.height = SIDE;
            desc_.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
        }
    }
    using Made = std::vector<Resource>;
    void begin() {
        frame_ = gpu_.begin_frame();
        recording_ = gpu_.record(TN_QUEUE_GRAPHICS, "uses them"_tn);
    }
    void create(Made& made) {
        if constexpr (std::is_same_v<Resource, tn::Buffer>) {
            made.push_back(gpu_.create_buffer(desc_));
        } else {
            made.push_back(gpu_.create_texture(desc_));
        }
    }
    void submit() { std::move(recording_).submit(); }
    void release(Made& made) { made.clear(); }
    void end() { std::move(frame_).end(); }

private:
    const tn::Gpu& gpu_;
    tn::Desc<std::conditional_t<std::is_same_v<Resource, tn::Buffer>, tn_BufferDesc, tn_TextureDesc>> desc_;
    tn::Frame frame_;
    tn::Recording recording_;
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

/** The nanoseconds of a call. callgrind counts inside of it. */
template <class Work>
[[gnu::noinline]] double measured(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/** A way to have resources, with as many others alive, so that blocks of memory are kept. */
class Rounds {
public:
    Rounds() = default;
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    virtual ~Rounds() = default;
    virtual void play() = 0;

    void print(const char* kind, const char* manager) {
        std::printf("%s|%s", kind, manager);
        for (std::vector<double>& times : times_) {
            times.erase(times.begin(), times.begin() + WARM_UP);
            std::sort(times.begin(), times.end());
            std::printf("|%.1f", times[times.size() / 2] / COUNT);
        }
        std::printf("\n");
    }

protected:
    std::array<std::vector<double>, 4> times_;
};

template <class Way>
class RoundsOf : public Rounds {
public:
    template <class Manager>
    explicit RoundsOf(const Manager& manager) : way_(manager) {
        made_.reserve(COUNT);
        for (std::uint32_t number = 0; number < COUNT; ++number) way_.create(kept_);
    }
    ~RoundsOf() override { way_.release(kept_); }
    void play() override {
        way_.begin();
        const double create = measured([this] {
            for (std::uint32_t number = 0; number < COUNT; ++number) way_.create(made_);
        });
        way_.submit();
        const double release = measured([this] { way_.release(made_); });
        const double end = measured([this] { way_.end(); });
        const double all[] = {create, release, end, create + release + end};
        for (std::size_t step = 0; step < times_.size(); ++step) times_[step].push_back(all[step]);
    }

private:
    Way way_;
    typename Way::Made kept_, made_;
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
        struct Line {
            const char *kind, *manager;
            Rounds* rounds;
        };
        const Line lines[] = {{"4 KiB buffer", "tenure", &buffers},
                              {"4 KiB buffer", "VMA", &vma_buffers},
                              {"64x64 texture", "tenure", &textures},
                              {"64x64 texture", "VMA", &vma_textures}};
        if (count == 4) {
            for (const Line& line : lines) {
                const bool is_wanted = arguments[1] == std::string_view(line.kind) && arguments[2] == std::string_view(line.manager);
                for (int round = is_wanted ? std::atoi(arguments[3]) : 0; round > 0; --round) line.rounds->play();
            }
        } else {
            for (std::uint32_t round = 0; round < WARM_UP + ROUNDS; ++round) {
                for (const Line& line : lines) line.rounds->play();
            }
            for (const Line& line : lines) line.rounds->print(line.kind, line.manager);
        }
    }
    vmaDestroyAllocator(allocator);
    const std::string left = gpu.shutdown();
    if (!left.empty()) std::fprintf(stderr, "%s\n", left.c_str());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(count, arguments);
    } catch (const tn::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
