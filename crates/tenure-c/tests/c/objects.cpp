// tenure.hpp on the simulated device.
#include "tenure_vulkan.hpp"

#include <memory>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

using namespace tn::literals;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

static_assert(!std::is_copy_constructible_v<tn::Buffer> && std::is_nothrow_move_constructible_v<tn::Buffer>);
static_assert(sizeof(tn::Desc<tn_BufferDesc>) == sizeof(tn_BufferDesc) && sizeof(tn::Buffer) == sizeof(void*));

static tn::Buffer create_rock(const tn::Gpu& gpu) {
    const std::array<unsigned char, 4> bytes{1, 2, 3, 4};
    tn::Desc<tn_BufferDesc> desc;
    desc.size = bytes.size();
    desc.usage = TN_USAGE_VERTEX | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = "rock"_tn;
    desc.data = bytes.data();
    desc.data_size = bytes.size();
    return gpu.create_buffer(desc);
}

static void buffers(const tn::Gpu& gpu) {
    tn::Buffer rock = create_rock(gpu);
    tn::Buffer moved = std::move(rock);
    CHECK(!rock && moved && moved.name() == "rock" && moved.place().size == 4);
    moved = create_rock(gpu);
    const unsigned char nine = 9;
    CHECK(gpu.wait(gpu.upload(moved, 1, &nine, 1)));
    tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "draw"_tn);
    recording.use({tn::use(moved, TN_STATE_VERTEX_OR_CONSTANT)});
    const float matrix[16] = {1};
    CHECK(recording.constants(matrix, sizeof matrix).size == sizeof matrix);
    // The elements, not the view of them.
    CHECK(recording.constants(matrix).size == sizeof matrix && recording.constants(std::vector<float>(3)).size == 12);
    CHECK(recording.constants(std::string_view("rocks")).size == 5);
    CHECK(recording.constants(tn::Array<float>({1.0f, 2.0f, 3.0f})).size == 12);
    CHECK(recording.constants(std::array<std::array<float, 4>, 2>()).size == 32);
    const tn::Readback readback = recording.read_back(tn::part(moved, 0, 4));
    CHECK(!readback.wait(std::chrono::nanoseconds(0)));
    CHECK(recording.native() != 0);
    const tn_SyncPoint done = std::move(recording).submit();
    CHECK(!recording && gpu.wait(done));
    CHECK((readback.wait() == std::vector<unsigned char>{1, 9, 3, 4}));
}

static void textures(const tn::Gpu& gpu) {
    CHECK(gpu.supports_format(TN_FORMAT_RGBA8_UNORM, TN_USAGE_SHADER_READ));
    tn::Desc<tn_TextureDesc> desc;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 2;
    desc.usage = TN_USAGE_RENDER_TARGET | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    const std::string name = "target";
    desc.name = tn::str(name);
    const tn::Texture target = gpu.create_texture(desc);
    tn::Desc<tn_TextureViewDesc> view_desc;
    view_desc.access = TN_TEXTURE_RENDER_TARGET;
    const tn::View view = gpu.create_view(target, view_desc);
    static_cast<void>(view.place());
    // Objects without an offset, and the list.
    CHECK(tn::vk<std::uint64_t>(target) == target.place().object && tn::vk<std::uint64_t>(target) != 0);
    const tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "list"_tn);
    CHECK(tn::vk<std::uint64_t>(list) == list.native());
    CHECK(tn::vk<std::uint64_t>(list, target) == list.place(target).object);
    const std::array<unsigned char, 16> texels{7, 7};
    CHECK(gpu.wait(gpu.upload(target, texels.data(), texels.size())));
    CHECK(gpu.read_back(tn::part(target)).wait()->at(1) == 7);

    // A copy without a row pitch: rows follow each other.
    std::array<unsigned char, 16> rows{};
    for (std::size_t at = 0; at < rows.size(); ++at) rows[at] = static_cast<unsigned char>(at);
    tn::Desc<tn_BufferDesc> staging_desc;
    staging_desc.size = rows.size();
    staging_desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    staging_desc.data = rows.data();
    staging_desc.data_size = rows.size();
    const tn::Buffer staging = gpu.create_buffer(staging_desc);
    tn_Copy copy{};
    copy.src = staging.raw();
    copy.dst = target.raw();
    tn::Recording copies = gpu.record(TN_QUEUE_GRAPHICS, "copies"_tn);
    copies.copy({copy});
    std::move(copies).submit();
    CHECK((gpu.read_back(tn::part(target)).wait() == std::vector<unsigned char>(rows.begin(), rows.end())));
}

static tn::View create_view(const tn::Gpu& gpu, tn_Str name) {
    tn::Desc<tn_TextureDesc> desc;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    desc.name = name;
    const tn::Texture texture = gpu.create_texture(desc);
    return gpu.create_view(texture, tn::Desc<tn_TextureViewDesc>());
}

/** A material with textures and a sampler. */
struct Material {
    tn::DescriptorTable textures;
    tn::DescriptorSet set;
};

static Material create_material(const tn::Gpu& gpu, const tn::SetLayout& layout, const tn::Sampler& sampler) {
    const tn::View color = create_view(gpu, "color"_tn), normal = create_view(gpu, "normal"_tn);
    return {gpu.create_descriptor_table({tn::bind(color), tn::bind(normal)}, "rock"_tn),
            gpu.create_descriptor_set(layout, {tn::bind(color, sampler), tn::bind(normal, 1)}, "rock"_tn)};
}

static void materials(const tn::Gpu& gpu) {
    const tn::Sampler smooth = gpu.create_sampler(tn::Desc<tn_SamplerDesc>());
    const tn::DescriptorTable samplers = gpu.create_descriptor_table({tn::bind(smooth)}, "samplers"_tn);
    const tn::SetLayout layout =
        gpu.create_set_layout({{0, TN_BINDING_COMBINED_SAMPLER, 1}, {1, TN_BINDING_TEXTURE, 1}}, "material"_tn);
    const tn::SetLayout per_draw = gpu.create_set_layout({{0, TN_BINDING_DYNAMIC_CONSTANTS, 1}}, "per draw"_tn);
    Material material = create_material(gpu, layout, smooth);
    const tn::View light = create_view(gpu, "light"_tn);
    const tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "opaque"_tn);
    recording.set_descriptor_heaps();
    recording.use({tn::use(material.textures, TN_STATE_PIXEL_SHADER), tn::use(light, TN_STATE_SHADER_READ)});
    recording.make_resident({material.textures.raw(), light.raw()});
    const std::array<std::uint32_t, 2> indices{material.textures.first(), samplers.first()};
    CHECK(recording.constants(indices.data(), sizeof indices).size == sizeof indices);
    CHECK(recording.descriptors({tn::bind(light), tn::bind_data(indices.data(), sizeof indices)}).size == 2);
    static_cast<void>(recording.descriptor_set(layout, {tn::bind(light, smooth), tn::bind(light, 1)}));
    CHECK(recording.dynamic_constants(per_draw, indices.data(), sizeof indices).size == sizeof indices);
    recording.use({tn::use(material.set, TN_STATE_PIXEL_SHADER)});
    CHECK(gpu.descriptor_owner(TN_DESCRIPTOR_RESOURCE, material.textures.first()) == "table rock");
    try {
        static_cast<void>(tn::tables_vk(gpu, TN_DESCRIPTOR_RESOURCE));
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_FOREIGN);
    }
}

static void frames(const tn::Gpu& gpu) {
    int destroyed = 0;
    tn::Deferred pipeline = gpu.defer("pipeline"_tn, [&destroyed] { ++destroyed; });
    gpu.release_after(gpu.submitted(), [&destroyed] { destroyed += 10; });
    for (int count = 0; count < 6; ++count) {
        tn::Frame frame = gpu.begin_frame();
        CHECK(frame.number() > 0);
        std::vector<tn::Recording> lists;
        lists.push_back(gpu.record(TN_QUEUE_GRAPHICS, "frame"_tn));
        lists.push_back(gpu.record(TN_QUEUE_COMPUTE, "beside"_tn));
        const tn_SyncPoint done = frame.submit_all(std::move(lists));
        CHECK(gpu.wait(done));
        lists.clear();
        lists.push_back(gpu.record(TN_QUEUE_GRAPHICS, "kept"_tn));
        lists.emplace_back();
        try {
            static_cast<void>(frame.submit_all(std::move(lists)));
            CHECK(false);
        } catch (const tn::Error& error) {
            CHECK(error.status() == TN_ERROR_HANDLE && lists[0]);
        }
        pipeline.reset();
        std::move(frame).end();
    }
    CHECK(destroyed == 11);
}

static void errors(const tn::Gpu& gpu) {
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 16;
    desc.usage = 1u << 31;
    try {
        static_cast<void>(gpu.create_buffer(desc));
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_ENUM && std::string_view(error.what()).find("usage") != std::string_view::npos);
    }
}

static void external(const tn::Gpu& gpu) {
    tn_Native given = 99;
    CHECK(gpu.wait(gpu.submit_external(TN_QUEUE_GRAPHICS, gpu.submitted(), [&given](tn_Native queue) { given = queue; })));
    CHECK(given == 0);
    try {
        gpu.submit_external(TN_QUEUE_GRAPHICS, gpu.submitted(), [](tn_Native) { throw std::runtime_error("mine"); });
        CHECK(false);
    } catch (const std::runtime_error& error) {
        CHECK(std::string_view(error.what()) == "mine");
    }
}

static void graphs(const tn::Gpu& gpu) {
    tn::Desc<tn_TextureDesc> target;
    target.format = TN_FORMAT_RGBA8_UNORM;
    target.width = target.height = 4;
    target.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    tn::Desc<tn_BufferDesc> bytes;
    bytes.size = 64;
    bytes.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    const tn::Graph graph = tn::Graph::create();
    graph.clear();
    const std::uint32_t scene = graph.texture(target);
    const std::uint32_t list = graph.buffer(bytes);
    tn::Desc<tn_PassDesc> pass;
    pass.name = "draw"_tn;
    const std::uint32_t draw = graph.pass(pass, {{scene, TN_STATE_COPY_DST}, {list, TN_STATE_COPY_DST}});
    CHECK(draw == 0 && gpu.plan(graph).recordings == 1);
    const tn::Buffer rock = create_rock(gpu);
    tn::Frame frame = gpu.begin_frame();
    tn_Place kept{};
    const tn_SyncPoint done = frame.execute(graph, [&](const tn::Pass& now) {
        CHECK(now.number() == draw && !now.buffer(99));
        // A borrowed handle is as good as its owner.
        const tn::Texture& target_of_pass = now.texture(scene);
        CHECK(target_of_pass.place().object == now.texture(scene)->place().object);
        now.recording()->copy({{rock.raw(), now.buffer(list)->raw(), 0, 0, 4, 0, 0, 0, {}}});
        now.recording()->use({tn::use(now.texture(scene), TN_STATE_COPY_DST)});
        tn::Desc<tn_TextureViewDesc> view;
        kept = gpu.create_view(now.texture(scene), view).place();
        const tn::Buffer scratch = now.recording()->transient_buffer(bytes);
        CHECK(now.recording()->transient_texture(target).place().object != scratch.place().object);
    });
    CHECK(gpu.wait(done));
    try {
        frame.execute(graph, [](const tn::Pass&) { throw std::runtime_error("mine"); });
        CHECK(false);
    } catch (const std::runtime_error& error) {
        CHECK(std::string_view(error.what()) == "mine");
    }
    // A call that is refused leaves the handle to the program.
    tn_Status refused = TN_OK;
    frame.execute(graph, [&](const tn::Pass&) {
        try {
            std::move(frame).end();
        } catch (const tn::Error& error) {
            refused = error.status();
        }
    });
    CHECK(refused == TN_ERROR_BUSY && frame);
    std::move(frame).end();
    CHECK(!frame);
}

static void windows(const tn::Gpu& gpu) {
    tn::Desc<tn_SwapchainDesc> desc;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_COPY_DST;
    const tn::Swapchain swapchain = tn::Swapchain::simulated(gpu, desc);
    swapchain.set_modes({TN_PRESENT_MAILBOX});
    swapchain.set_frame_latency(2);
    swapchain.set_formats({{TN_FORMAT_RGB10A2_UNORM, TN_COLOR_SPACE_HDR10}});
    swapchain.set_hdr_metadata({{}, {}, 0.001f, 1000, 0, 0});
    CHECK(swapchain.offers().format_count > 0);
    swapchain.resize(0, 4);
    CHECK(!swapchain.acquire());
    swapchain.resize(8, 4);
    std::optional<tn::SwapchainImage> image = swapchain.acquire();
    image = swapchain.acquire();
    CHECK(image && image->index == 0 && image->texture->place().object != 0);
    static_cast<void>(image->view->place());
    CHECK(swapchain.properties().mode == TN_PRESENT_MAILBOX && swapchain.properties().width == 8);
    const std::array<unsigned char, 1024> texels{1, 2, 3};
    tn::Desc<tn_BufferDesc> bytes;
    bytes.size = bytes.data_size = texels.size();
    bytes.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    bytes.data = texels.data();
    const tn::Buffer staging = gpu.create_buffer(bytes);
    tn::Recording recording = gpu.record(TN_QUEUE_GRAPHICS, "picture"_tn);
    swapchain.begin(recording);
    recording.copy({{staging.raw(), image->texture->raw(), 0, 0, 0, 256, 0, 0, {}}});
    swapchain.finish(recording);
    std::move(recording).submit();
    swapchain.present();
    try {
        static_cast<void>(tn::create_swapchain_vk(gpu, tn::native(std::uint64_t{1}), desc));
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_FOREIGN);
    }
}

static void parts(const tn::Gpu& gpu) {
    std::vector<tn_PlanItem> items(2);
    items[0].end = 1;
    items[1].first = 1;
    items[1].end = 2;
    items[0].size = items[1].size = 64;
    CHECK(tn::check_plan(items, tn::plan(items)) == 64);
    try {
        tn::check_plan(items, {0});
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_POINTER);
    }

    const tn::Suballocator general = tn::Suballocator::create(TN_SUBALLOCATOR_GENERAL, 1024);
    const std::optional<tn_Range> range = general.allocate(512, 256);
    CHECK(range && !general.allocate(1024, 1) && tn::last_out_of_memory()->size == 1024);
    general.deallocate(*range);
    CHECK(general.totals().free == 1024);
    general.clear();
    const tn::Suballocator ring = tn::Suballocator::create(TN_SUBALLOCATOR_RING, 1024);
    CHECK(ring.allocate(1024, 1));
    ring.close(1);
    ring.release_up_to(1);
    CHECK(ring.totals().free == 1024);

    int destroyed = 0;
    const tn::ReleaseQueue queue = tn::ReleaseQueue::create(1);
    const std::uint64_t recording = queue.open("draw"_tn);
    auto object = std::make_unique<int>(1);
    queue.push([&destroyed, object = std::move(object)] { destroyed += *object; }, 64);
    std::uint64_t signalled = 0;
    const tn_SyncPoint done = queue.submit(0, [&signalled](std::uint64_t serial) { signalled = serial; });
    queue.push([&destroyed] { destroyed += 10; }, 0, &done);
    queue.close(recording);
    try {
        queue.submit(0, [](std::uint64_t) { throw std::runtime_error("mine"); });
        CHECK(false);
    } catch (const std::runtime_error& error) {
        CHECK(std::string_view(error.what()) == "mine");
    }
    queue.reclaim();
    CHECK(signalled == 1 && destroyed == 0 && queue.totals().pending_bytes == 64);
    queue.complete(0, signalled);
    queue.reclaim();
    CHECK(destroyed == 11);

    const tn_MemoryType type{TN_MEMORY_DEVICE_LOCAL, 0};
    const tn_MemoryHeap heap{1u << 30, 1, 0};
    tn::Desc<tn_HeapPoolsDesc> desc;
    std::uint64_t heaps = 0;
    desc.user = &heaps;
    desc.create_heap = [](void* user, tn_HeapDesc, tn_Native* created) -> tn_Status {
        *created = ++*static_cast<std::uint64_t*>(user);
        return TN_OK;
    };
    desc.destroy_heap = [](void*, tn_Native) {};
    desc.memory_types = &type;
    desc.memory_heaps = &heap;
    desc.memory_type_count = desc.memory_heap_count = 1;
    desc.flags = TN_HEAP_POOLS_COMPACT;
    const tn::HeapPools pools = tn::HeapPools::create(desc);
    const std::uint32_t order = 0;
    tn::Desc<tn_MemoryRequest> request;
    request.size = 4096;
    request.memory_types = &order;
    request.memory_type_count = 1;
    const tn_MemoryRange memory = pools.allocate(request);
    CHECK(memory.heap == 1 && pools.totals().allocations == 1);
    bool is_done = false;
    CHECK(pools.compact({1024, 4, 100}, [](void*, tn_MemoryRange) -> tn_Bool { return 1; }, nullptr, is_done).empty() && is_done);
    pools.stop_compaction();
    pools.set_cap(0, UINT64_MAX);
    pools.deallocate(memory);
    pools.trim();
    CHECK(pools.totals().heaps == 0);

    tn::Desc<tn_BufferDesc> movable_desc;
    movable_desc.size = 4096;
    movable_desc.usage = TN_USAGE_VERTEX;
    movable_desc.flags = TN_RESOURCE_MOVABLE;
    // The first of a kind may have memory of its own, which does not move.
    const tn::Buffer first = gpu.create_buffer(movable_desc), movable = gpu.create_buffer(movable_desc);
    CHECK(tn_movable_id(movable.raw()) != 0);
    const tn_CompactionReport report = gpu.compact({1024, 4, 100});
    CHECK(report.moves == 0 && report.refused == 0);
    CHECK(gpu.take_moved().empty());
    const tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "place"_tn);
    CHECK(list.place(movable).size == movable_desc.size);
    movable_desc.flags = TN_RESOURCE_OWN;
    const tn::Buffer constant = gpu.create_buffer(movable_desc);
    gpu.make_read_only(constant, TN_STATE_VERTEX_OR_CONSTANT);

    const char* const path = "objects-recording.csv.gz";
    tn::Recorder recorder = gpu.record_allocations(path, TN_RECORD_NAMES);
    static_cast<void>(create_rock(gpu));
    std::move(recorder).finish();
    CHECK(std::remove(path) == 0);
}

/** Whether tn::vk takes an object: a buffer has an offset that it would lose. */
template <class Object, class = void>
constexpr bool has_handle = false;
template <class Object>
constexpr bool has_handle<Object, std::void_t<decltype(tn::vk<std::uint64_t>(std::declval<const Object&>()))>> = true;
static_assert(has_handle<tn::View> && has_handle<tn::Lent<tn::Texture, tn_Texture>> && has_handle<tn::Recording>);
static_assert(!has_handle<tn::Buffer> && !has_handle<tn::Lent<tn::Buffer, tn_Buffer>>);

static void vulkan() {
    int object = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(&object);
    CHECK(tn::vk<int*>(address) == &object && tn::vk<std::uint64_t>(7) == 7 && tn::native(&object) == address);
    try {
        static_cast<void>(tn::device_from_vk(tn::Desc<tn_VkDeviceDesc>()));
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_POINTER);
    }
}

int main() {
    vulkan();
    tn::Desc<tn_SimDesc> sim;
    sim.profile = "vulkan-nvidia"_tn;
    const tn::Device device = tn::Device::simulated(&sim);
    CHECK(device.properties().backend == TN_BACKEND_SIM);
    {
        const tn::Gpu gpu = tn::Gpu::create(device, {{"frames.in_flight"_tn, 2}});
        CHECK(gpu.whose(1).find("no object") != std::string::npos);
        CHECK(gpu.report(TN_REPORT_SETTINGS).find("\"frames.in_flight\":2") != std::string::npos);
        buffers(gpu);
        textures(gpu);
        materials(gpu);
        frames(gpu);
        errors(gpu);
        external(gpu);
        graphs(gpu);
        windows(gpu);
        parts(gpu);
        {
            const tn::Buffer rock = create_rock(gpu);
            CHECK(gpu.shutdown().find("rock") != std::string::npos);
        }
        CHECK(gpu.shutdown().empty());
    }
    device.run();
    CHECK(device.findings().empty());
}
