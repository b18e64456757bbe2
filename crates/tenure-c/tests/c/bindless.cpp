// The materials of an engine: textures by index, a sampler, and constants with the indices for each draw.
#include "tenure.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

using namespace tn::literals;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

enum { MATERIALS = 32, DRAWS = 200, FRAMES = 200, IN_FLIGHT = 2 };

/** What the shader of a draw reads. */
struct DrawConstants {
    std::array<float, 16> transform;
    std::uint32_t color, normal, sampler, flags;
};

/** A texture with its slot of the bindless array: no recording names it. */
static tn::DescriptorTable load_texture(const tn::Gpu& gpu, const std::string& name, unsigned char shade) {
    const std::vector<unsigned char> texels(8 * 8 * 4, shade);
    const tn_Texels data{texels.data(), texels.size(), 0, 0, 0};
    tn::Desc<tn_TextureDesc> desc;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 8;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    desc.read_only = TN_STATE_SHADER_READ;
    desc.name = tn::str(name);
    desc.data = &data;
    desc.data_count = 1;
    const tn::View view = gpu.create_view(gpu.create_texture(desc));
    return gpu.create_descriptor_table({tn::bind(view)}, tn::str(name));
}

struct Material {
    tn::DescriptorTable color, normal;
};

class Renderer {
public:
    explicit Renderer(const tn::Gpu& gpu)
        : gpu_(gpu), smooth_(gpu.create_sampler()), samplers_(gpu.create_descriptor_table({tn::bind(smooth_)}, "samplers"_tn)) {
        for (int number = 0; number < MATERIALS; ++number) {
            const auto shade = static_cast<unsigned char>(number);
            materials_.push_back({load_texture(gpu_, "color", shade), load_texture(gpu_, "normal", shade)});
        }
    }

    void draw_frame() {
        tn::Frame frame = gpu_.begin_frame();
        tn::Recording list = gpu_.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
        list.set_descriptor_heaps();
        for (int draw = 0; draw < DRAWS; ++draw) {
            const Material& material = materials_[static_cast<std::size_t>(draw % MATERIALS)];
            const DrawConstants constants{{1}, material.color.first(), material.normal.first(), samplers_.first(), 0};
            CHECK(list.constants(constants).size == sizeof constants);
        }
        // Skinned meshes, whose buffers differ in each draw: descriptors of the recording.
        std::vector<tn_Bind> binds;
        const tn::View bones = create_bones();
        for (int mesh = 0; mesh < 24; ++mesh) binds.push_back(tn::bind(bones));
        const std::vector<tn_Use> uses(1, tn::use(bones, TN_STATE_VERTEX_SHADER));
        list.use(uses);
        CHECK(list.descriptors(binds).size == binds.size());
        std::move(list).submit();
        std::move(frame).end();
    }

    /** Another texture for a material: a new slot, and the old one is freed when the GPU has finished with it. */
    std::uint32_t stream(std::size_t number) {
        Material& material = materials_[number % MATERIALS];
        const std::uint32_t old = material.color.first();
        material.color = load_texture(gpu_, "streamed", 9);
        CHECK(material.color.first() != old);
        return material.color.first();
    }

private:
    tn::View create_bones() const {
        tn::Desc<tn_BufferDesc> desc;
        desc.size = 4096;
        desc.usage = TN_USAGE_SHADER_READ;
        desc.memory = TN_MEMORY_UPLOAD;
        desc.name = "bones"_tn;
        tn::Desc<tn_BufferViewDesc> view;
        view.access = TN_BUFFER_STRUCTURED;
        view.stride = 64;
        return gpu_.create_view(gpu_.create_buffer(desc), view);
    }

    const tn::Gpu& gpu_;
    tn::Sampler smooth_;
    tn::DescriptorTable samplers_;
    std::vector<Material> materials_;
};

int main() {
    for (const auto profile : {"vulkan-nvidia"_tn, "d3d12-tier2"_tn}) {
        tn::Desc<tn_SimDesc> desc;
        desc.profile = profile;
        desc.lag = 3;
        const tn::Device device = tn::Device::simulated(&desc);
        tn::Gpu gpu = tn::Gpu::create(device, {{"frames.in_flight"_tn, IN_FLIGHT}, {"descriptors.poison"_tn, 1}});
        {
            Renderer renderer(gpu);
            std::set<std::uint32_t> slots;
            for (std::size_t frame = 0; frame < FRAMES; ++frame) {
                renderer.draw_frame();
                slots.insert(renderer.stream(frame));
            }
            // Freed slots are used again.
            CHECK(slots.size() < FRAMES / 4);
        }
        const std::string left = gpu.shutdown();
        if (!left.empty()) std::fprintf(stderr, "%s\n", left.c_str());
        CHECK(left.empty());
        gpu.reset();
        const std::string findings = device.findings();
        std::fprintf(stderr, "%s", findings.c_str());
        CHECK(findings.empty());
    }
}
