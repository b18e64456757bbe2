/* Queries and upload rings in C++, with exceptions and without. */
#include "check.h"

#include "tenure.hpp"

using namespace tn::literals;

#if TN_EXCEPTIONS
template <class T>
static T got(T value) {
    return value;
}
#else
static void got(tn::Result<void> result) { CHECK(result.ok()); }
template <class T>
static T got(tn::Result<T> result) {
    CHECK(result.ok());
    return *std::move(result);
}
#endif

static void queries(const tn::Gpu& gpu) {
    const tn::Frame frame = got(gpu.begin_frame());
    tn::Recording list = got(gpu.record(TN_QUEUE_GRAPHICS, "boxes"_tn));
    const tn_OpenQuery scope = got(list.begin_gpu_time("all boxes"_tn));
    const tn::Query begin = got(list.write_timestamp());
    const tn_OpenQuery open = got(list.begin_query(TN_QUERY_OCCLUSION));
    const tn::Query samples = got(list.end_query(open));
    const tn::Query end = got(list.write_timestamp());
#if TN_EXCEPTIONS
    list.end_gpu_time(scope);
#else
    got(list.end_gpu_time(scope));
#endif
    CHECK(!got(samples.wait(std::chrono::nanoseconds(0))) && !got(end.since(begin)));
    const tn_SyncPoint done = got(std::move(list).submit());
    CHECK(got(gpu.wait(done)));
    CHECK(got(samples.wait())->value == 0 && got(end.wait())->value > got(begin.wait())->value);
    CHECK(got(end.since(begin))->count() > 0 && got(begin.since(end))->count() == 0);
}

static void rings(const tn::Gpu& gpu) {
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 256;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    const tn::Buffer rock = got(gpu.create_buffer(desc));
    tn::Desc<tn_UploadRingDesc> ring_desc;
    ring_desc.size = 4096;
    const tn::UploadRing ring = got(gpu.create_upload_ring(ring_desc));
    tn::Recording list = got(gpu.record(TN_QUEUE_GRAPHICS, "particles"_tn));
    const tn_RingSlice slice = got(ring.allocate(list, 64, 16));
    tn_Copy copy{};
    copy.dst = rock.raw();
    copy.size = 8;
#if TN_EXCEPTIONS
    list.write(slice, 0, "particle", 8);
    list.copy(slice, {copy});
    list.reuse_build_scratch();
    ring.close();
#else
    got(list.write(slice, 0, "particle", 8));
    got(list.copy(slice, {copy}));
    got(list.reuse_build_scratch());
    got(ring.close());
#endif
    CHECK(got(list.build_scratch(100)).size == 100);
    const tn::Readback readback = got(list.read_back(tn::part(rock, 0, 8)));
    got(std::move(list).submit());
    CHECK(got(ring.totals()).allocations == 1);
    const auto bytes = got(readback.wait());
    CHECK(bytes && (*bytes)[7] == 'e');
}

static void structures(const tn::Gpu& gpu) {
    tn::Desc<tn_AccelerationStructureDesc> desc;
    desc.size = 4096;
    desc.name = "rock"_tn;
    const tn::AccelerationStructure rock = got(gpu.create_acceleration_structure(desc));
    const tn::AccelerationStructure copy = got(gpu.create_acceleration_structure(desc));
    const tn::Recording list = got(gpu.record(TN_QUEUE_GRAPHICS, "never submitted"_tn));
    const tn::Query size = got(list.compacted_size(rock));
    const tn::AccelerationStructure compacted = got(list.compact(rock, 1024));
    CHECK(compacted.name() == "rock" && got(compacted.place()).size == 1024 && tn::bind(rock, 3).structure == rock.raw());

    tn::Desc<tn_BufferDesc> world_desc;
    world_desc.size = 1 << 20;
    world_desc.usage = TN_USAGE_SHADER_READ;
    const tn::Reserved world = got(gpu.create_reserved(world_desc));
    tn::Desc<tn_TileUpdate> update;
    update.region.extent[0] = update.region.extent[1] = update.region.extent[2] = 1;
    got(world.update(update));
    CHECK(got(world.layout()).mapped_tiles == 1);
    const tn::Pages level = got(gpu.create_pages(1 << 20, "level"_tn));
    world_desc.size = 4096;
    const tn::Buffer buffer = got(level.create_buffer(world_desc));
    tn::Desc<tn_TextureDesc> board_desc;
    board_desc.format = TN_FORMAT_RGBA8_UNORM;
    board_desc.width = board_desc.height = 4;
    board_desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    const tn::Texture board = got(level.create_texture(board_desc));
    std::vector<tn_SubresourceLayout> layouts;
    const tn::Buffer pixels = got(gpu.create_readback_texture(board_desc, layouts));
    CHECK(layouts.size() == 1 && layouts[0].rows == 4 && got(gpu.cost(world_desc)).size == 4096 && got(gpu.cost(board_desc)).size >= 64);
    CHECK(got(level.totals()).live == 2 && gpu.generates_mips(TN_FORMAT_RGBA8_UNORM));
#if TN_EXCEPTIONS
    list.copy(rock, copy);
    list.use({tn::use(rock), tn::use(world, TN_STATE_SHADER_READ)});
    list.generate_mips(board);
#else
    got(list.copy(rock, copy));
    got(list.use({tn::use(rock), tn::use(world, TN_STATE_SHADER_READ)}));
    got(list.generate_mips(board));
#endif
}

int main() {
    tn::Desc<tn_SimDesc> desc;
    desc.profile = "vulkan-nvidia"_tn;
    const tn::Device device = got(tn::Device::simulated(&desc));
    {
        const tn::Gpu gpu = got(tn::Gpu::create(device));
        queries(gpu);
        const auto times = got(gpu.gpu_times());
        CHECK(times.size() == 1 && times[0].first == "all boxes" && times[0].second.nanoseconds > 0);
        rings(gpu);
        structures(gpu);
        CHECK(got(gpu.shutdown()).empty());
    }
    check_clean(device.raw());
    return 0;
}
