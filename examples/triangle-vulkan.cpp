// Two triangles off screen, on a Vulkan 1.3 device of the program: triangle-vulkan.rs in C++17, with the same picture.
//
//     cargo run --example triangle-vulkan -- --headless --write-shaders triangle.spv
//     cargo xtask archive
//     tar -xf target/archive/tenure-0.1.0-x86_64-linux.tar.gz
//     export PKG_CONFIG_PATH=tenure-0.1.0-x86_64-linux/lib/pkgconfig LD_LIBRARY_PATH=tenure-0.1.0-x86_64-linux/lib
//     c++ -std=c++17 examples/triangle-vulkan.cpp $(pkg-config --cflags --libs tenure vulkan) -o triangle
//     ./triangle --shaders triangle.spv --frames 30 --picture triangle.pam

#include <vulkan/vulkan.h>

#include "tenure_vulkan.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tn::literals;
using Bytes = std::vector<unsigned char>;

constexpr std::uint32_t WIDTH = 400, HEIGHT = 300;
/** Position and texture coordinates. The far triangle comes last: only depth keeps it behind the near one. */
constexpr float TRIANGLES[6][5] = {{0.0f, 0.8f, 0.3f, 2.0f, 0.0f},   {0.7f, -0.5f, 0.3f, 4.0f, 4.0f},
                                   {-0.7f, -0.5f, 0.3f, 0.0f, 4.0f}, {0.0f, -0.8f, 0.6f, 8.0f, 16.0f},
                                   {-0.8f, 0.5f, 0.6f, 0.0f, 0.0f},  {0.8f, 0.5f, 0.6f, 16.0f, 0.0f}};

struct Arguments {
    std::uint64_t frames = 1;
    const char* picture = nullptr;
    const char* shaders = "triangle.spv";
};

static void check(VkResult result) {
    if (result != VK_SUCCESS) throw std::runtime_error("Vulkan returned " + std::to_string(result));
}

/** The features of Vulkan that the program and tenure use. */
struct Features {
    VkPhysicalDeviceVulkan13Features version_1_3{};
    VkPhysicalDeviceVulkan12Features version_1_2{};
    VkPhysicalDeviceFeatures2 all{};

    Features() {
        version_1_3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
        version_1_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        version_1_2.pNext = &version_1_3;
        all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        all.pNext = &version_1_2;
    }
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;
};

/** The number of a family of queues with graphics, on a device that the program can use. */
static std::optional<std::uint32_t> usable_family(VkPhysicalDevice device) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_3) return std::nullopt;
    Features has;
    vkGetPhysicalDeviceFeatures2(device, &has.all);
    if (!has.version_1_3.dynamicRendering || !has.version_1_3.synchronization2) return std::nullopt;
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    const VkQueueFlags all = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    for (std::uint32_t family = 0; family < count; ++family) {
        if ((families[family].queueFlags & all) == all) return family;
    }
    return std::nullopt;
}

static bool has_extension(VkPhysicalDevice device, const char* name) {
    std::uint32_t count = 0;
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr));
    std::vector<VkExtensionProperties> extensions(count);
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()));
    for (const VkExtensionProperties& extension : extensions) {
        if (std::strcmp(extension.extensionName, name) == 0) return true;
    }
    return false;
}

/** A device as an engine makes it. tenure destroys none of it. */
struct Engine {
    VkInstance instance = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    tn::Device wrapped;

    /** Objects that were created before an exception are destroyed by the destructor. */
    Engine() : Engine(nullptr) {
        VkApplicationInfo application{};
        application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        application.apiVersion = VK_API_VERSION_1_3;
        VkInstanceCreateInfo instance_info{};
        instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        instance_info.pApplicationInfo = &application;
        check(vkCreateInstance(&instance_info, nullptr, &instance));
        std::uint32_t count = 0;
        check(vkEnumeratePhysicalDevices(instance, &count, nullptr));
        std::vector<VkPhysicalDevice> devices(count);
        check(vkEnumeratePhysicalDevices(instance, &count, devices.data()));
        for (const VkPhysicalDevice physical_device : devices) {
            if (const auto family = usable_family(physical_device)) {
                create(physical_device, *family);
                return;
            }
        }
        throw std::runtime_error("no device with Vulkan 1.3, dynamic rendering, synchronization2 and graphics");
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() {
        wrapped.reset();
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }

private:
    explicit Engine(std::nullptr_t) {}

    void create(VkPhysicalDevice physical_device, std::uint32_t family) {
        const float priority = 1.0f;
        VkDeviceQueueCreateInfo queue_info{};
        queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue_info.queueFamilyIndex = family;
        queue_info.queueCount = 1;
        queue_info.pQueuePriorities = &priority;
        Features features;
        features.version_1_3.dynamicRendering = features.version_1_3.synchronization2 = VK_TRUE;
        features.version_1_2.timelineSemaphore = VK_TRUE;
        const char* const extension = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
        VkDeviceCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        info.pNext = &features.all;
        info.queueCreateInfoCount = 1;
        info.pQueueCreateInfos = &queue_info;
        info.enabledExtensionCount = has_extension(physical_device, extension) ? 1 : 0;
        info.ppEnabledExtensionNames = &extension;
        check(vkCreateDevice(physical_device, &info, nullptr, &device));

        tn_VkQueue queue{nullptr, family, TN_QUEUE_KIND_ALL};
        vkGetDeviceQueue(device, family, 0, &queue.queue);
        tn::Desc<tn_VkDeviceDesc> desc;
        desc.get_instance_proc_addr = vkGetInstanceProcAddr;
        desc.instance = instance;
        desc.physical_device = physical_device;
        desc.device = device;
        desc.create_info = &info;
        desc.queues = &queue;
        desc.queue_count = 1;
        desc.api_version = VK_API_VERSION_1_3;
        wrapped = tn::device_from_vk(desc);
    }
};

/** tenure does not manage pipelines: this is Vulkan's own. */
struct Pipeline {
    VkDevice device;
    VkShaderModule shaders = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;

    Pipeline(VkDevice on, VkDescriptorSetLayout set_layout, const char* path) : Pipeline(on) {
        std::ifstream file(path, std::ios::binary);
        const Bytes code{std::istreambuf_iterator<char>(file), {}};
        std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
        if (words.empty()) throw std::runtime_error(std::string("no SPIR-V in ") + path);
        std::memcpy(words.data(), code.data(), words.size() * sizeof(std::uint32_t));
        VkShaderModuleCreateInfo module_info{};
        module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        module_info.codeSize = words.size() * sizeof(std::uint32_t);
        module_info.pCode = words.data();
        check(vkCreateShaderModule(device, &module_info, nullptr, &shaders));
        VkPipelineLayoutCreateInfo layout_info{};
        layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout_info.setLayoutCount = 1;
        layout_info.pSetLayouts = &set_layout;
        check(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout));

        VkPipelineShaderStageCreateInfo stages[2]{};
        for (VkPipelineShaderStageCreateInfo& stage : stages) {
            stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
            stage.module = shaders;
        }
        stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
        stages[0].pName = "vertex";
        stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
        stages[1].pName = "fragment";
        const VkVertexInputBindingDescription binding{0, sizeof *TRIANGLES, VK_VERTEX_INPUT_RATE_VERTEX};
        const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                                {1, 0, VK_FORMAT_R32G32_SFLOAT, 3 * sizeof(float)}};
        VkPipelineVertexInputStateCreateInfo input{};
        input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
        input.vertexBindingDescriptionCount = 1;
        input.pVertexBindingDescriptions = &binding;
        input.vertexAttributeDescriptionCount = 2;
        input.pVertexAttributeDescriptions = attributes;
        VkPipelineInputAssemblyStateCreateInfo assembly{};
        assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
        assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
        VkPipelineViewportStateCreateInfo viewport{};
        viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
        viewport.viewportCount = viewport.scissorCount = 1;
        VkPipelineRasterizationStateCreateInfo raster{};
        raster.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
        raster.lineWidth = 1.0f;
        VkPipelineMultisampleStateCreateInfo sample{};
        sample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
        sample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
        VkPipelineDepthStencilStateCreateInfo depth{};
        depth.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO;
        depth.depthTestEnable = depth.depthWriteEnable = VK_TRUE;
        depth.depthCompareOp = VK_COMPARE_OP_LESS;
        VkPipelineColorBlendAttachmentState target{};
        target.colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT |
                                VK_COLOR_COMPONENT_A_BIT;
        VkPipelineColorBlendStateCreateInfo blend{};
        blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
        blend.attachmentCount = 1;
        blend.pAttachments = &target;
        const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
        VkPipelineDynamicStateCreateInfo dynamic{};
        dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
        dynamic.dynamicStateCount = 2;
        dynamic.pDynamicStates = states;
        const VkFormat color = VK_FORMAT_B8G8R8A8_SRGB;
        VkPipelineRenderingCreateInfo formats{};
        formats.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
        formats.colorAttachmentCount = 1;
        formats.pColorAttachmentFormats = &color;
        formats.depthAttachmentFormat = VK_FORMAT_D32_SFLOAT;
        VkGraphicsPipelineCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        info.pNext = &formats;
        info.stageCount = 2;
        info.pStages = stages;
        info.pVertexInputState = &input;
        info.pInputAssemblyState = &assembly;
        info.pViewportState = &viewport;
        info.pRasterizationState = &raster;
        info.pMultisampleState = &sample;
        info.pDepthStencilState = &depth;
        info.pColorBlendState = &blend;
        info.pDynamicState = &dynamic;
        info.layout = layout;
        check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
    }
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;
    ~Pipeline() {
        vkDestroyPipeline(device, pipeline, nullptr);
        vkDestroyPipelineLayout(device, layout, nullptr);
        vkDestroyShaderModule(device, shaders, nullptr);
    }

private:
    explicit Pipeline(VkDevice on) : device(on) {}
};

static tn::Desc<tn_TextureDesc> describe_texture(std::uint32_t width, std::uint32_t height, tn_Format format, tn_Usage usage,
                                                 tn_Str name) {
    tn::Desc<tn_TextureDesc> desc;
    desc.width = width;
    desc.height = height;
    desc.format = format;
    desc.usage = usage;
    desc.name = name;
    return desc;
}

/** The texels of a mip: four squares, darker from mip to mip. */
static Bytes board_texels(std::uint32_t side, std::uint32_t mip) {
    const auto light = static_cast<unsigned char>(255 - 40 * mip);
    const std::array<std::array<unsigned char, 4>, 2> squares{{{light, light, light, 255}, {40, 60, 90, 255}}};
    Bytes texels;
    for (std::uint32_t y = 0; y < side; ++y) {
        for (std::uint32_t x = 0; x < side; ++x) {
            const auto& square = squares[(2 * x / side + 2 * y / side) % 2];
            texels.insert(texels.end(), square.begin(), square.end());
        }
    }
    return texels;
}

/** The resources of the frames. Released objects are destroyed when the GPU is done with them. */
class Scene {
public:
    Scene(const tn::Gpu& gpu, VkDevice device, const char* shaders) : gpu_(gpu) {
        tn::Desc<tn_BufferDesc> vertices;
        vertices.size = vertices.data_size = sizeof TRIANGLES;
        vertices.data = TRIANGLES;
        vertices.usage = TN_USAGE_VERTEX;
        vertices.name = "vertices"_tn;
        vertices_ = gpu.create_buffer(vertices);

        auto board = describe_texture(64, 64, TN_FORMAT_RGBA8_SRGB, TN_USAGE_SHADER_READ, "board"_tn);
        board.mips = 6;
        std::vector<Bytes> mips;
        for (std::uint32_t mip = 0; mip < board.mips; ++mip) mips.push_back(board_texels(64u >> mip, mip));
        std::vector<tn_Texels> texels;
        for (const Bytes& mip : mips) texels.push_back({mip.data(), mip.size(), 0, 0, 0});
        board.data = texels.data();
        board.data_count = texels.size();
        board_ = gpu.create_texture(board);
        board_view_ = gpu.create_view(board_);
        sampler_ = gpu.create_sampler();
        set_layout_ =
            gpu.create_set_layout({{0, TN_BINDING_CONSTANTS, 1}, {1, TN_BINDING_TEXTURE, 1}, {2, TN_BINDING_SAMPLER, 1}}, "frame"_tn);
        auto pipeline = std::make_unique<Pipeline>(device, tn::vk<VkDescriptorSetLayout>(set_layout_), shaders);
        pipeline_ = pipeline.get();
        // The destructor of the lambda destroys the pipeline.
        pipeline_owner_ = gpu.defer("pipeline"_tn, [pipeline = std::move(pipeline)] {});
    }

    void draw(const tn::Recording& list, const tn::Texture& target, const tn::View& view, std::uint64_t number) const {
        // Depth is needed only in this recording: other transient resources can share its memory.
        const tn::Texture depth = list.transient_texture(
            describe_texture(WIDTH, HEIGHT, TN_FORMAT_D32_FLOAT, TN_USAGE_DEPTH_STENCIL, "depth"_tn));
        tn::Desc<tn_TextureViewDesc> depth_desc;
        depth_desc.access = TN_TEXTURE_DEPTH_STENCIL;
        const tn::View depth_view = gpu_.create_view(depth, depth_desc);
        // Barriers follow from the declared states.
        list.use({tn::use(target, TN_STATE_RENDER_TARGET), tn::use(depth, TN_STATE_DEPTH_WRITE),
                  tn::use(board_, TN_STATE_PIXEL_SHADER), tn::use(vertices_, TN_STATE_VERTEX_OR_CONSTANT)});
        const float angle = static_cast<float>(number) * 0.01f;
        const std::array<float, 4> frame{std::cos(angle), std::sin(angle), static_cast<float>(HEIGHT) / WIDTH, 0.0f};
        const auto set = tn::vk<VkDescriptorSet>(
            list.descriptor_set(set_layout_, {tn::bind_data(&frame, sizeof frame, 0), tn::bind(board_view_, 1), tn::bind(sampler_, 2)})
                .object);
        VkRenderingAttachmentInfo color{};
        color.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
        color.imageView = tn::vk<VkImageView>(view);
        color.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
        color.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
        color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        color.clearValue.color = {{0.4f, 0.5f, 0.6f, 1.0f}};
        VkRenderingAttachmentInfo depths = color;
        depths.imageView = tn::vk<VkImageView>(depth_view);
        depths.imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
        depths.storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
        depths.clearValue.depthStencil = {1.0f, 0};
        VkRenderingInfo rendering{};
        rendering.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
        rendering.renderArea.extent = {WIDTH, HEIGHT};
        rendering.layerCount = 1;
        rendering.colorAttachmentCount = 1;
        rendering.pColorAttachments = &color;
        rendering.pDepthAttachment = &depths;
        const VkViewport viewport{0.0f, 0.0f, static_cast<float>(WIDTH), static_cast<float>(HEIGHT), 0.0f, 1.0f};
        const tn_Place vertices = vertices_.place();
        const auto buffer = tn::vk<VkBuffer>(vertices.object);
        // After the uses, so that their barriers are recorded.
        const auto commands = tn::vk<VkCommandBuffer>(list);
        vkCmdBeginRendering(commands, &rendering);
        vkCmdSetViewport(commands, 0, 1, &viewport);
        vkCmdSetScissor(commands, 0, 1, &rendering.renderArea);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_->pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_->layout, 0, 1, &set, 0, nullptr);
        vkCmdBindVertexBuffers(commands, 0, 1, &buffer, &vertices.offset);
        vkCmdDraw(commands, 6, 1, 0, 0);
        vkCmdEndRendering(commands);
    }

private:
    const tn::Gpu& gpu_;
    tn::Buffer vertices_;
    tn::Texture board_;
    tn::View board_view_;
    tn::Sampler sampler_;
    tn::SetLayout set_layout_;
    const Pipeline* pipeline_ = nullptr;
    tn::Deferred pipeline_owner_;
};

/** Writes a PAM file: a few lines of text, then the texels. */
static void write_picture(const char* path, Bytes bgra) {
    for (std::size_t at = 0; at + 2 < bgra.size(); at += 4) std::swap(bgra[at], bgra[at + 2]);
    std::ofstream file(path, std::ios::binary);
    file << "P7\nWIDTH " << WIDTH << "\nHEIGHT " << HEIGHT << "\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n";
    file.write(reinterpret_cast<const char*>(bgra.data()), static_cast<std::streamsize>(bgra.size()));
    if (!file.flush()) throw std::runtime_error(std::string("not written: ") + path);
}

static void draw(const tn::Gpu& gpu, const Scene& scene, const Arguments& arguments) {
    const tn::Texture target = gpu.create_texture(
        describe_texture(WIDTH, HEIGHT, TN_FORMAT_BGRA8_SRGB, TN_USAGE_RENDER_TARGET | TN_USAGE_COPY_SRC, "target"_tn));
    tn::Desc<tn_TextureViewDesc> desc;
    desc.access = TN_TEXTURE_RENDER_TARGET;
    const tn::View view = gpu.create_view(target, desc);
    for (std::uint64_t left = arguments.frames; left > 0; --left) {
        tn::Frame frame = gpu.begin_frame();
        tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "triangles"_tn);
        scene.draw(list, target, view, frame.number());
        std::move(list).submit();
        std::move(frame).end();
    }
    if (arguments.picture) write_picture(arguments.picture, gpu.read_back(tn::part(target)).wait().value());
}

static Arguments parse(int count, char** values) {
    Arguments arguments;
    for (int at = 1; at < count; at += 2) {
        const std::string_view name = values[at];
        if (at + 1 == count) throw std::runtime_error("without a value: " + std::string(name));
        if (name == "--frames") arguments.frames = std::strtoull(values[at + 1], nullptr, 10);
        else if (name == "--picture") arguments.picture = values[at + 1];
        else if (name == "--shaders") arguments.shaders = values[at + 1];
        else throw std::runtime_error("unknown: " + std::string(name));
    }
    return arguments;
}

int main(int count, char** values) try {
    const Arguments arguments = parse(count, values);
    const Engine engine;
    const tn::Gpu gpu = tn::Gpu::create(engine.wrapped);
    {
        const Scene scene(gpu, engine.device, arguments.shaders);
        draw(gpu, scene, arguments);
    }
    const std::string left = gpu.shutdown();
    // Everything was released, so nothing is left.
    if (!left.empty()) throw std::runtime_error(left);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
