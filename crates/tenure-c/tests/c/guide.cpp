// The examples of the guide in C++. A chapter shows the lines between "guide: " with its name and "guide end".
#include "tenure.hpp"

#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <future>

using namespace tn::literals;

/** Stands for the commands of the API. */
template <class... Arguments>
static void draw(const Arguments&...) {}

static void quick_start() {
    // guide: quick-start
    const tn::Device device = tn::Device::simulated();
    const tn::Gpu gpu = tn::Gpu::create(device);

    tn::Desc<tn_BufferDesc> desc;
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = "rock"_tn;
    tn::Buffer rock = gpu.create_buffer(desc);
    // A small buffer is a range of a shared API buffer: always use both.
    const tn_Place place = rock.place();
    draw(place.object, place.offset);

    rock.reset();
    const std::string left = gpu.shutdown();
    assert(left.empty());
    // guide end
}

static void memory(const tn::Gpu& gpu) {
    // guide: memory
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 2500;
    desc.usage = TN_USAGE_VERTEX;
    desc.stride = 20;
    desc.name = "mesh"_tn;
    const tn::Buffer mesh = gpu.create_buffer(desc);
    assert(mesh.place().offset % 20 == 0);

    tn::Desc<tn_BufferDesc> camera_desc;
    camera_desc.size = 256;
    camera_desc.usage = TN_USAGE_CONSTANT;
    camera_desc.memory = TN_MEMORY_UPLOAD;
    camera_desc.name = "camera"_tn;
    const tn::Buffer camera = gpu.create_buffer(camera_desc);
    const float matrix[16] = {1.0f};
    camera.write(0, matrix, sizeof matrix);  // mapped for as long as it lives

    const tn_HeapMemory heap = gpu.heap_memory(0);
    std::printf("%ju B reserved for %ju B in use\n", std::uintmax_t{heap.allocated}, std::uintmax_t{heap.used});
    // guide end
}

static void out_of_memory() {
    // guide: out-of-memory
    // A device with one heap. On others a cap for each is needed, because buffers go to the next one.
    tn::Desc<tn_SimDesc> sim;
    sim.profile = "vulkan-lavapipe"_tn;
    const tn::Gpu gpu = tn::Gpu::create(tn::Device::simulated(&sim));
    gpu.set_memory_cap(0, 16 << 20);
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 1 << 20;
    desc.usage = TN_USAGE_UNORDERED_ACCESS;
    desc.name = "volume"_tn;
    std::vector<tn::Buffer> volumes;
    try {
        for (;;) volumes.push_back(gpu.create_buffer(desc));
    } catch (const tn::Error& error) {
        if (error.status() != TN_ERROR_OUT_OF_MEMORY) throw;
        assert(tn::last_out_of_memory()->size == desc.size);
    }
    assert(volumes.size() >= 14);

    // Free something, and the same call succeeds.
    volumes.resize(8);
    gpu.reclaim();  // the end of a frame does this
    volumes.push_back(gpu.create_buffer(desc));
    // guide end
}

static void uploading(const tn::Gpu& gpu) {
    // guide: uploading
    const std::vector<unsigned char> vertices(4096, 7), changed(512, 8), mip0(64 * 64 * 4, 1), mip1(32 * 32 * 4, 2);
    tn::Desc<tn_BufferDesc> desc;
    desc.size = vertices.size();
    desc.usage = TN_USAGE_VERTEX;  // COPY_DST is added to the usage
    desc.name = "rock"_tn;
    desc.data = vertices.data();
    desc.data_size = vertices.size();
    const tn::Buffer rock = gpu.create_buffer(desc);
    gpu.upload(rock, 1024, changed.data(), changed.size());

    // One entry for each subresource: all mips of the first layer, then of the next.
    const tn_Texels mips[] = {{mip0.data(), mip0.size(), 0, 0, 0}, {mip1.data(), mip1.size(), 0, 0, 0}};
    tn::Desc<tn_TextureDesc> texture_desc;
    texture_desc.width = texture_desc.height = 64;
    texture_desc.format = TN_FORMAT_RGBA8_UNORM;
    texture_desc.usage = TN_USAGE_SHADER_READ;
    texture_desc.mips = 2;
    texture_desc.name = "grass"_tn;
    texture_desc.data = mips;
    texture_desc.data_count = 2;
    const tn::Texture grass = gpu.create_texture(texture_desc);

    // A part, from rows that are 128 B apart in your memory.
    const tn_TextureRegion region{0, 0, TN_PLANE_FIRST, {8, 16, 0}, {4, 4, 1}, 0};
    const tn::Upload upload = gpu.upload(tn::part(grass, region), {changed.data(), 4 * 128, 128, 0, 0});

    // No wait is needed: later submissions read the new bytes. To wait on the CPU nevertheless:
    const bool is_complete = gpu.wait(upload, std::chrono::seconds(1));
    assert(is_complete);
    // guide end
}

static void barriers(const tn::Gpu& gpu) {
    // guide: barriers
    tn::Desc<tn_TextureDesc> desc;
    desc.width = desc.height = 256;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_SHADER_READ;
    desc.mips = 5;
    desc.name = "bloom"_tn;
    const tn::Texture bloom = gpu.create_texture(desc);
    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "bloom"_tn);
    list.use({tn::use(bloom, TN_STATE_RENDER_TARGET, 0)});
    draw(list.native());
    for (std::uint32_t mip = 1; mip < desc.mips; ++mip) {
        // Views of one mip: the source of this pass, and its target.
        tn::Desc<tn_TextureViewDesc> source_desc, target_desc;
        source_desc.first_mip = mip - 1;
        target_desc.first_mip = mip;
        source_desc.mips = target_desc.mips = 1;
        target_desc.access = TN_TEXTURE_RENDER_TARGET;
        const tn::View source = gpu.create_view(bloom, source_desc), target = gpu.create_view(bloom, target_desc);
        list.use({tn::use(bloom, TN_STATE_PIXEL_SHADER, mip - 1), tn::use(bloom, TN_STATE_RENDER_TARGET, mip)});
        draw(list.native(), source.place(), target.place());  // your pass of one triangle
    }
    list.use({tn::use(bloom, TN_STATE_PIXEL_SHADER)});  // one barrier, for the last mip
    draw(list.native());
    std::move(list).submit();
    // guide end
}

static tn::Buffer create_mesh(const tn::Gpu& gpu) {
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 4096;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = "mesh"_tn;
    return gpu.create_buffer(desc);
}

static void constants_per_draw(const tn::Gpu& gpu) {
    const tn::Buffer mesh = create_mesh(gpu);
    // guide: constants-per-draw
    tn::Frame frame = gpu.begin_frame();
    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
    list.use({tn::use(mesh, TN_STATE_VERTEX_OR_CONSTANT)});
    const tn_Native commands = list.native();
    for (int object = 0; object < 2000; ++object) {
        const float matrix[16] = {static_cast<float>(object)};
        const tn_Place place = list.constants(matrix);
        draw(commands, place.object, place.offset, place.gpu_address);
    }
    std::move(list).submit();
    std::move(frame).end();
    // guide end
}

static void descriptors(const tn::Gpu& gpu) {
    // guide: descriptors
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 4096;
    desc.usage = TN_USAGE_SHADER_READ;
    desc.name = "lights"_tn;
    tn::Desc<tn_BufferViewDesc> raw;
    raw.access = TN_BUFFER_RAW;
    const tn::View lights = gpu.create_view(gpu.create_buffer(desc), raw);  // keeps the buffer

    const tn::Sampler linear = gpu.create_sampler();  // equal samplers share a descriptor
    const tn::DescriptorTable samplers = gpu.create_descriptor_table({tn::bind(linear)}, "samplers"_tn);

    tn::Frame frame = gpu.begin_frame();
    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
    list.set_descriptor_heaps();  // once per list that uses tables
    list.use({tn::use(lights, TN_STATE_PIXEL_SHADER)});
    const float camera[16] = {1.0f};
    // Descriptors that live as long as this recording.
    const tn_Place table = list.descriptors({tn::bind(lights), tn::bind_data(camera, sizeof camera)});
    draw(list.native(), table.offset, samplers.first());
    std::move(list).submit();
    std::move(frame).end();
    // guide end
}

static void lifetimes() {
    // guide: lifetimes
    // A GPU that completes work only when this test says so.
    tn::Desc<tn_SimDesc> sim;
    sim.lag = TN_ALL;
    const tn::Device device = tn::Device::simulated(&sim);
    const tn::Gpu gpu = tn::Gpu::create(device);
    bool is_gone = false;
    tn::Deferred pipeline = gpu.defer("pipeline"_tn, [&is_gone] { is_gone = true; });

    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
    pipeline.reset();
    gpu.reclaim();
    assert(!is_gone);  // the recording may still use it

    std::move(list).submit();
    gpu.reclaim();
    assert(!is_gone);  // the GPU may still use it

    device.run();
    gpu.reclaim();
    assert(is_gone);
    // guide end
}

static void device_loss() {
    // guide: device-loss
    // The objects of one device. The last is released first.
    struct Renderer {
        tn::Device device = tn::Device::simulated();
        tn::Gpu gpu = tn::Gpu::create(device);
        tn::Buffer rock = create_mesh(gpu);

        void draw_frame() const {
            tn::Frame frame = gpu.begin_frame();
            tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
            list.use({tn::use(rock, TN_STATE_VERTEX_OR_CONSTANT)});
            std::move(list).submit();
            std::move(frame).end();
        }
    };

    std::optional<Renderer> renderer(std::in_place);
    int losses = 0;
    for (int number = 0; number < 10; ++number) {
        if (number == 5) renderer->device.lose("the driver was updated"_tn);
        try {
            renderer->draw_frame();
        } catch (const tn::Error& error) {
            if (error.status() != TN_ERROR_DEVICE_LOST) throw;
            ++losses;
            renderer.reset();  // destroy your VkDevice here
            renderer.emplace();
        }
    }
    assert(losses == 1);
    // guide end
}

static void render_graphs(const tn::Gpu& gpu) {
    // guide: render-graphs
    tn::Desc<tn_TextureDesc> target;
    target.width = 1920;
    target.height = 1080;
    target.format = TN_FORMAT_RGBA16_FLOAT;
    target.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_SHADER_READ;
    const tn::Graph graph = tn::Graph::create();
    const auto texture = [&](tn_Str name) {
        target.name = name;
        return graph.texture(target);
    };
    const auto pass = [&](tn_Str name, tn::Array<tn_PassUse> uses) {
        tn::Desc<tn_PassDesc> desc;
        desc.name = name;
        return graph.pass(desc, uses);
    };
    for (int count = 0; count < 3; ++count) {
        tn::Frame frame = gpu.begin_frame();
        graph.clear();  // anew each frame: equal graphs share a plan
        const std::uint32_t scene = texture("scene"_tn), bloom = texture("bloom"_tn), lens = texture("lens"_tn);
        pass("scene"_tn, {{scene, TN_STATE_RENDER_TARGET}});
        const std::uint32_t blur = pass("bloom"_tn, {{scene, TN_STATE_PIXEL_SHADER}, {bloom, TN_STATE_RENDER_TARGET}});
        pass("lens"_tn, {{bloom, TN_STATE_PIXEL_SHADER}, {lens, TN_STATE_RENDER_TARGET}});

        frame.execute(graph, [&](const tn::Pass& now) {
            // tenure records the barriers and waits, and submits.
            if (now.number() == blur) {
                draw(now.recording()->native(), now.texture(scene)->place(), now.texture(bloom)->place());
            }
        });
        const tn_GraphPlan plan = gpu.plan(graph);
        std::printf("%ju B, and no plan takes less than %ju B\n", std::uintmax_t{plan.peak}, std::uintmax_t{plan.lower_bound});
        std::move(frame).end();
    }
    // guide end
}

static void gpu_time(const tn::Gpu& gpu) {
    // guide: gpu-time
    for (int count = 0; count < 10; ++count) {
        tn::Frame frame = gpu.begin_frame();
        tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "main"_tn);
        const tn_OpenQuery shadows = list.begin_gpu_time("shadow pass"_tn);
        const tn_OpenQuery cascade = list.begin_gpu_time("cascade 0"_tn);  // scopes nest
        draw(list.native());
        list.end_gpu_time(cascade);
        list.end_gpu_time(shadows);
        std::move(list).submit();
        std::move(frame).end();
        for (const auto& [name, time] : gpu.gpu_times()) {
            const int indent = 2 * static_cast<int>(time.depth);
            std::printf("frame %ju: %*s%s %ju ns\n", std::uintmax_t{time.frame}, indent, "", name.c_str(),
                        std::uintmax_t{time.nanoseconds});
        }
    }
    // guide end
}

static void threads(const tn::Gpu& gpu) {
    const tn::Buffer mesh = create_mesh(gpu);
    // guide: threads
    const auto record = [&](tn_Str name) {
        tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, name);
        list.use({tn::use(mesh, TN_STATE_VERTEX_OR_CONSTANT)});
        const float matrix[16] = {1.0f};
        draw(list.native(), list.constants(matrix));
        return list;
    };
    tn::Frame frame = gpu.begin_frame();
    std::vector<std::future<tn::Recording>> workers;
    for (const auto name : {"west"_tn, "north"_tn, "east"_tn, "south"_tn}) {
        workers.push_back(std::async(std::launch::async, record, name));
    }
    // The order of the submissions is the order on the GPU. get() throws the error of its thread.
    for (std::future<tn::Recording>& worker : workers) worker.get().submit();
    std::move(frame).end();
    // guide end
}

static void window(const tn::Gpu& gpu) {
    // guide: window
    tn::Desc<tn_SwapchainDesc> desc;
    desc.width = 1280;
    desc.height = 720;
    // On a device: tn::create_swapchain_vk, or tn::create_swapchain_d3d12.
    const tn::Swapchain swapchain = tn::Swapchain::simulated(gpu, desc);
    for (int count = 0; count < 3; ++count) {
        tn::Frame frame = gpu.begin_frame();
        swapchain.resize(desc.width, desc.height);  // no effect if nothing has changed
        if (const auto image = swapchain.acquire()) {
            tn::Recording picture = gpu.record(TN_QUEUE_GRAPHICS, "picture"_tn);
            swapchain.begin(picture);
            picture.use({tn::use(image->texture, TN_STATE_RENDER_TARGET)});
            draw(picture.native(), image->view->place());
            swapchain.finish(picture);
            std::move(picture).submit();
            swapchain.present();
        }
        std::move(frame).end();
    }
    // guide end
}

static void observing(const tn::Gpu& gpu) {
    // guide: observing
    // Once for the process.
    tn::set_log(TN_LOG_WARN, [](tn_LogLevel, std::string_view line) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    });
    const std::string statistics = gpu.report(TN_REPORT_STATS), objects = gpu.report(TN_REPORT_ALL);  // JSON
    // guide end
    assert(statistics.front() == '{' && objects.front() == '{');
}

static void ci() {
    const std::vector<unsigned char> bytes(4096, 7);
    // guide: ci
    for (const auto profile : {"d3d12-uma"_tn, "vulkan-nvidia"_tn, "vulkan-mobile"_tn}) {
        tn::Desc<tn_SimDesc> sim;
        sim.profile = profile;
        sim.lag = 3;
        const tn::Device device = tn::Device::simulated(&sim);
        {
            const tn::Gpu gpu = tn::Gpu::create(device);
            tn::Desc<tn_BufferDesc> desc;
            desc.size = desc.data_size = bytes.size();
            desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_SRC;
            desc.data = bytes.data();
            for (int step = 0; step < 20; ++step) {
                tn::Frame frame = gpu.begin_frame();
                const tn::Buffer mesh = gpu.create_buffer(desc);
                tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
                list.use({tn::use(mesh, TN_STATE_VERTEX_OR_CONSTANT)});
                list.sim_access({tn::use(mesh, TN_STATE_VERTEX_OR_CONSTANT)});  // your draw
                const tn::Readback readback = list.read_back(tn::part(mesh, 0, desc.size));
                std::move(list).submit();
                const auto read = readback.wait();
                assert(read == bytes);
                std::move(frame).end();
            }
            const std::string left = gpu.shutdown();
            assert(left.empty());
        }
        const std::string findings = device.findings();
        assert(findings.empty());  // no hazards, no leaks
    }
    // guide end
}

static void reserved(const tn::Gpu& gpu) {
    // guide: reserved
    tn::Desc<tn_TextureDesc> desc;
    desc.width = 512;
    desc.height = 256;
    desc.mips = 8;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.usage = TN_USAGE_SHADER_READ;
    desc.name = "land"_tn;
    const tn::Reserved land = gpu.create_reserved(desc);  // no memory yet
    const tn_TileLayout layout = land.layout();
    assert(layout.tile_size == 64 << 10 && layout.tiles[0] == 4 && layout.first_packed_mip == 2);

    // The mips below a tile's size share tiles. Map them once, as a whole.
    tn::Desc<tn_TileUpdate> packed;
    packed.region = {layout.first_packed_mip, {0, 0, 0}, {layout.packed_tiles, 1, 1}, 0};
    land.update(packed);
    // Two tiles of mip 0, which the camera sees.
    tn::Desc<tn_TileUpdate> seen;
    seen.region = {0, {1, 0, 0}, {2, 1, 1}, 0};
    land.update(seen);
    assert(land.layout().mapped_tiles == 3);

    // Uses are declared as for textures. New tiles have undefined contents: fill them first.
    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "land"_tn);
    list.use({tn::use(land, TN_STATE_COPY_DST, layout.first_packed_mip)});
    draw(list.native(), land.place());  // stands for your copy
    list.use({tn::use(land, TN_STATE_PIXEL_SHADER, layout.first_packed_mip)});
    draw(list.native(), land.place());
    const tn_SyncPoint drawn = std::move(list).submit();

    // The camera moves on. The copy queue changes the mapping, after the draw on the other queue.
    seen.action = TN_TILES_UNMAP;
    seen.queue = TN_QUEUE_COPY;
    seen.after = &drawn;
    land.update(seen);
    assert(land.layout().mapped_tiles == 1);
    // guide end
}

static void ray_tracing(const tn::Gpu& gpu) {
    // guide: ray-tracing
    tn::Desc<tn_AccelerationStructureDesc> desc;
    desc.kind = TN_STRUCTURE_BOTTOM;
    desc.size = 4096;  // from the API's function for build sizes
    desc.name = "rock"_tn;
    std::vector<tn::AccelerationStructure> rocks;
    std::vector<tn_Use> uses;
    for (int count = 0; count < 1000; ++count) {
        rocks.push_back(gpu.create_acceleration_structure(desc));
        uses.push_back(tn::use(rocks.back()));
    }
    desc.kind = TN_STRUCTURE_TOP;
    desc.size = 65536;
    desc.name = "world"_tn;
    const tn::AccelerationStructure world = gpu.create_acceleration_structure(desc);

    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "load"_tn);
    list.use(uses);  // before the builds
    for (std::size_t number = 0; number < rocks.size(); ++number) {
        if (number % 100 == 0) list.reuse_build_scratch();  // a barrier, and the same bytes again
        const tn_Place room = list.build_scratch(8192);
        draw(list.native(), rocks[number].place(), room.gpu_address);  // stands for the build
    }
    list.use(uses);  // between the builds and the build over them
    list.use({tn::use(world)});
    const tn_Place room = list.build_scratch(16384);
    draw(list.native(), world.place(), room.gpu_address);
    list.use({tn::use(world)});  // between the build and the trace
    draw(list.native(), world.place());
    std::move(list).submit();
    // guide end
}

/** Stands for vkAllocateMemory. */
static tn_Native allocate_memory(std::uint64_t) {
    static tn_Native last = 0;
    return ++last;
}

static void migrating() {
    // guide: migrating
    // The memory alone: the program creates its objects, and binds them.
    const tn_MemoryType type{TN_MEMORY_DEVICE_LOCAL, 0};
    const tn_MemoryHeap heap{std::uint64_t{1} << 30, 1, 0};
    tn::Desc<tn_HeapPoolsDesc> desc;
    desc.create_heap = [](void*, tn_HeapDesc wanted, tn_Native* created) -> tn_Status {
        *created = allocate_memory(wanted.size);  // your vkAllocateMemory, or CreateHeap
        return TN_OK;
    };
    desc.destroy_heap = [](void*, tn_Native) {};
    desc.memory_types = &type;
    desc.memory_heaps = &heap;
    desc.memory_type_count = desc.memory_heap_count = 1;
    const tn::HeapPools pools = tn::HeapPools::create(desc);

    const std::uint32_t order[] = {0};  // from memoryTypeBits, best first
    tn::Desc<tn_MemoryRequest> request;
    request.size = 48 << 10;
    request.alignment = 256;
    request.memory_types = order;
    request.memory_type_count = 1;
    const tn_MemoryRange rock = pools.allocate(request);
    std::printf("%ju B at %ju\n", std::uintmax_t{rock.size}, std::uintmax_t{rock.offset});
    pools.deallocate(rock);  // when the GPU is done with it
    // guide end
}

static void seeing_memory(const tn::Gpu& gpu) {
    // guide: seeing-memory
    std::FILE* const snapshots = std::fopen("snapshots.jsonl", "w");
    assert(snapshots != nullptr);
    for (int count = 0; count < 3; ++count) {  // once a minute, in a program that runs for hours
        const std::string line = gpu.report(TN_REPORT_ALL);
        std::fprintf(snapshots, "%s\n", line.c_str());
    }
    std::fclose(snapshots);
    // guide end
}

int main() {
    quick_start();
    const tn::Device device = tn::Device::simulated();
    {
        const tn::Gpu gpu = tn::Gpu::create(device);
        memory(gpu);
        uploading(gpu);
        barriers(gpu);
        constants_per_draw(gpu);
        descriptors(gpu);
        render_graphs(gpu);
        gpu_time(gpu);
        threads(gpu);
        window(gpu);
        observing(gpu);
        seeing_memory(gpu);
        assert(gpu.shutdown().empty());
    }
    assert(device.findings().empty());
    out_of_memory();
    lifetimes();
    device_loss();
    ci();
    migrating();
    // On Direct3D 12 the draws of a texture's first use would change its state, and here are none.
    tn::Desc<tn_SimDesc> sim;
    sim.profile = "vulkan-nvidia"_tn;
    const tn::Device vulkan = tn::Device::simulated(&sim);
    reserved(tn::Gpu::create(vulkan));
    assert(vulkan.findings().empty());
    // The simulated device would find that nothing is built.
    ray_tracing(tn::Gpu::create(tn::Device::simulated()));
}
