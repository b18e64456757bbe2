/* Acceleration structures, reserved resources, pages and mips on the simulated device, and their misuse. */
#include "check.h"

static tn_Gpu* gpu;

static tn_Recording* begin(const char* name) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, (tn_Str){name, TN_TO_NUL}, &recording) == TN_OK);
    return recording;
}

static tn_AccelerationStructure* create_structure(tn_StructureKind kind, const char* name) {
    tn_AccelerationStructureDesc desc = DESC(tn_AccelerationStructureDesc);
    desc.kind = kind;
    desc.size = 4096;
    desc.name = (tn_Str){name, TN_TO_NUL};
    tn_AccelerationStructure* structure = NULL;
    CHECK(tn_acceleration_structure_create(gpu, &desc, &structure) == TN_OK);
    return structure;
}

static void structures(void) {
    tn_AccelerationStructure* rock = create_structure(TN_STRUCTURE_BOTTOM, "rock");
    tn_AccelerationStructure* world = create_structure(TN_STRUCTURE_TOP, "world");
    tn_Place place;
    CHECK(tn_place(rock, &place) == TN_OK && place.object != 0 && place.size == 4096 && place.gpu_address != 0);
    CHECK(contains(tn_name(world), "world"));

    const tn_SetBinding binding = {0, TN_BINDING_ACCELERATION_STRUCTURE, 1};
    tn_SetLayoutDesc layout_desc = DESC(tn_SetLayoutDesc);
    layout_desc.bindings = &binding;
    layout_desc.binding_count = 1;
    tn_SetLayout* layout = NULL;
    CHECK(tn_set_layout_create(gpu, &layout_desc, &layout) == TN_OK);
    tn_Bind bind = {0};
    bind.structure = world;
    tn_DescriptorSetDesc set_desc = DESC(tn_DescriptorSetDesc);
    set_desc.layout = layout;
    set_desc.binds = &bind;
    set_desc.bind_count = 1;
    tn_DescriptorSet* set = NULL;
    CHECK(tn_descriptor_set_create(gpu, &set_desc, &set) == TN_OK);
    bind.data = "x";
    bind.data_size = 1;
    FAILS(tn_descriptor_set_create(gpu, &set_desc, &(tn_DescriptorSet*){NULL}), TN_ERROR_POINTER, "alone");

    tn_Recording* recording = begin("build");
    const tn_Use uses[] = {{rock, TN_STATE_ACCELERATION_STRUCTURE, TN_ALL}, {world, TN_STATE_ACCELERATION_STRUCTURE, TN_ALL}};
    CHECK(tn_recording_use(recording, uses, 2) == TN_OK);
    const tn_Use wrong = {rock, TN_STATE_COPY_DST, TN_ALL};
    FAILS(tn_recording_use(recording, &wrong, 1), TN_ERROR_STATE, "rock");
    FAILS(tn_gpu_declare_state(gpu, &wrong, 1, NULL), TN_ERROR_STATE, "rock");
    tn_AccelerationStructure *copy = create_structure(TN_STRUCTURE_BOTTOM, "copy"), *compacted = NULL;
    FAILS(tn_recording_copy_structure(recording, rock, rock), TN_ERROR_ACCELERATION_STRUCTURE, "rock");
    FAILS(tn_recording_copy_structure(recording, rock, world), TN_ERROR_ACCELERATION_STRUCTURE, "world");
    FAILS(tn_recording_compact(recording, rock, 8192, &compacted), TN_ERROR_ACCELERATION_STRUCTURE, "rock");
    CHECK(compacted == NULL);
    tn_Query* size = NULL;
    /* The simulated device finds that nothing was built: the recording is released. */
    CHECK(tn_recording_compacted_size(recording, rock, &size) == TN_OK);
    CHECK(tn_recording_compact(recording, rock, 1024, &compacted) == TN_OK);
    CHECK(contains(tn_name(compacted), "rock") && tn_place(compacted, &place) == TN_OK && place.size == 1024);
    CHECK(tn_release(compacted) == TN_OK);
    CHECK(tn_recording_copy_structure(recording, rock, copy) == TN_OK);
    CHECK(tn_release(recording) == TN_OK);
    tn_QueryResult result = DESC(tn_QueryResult);
    FAILS(tn_query_wait(size, 0, &result), TN_ERROR_DISCARDED, "build");

    tn_AccelerationStructureDesc desc = DESC(tn_AccelerationStructureDesc);
    desc.kind = 2;
    desc.size = 64;
    FAILS(tn_acceleration_structure_create(gpu, &desc, &compacted), TN_ERROR_ENUM, "kind = 2");
    CHECK(tn_release(size) == TN_OK && tn_release(set) == TN_OK && tn_release(layout) == TN_OK);
    CHECK(tn_release(rock) == TN_OK && tn_release(world) == TN_OK && tn_release(copy) == TN_OK);
}

static void reserved(void) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 1 << 20;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_SHADER_READ;
    desc.name = TN_LIT("world");
    tn_Reserved *world = NULL, *other = NULL, *pages = NULL;
    CHECK(tn_reserved_buffer_create(gpu, &desc, &world) == TN_OK);
    CHECK(tn_reserved_buffer_create(gpu, &desc, &other) == TN_OK);
    CHECK(contains(tn_name(world), "world"));
    tn_TileLayout layout = DESC(tn_TileLayout);
    CHECK(tn_reserved_layout(world, 0, &layout) == TN_OK);
    CHECK(layout.tile_size == 65536 && layout.tiles[0] == 16 && layout.mapped_tiles == 0);
    FAILS(tn_reserved_layout(world, 1, &layout), TN_ERROR_OUT_OF_RANGE, "subresource 1");

    tn_TileUpdate update = DESC(tn_TileUpdate);
    update.region.extent[0] = 4;
    update.region.extent[1] = update.region.extent[2] = 1;
    tn_SyncPoint done;
    CHECK(tn_reserved_update(world, &update, &done) == TN_OK);
    CHECK(tn_reserved_layout(world, 0, &layout) == TN_OK && layout.mapped_tiles == 4);
    update.action = TN_TILES_SHARE;
    update.source = world;
    update.source_region = update.region;
    update.after = &done;
    CHECK(tn_reserved_update(other, &update, NULL) == TN_OK);
    FAILS(tn_reserved_update(world, &update, NULL), TN_ERROR_TILES, "world");
    update.source_region.extent[0] = 3;
    FAILS(tn_reserved_update(other, &update, NULL), TN_ERROR_TILES, "world");
    update.action = TN_TILES_UNMAP;
    FAILS(tn_reserved_update(world, &update, NULL), TN_ERROR_ARGUMENT, "source");
    update.source = NULL;
    CHECK(tn_reserved_update(world, &update, &done) == TN_OK);
    CHECK(tn_reserved_layout(world, 0, &layout) == TN_OK && layout.mapped_tiles == 0);
    CHECK(tn_reserved_layout(other, 0, &layout) == TN_OK && layout.mapped_tiles == 4);
    update.region.origin[0] = 14;
    FAILS(tn_reserved_update(world, &update, NULL), TN_ERROR_TILES, "world");
    update.action = 3;
    FAILS(tn_reserved_update(world, &update, NULL), TN_ERROR_ENUM, "action = 3");

    tn_Recording* recording = begin("reads");
    const tn_Use use = {other, TN_STATE_SHADER_READ, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
    tn_Place place;
    CHECK(tn_place(other, &place) == TN_OK && place.object != 0 && place.size == 1 << 20 && place.gpu_address != 0);
    CHECK(tn_gpu_declare_state(gpu, &use, 1, NULL) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);

    tn_TextureDesc texture = DESC(tn_TextureDesc);
    texture.format = TN_FORMAT_RGBA8_UNORM;
    texture.width = texture.height = 512;
    texture.mips = 10;
    texture.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    CHECK(tn_reserved_texture_create(gpu, &texture, &pages) == TN_OK);
    CHECK(tn_reserved_layout(pages, 0, &layout) == TN_OK && layout.tiles[0] * layout.tile_extent[0] >= 512);
    CHECK(layout.first_packed_mip <= 10 && tn_release(pages) == TN_OK);
    texture.flags = TN_RESOURCE_MOVABLE;
    FAILS(tn_reserved_texture_create(gpu, &texture, &pages), TN_ERROR_ARGUMENT, "flags");
    desc.data = "x";
    FAILS(tn_reserved_buffer_create(gpu, &desc, &pages), TN_ERROR_ARGUMENT, "world");
    CHECK(pages == NULL && tn_release(world) == TN_OK && tn_release(other) == TN_OK);
}

static void pages(void) {
    tn_PagesDesc desc = DESC(tn_PagesDesc);
    desc.page_size = 1 << 20;
    desc.name = TN_LIT("level");
    tn_Pages* level = NULL;
    CHECK(tn_pages_create(gpu, &desc, &level) == TN_OK);
    tn_BufferDesc buffer_desc = DESC(tn_BufferDesc);
    buffer_desc.size = 4096;
    buffer_desc.usage = TN_USAGE_VERTEX;
    tn_Buffer* buffer = NULL;
    CHECK(tn_pages_buffer_create(level, &buffer_desc, &buffer) == TN_OK);
    tn_TextureDesc texture_desc = DESC(tn_TextureDesc);
    texture_desc.format = TN_FORMAT_RGBA8_UNORM;
    texture_desc.width = texture_desc.height = 64;
    texture_desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    tn_Texture* texture = NULL;
    CHECK(tn_pages_texture_create(level, &texture_desc, &texture) == TN_OK);
    tn_PageTotals totals = DESC(tn_PageTotals);
    CHECK(tn_pages_totals(level, &totals) == TN_OK);
    CHECK(totals.live == 2 && totals.pages >= 1 && totals.used >= 4096 + 64 * 64 * 4 && totals.page_bytes >= totals.used);
    static const uint32_t flags[] = {TN_RESOURCE_OWN, TN_RESOURCE_EVICTABLE, TN_RESOURCE_MOVABLE, TN_RESOURCE_FILLED};
    for (int at = 0; at < 5; ++at) {
        tn_BufferDesc with_flags = buffer_desc;
        with_flags.flags = at < 4 ? flags[at] : 0;
        with_flags.priority = at < 4 ? 0 : 1;
        FAILS(tn_pages_buffer_create(level, &with_flags, &(tn_Buffer*){NULL}), TN_ERROR_ARGUMENT, "flags, priority");
        tn_TextureDesc of_texture = texture_desc;
        of_texture.flags = at == 0 ? TN_RESOURCE_FILLED : with_flags.flags;
        of_texture.priority = with_flags.priority;
        FAILS(tn_pages_texture_create(level, &of_texture, &(tn_Texture*){NULL}), TN_ERROR_ARGUMENT, "flags, priority");
    }
    tn_BufferDesc still = buffer_desc;
    still.read_only = TN_STATE_VERTEX_OR_CONSTANT;
    FAILS(tn_pages_buffer_create(level, &still, &(tn_Buffer*){NULL}), TN_ERROR_STATE, "call tn_gpu_make_read_only");
    desc.page_size = 0;
    FAILS(tn_pages_create(gpu, &desc, &(tn_Pages*){NULL}), TN_ERROR_ARGUMENT, "page_size");
    buffer_desc.data = "x";
    buffer_desc.data_size = 1;
    FAILS(tn_pages_buffer_create(level, &buffer_desc, &(tn_Buffer*){NULL}), TN_ERROR_ARGUMENT, "data");
    /* The resources keep their pages. */
    CHECK(tn_release(level) == TN_OK && tn_release(buffer) == TN_OK && tn_release(texture) == TN_OK);
}

static void mips(void) {
    CHECK(tn_gpu_generates_mips(gpu, TN_FORMAT_RGBA8_UNORM) == 1);
    CHECK(tn_gpu_generates_mips(gpu, TN_FORMAT_D32_FLOAT) == 0 && tn_gpu_generates_mips(gpu, 5000) == 0);
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 2;
    desc.mips = 2;
    desc.depth_or_layers = 2;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.flags = TN_RESOURCE_FILLED;
    desc.name = TN_LIT("board");
    tn_Texture* board = NULL;
    CHECK(tn_texture_create(gpu, &desc, &board) == TN_OK);
    const unsigned char texels[16] = {10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0};
    tn_Part part = {0};
    part.resource = board;
    const tn_Texels data = {texels, sizeof texels, 0, 0, 0};
    for (part.region.layer = 0; part.region.layer < 2; ++part.region.layer)
        CHECK(tn_upload(gpu, &part, &data, NULL) == TN_OK);
    tn_Recording* recording = begin("mips");
    CHECK(tn_recording_generate_mips(recording, board, 0) == TN_OK);
    CHECK(tn_recording_generate_mips(recording, board, TN_ALL) == TN_OK);
    FAILS(tn_recording_generate_mips(recording, board, 2), TN_ERROR_STATE, "board");
    part.region.layer = 1;
    part.region.mip = 1;
    tn_Readback* readback = NULL;
    CHECK(tn_read_back(recording, &part, &readback) == TN_OK && tn_recording_submit(recording, NULL) == TN_OK);
    unsigned char found[4];
    CHECK(tn_readback_wait(readback, TN_FOREVER, found, sizeof found) == TN_OK && found[0] == 25);
    CHECK(tn_release(readback) == TN_OK && tn_release(board) == TN_OK);
}

static void costs(void) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 48 << 20;
    desc.usage = TN_USAGE_VERTEX;
    desc.name = TN_LIT("mountain");
    tn_Cost cost = DESC(tn_Cost);
    CHECK(tn_gpu_buffer_cost(gpu, &desc, &cost) == TN_OK);
    CHECK(cost.size == 48 << 20 && cost.new_bytes >= cost.size && cost.is_within_budget && cost.location != 0);
    tn_Buffer* mountain = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &mountain) == TN_OK && tn_release(mountain) == TN_OK);
    desc.data_size = 4;
    FAILS(tn_gpu_buffer_cost(gpu, &desc, &cost), TN_ERROR_POINTER, "null");
    desc.data_size = 0;
    desc.data = "rock";
    FAILS(tn_gpu_buffer_cost(gpu, &desc, &cost), TN_ERROR_WRONG_LENGTH, "data_size");
    desc.data = NULL;
    /* Contents add TN_USAGE_COPY_DST, and a place that the CPU writes. */
    desc.size = 4096;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_UNORDERED_ACCESS;
    tn_Cost filled = DESC(tn_Cost), with_data = DESC(tn_Cost);
    static const char contents[4096];
    desc.flags = TN_RESOURCE_FILLED | TN_RESOURCE_OWN;
    desc.usage |= TN_USAGE_COPY_DST;
    CHECK(tn_gpu_buffer_cost(gpu, &desc, &filled) == TN_OK);
    desc.flags = TN_RESOURCE_OWN;
    desc.usage &= ~(tn_Usage)TN_USAGE_COPY_DST;
    desc.data = contents;
    desc.data_size = sizeof contents;
    CHECK(tn_gpu_buffer_cost(gpu, &desc, &with_data) == TN_OK && memcmp(&filled, &with_data, sizeof filled) == 0);
    desc.data = NULL;
    desc.data_size = 0;
    desc.size = 0;
    FAILS(tn_gpu_buffer_cost(gpu, &desc, &cost), TN_ERROR_DEVICE, "mountain");
    tn_TextureDesc texture = DESC(tn_TextureDesc);
    texture.format = TN_FORMAT_RGBA8_UNORM;
    texture.width = texture.height = 1024;
    texture.usage = TN_USAGE_RENDER_TARGET;
    CHECK(tn_gpu_texture_cost(gpu, &texture, &cost) == TN_OK && cost.size >= 4 << 20);
    CHECK(tn_gpu_set_memory_cap(gpu, cost.heap, 1 << 20) == TN_OK);
    CHECK(tn_gpu_texture_cost(gpu, &texture, &cost) == TN_OK && !cost.is_within_budget);
    CHECK(tn_gpu_set_memory_cap(gpu, cost.heap, UINT64_MAX) == TN_OK);
}

static void readback_textures(void) {
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.mips = 2;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("board");
    tn_Texture* board = NULL;
    CHECK(tn_texture_create(gpu, &desc, &board) == TN_OK);
    unsigned char texels[16], found[16];
    memset(texels, 7, sizeof texels);
    tn_Part part = {0};
    part.resource = board;
    part.region.mip = 1;
    const tn_Texels data = {texels, sizeof texels, 0, 0, 0};
    CHECK(tn_upload(gpu, &part, &data, NULL) == TN_OK);
    tn_SubresourceLayout layouts[2];
    tn_Buffer* pixels = NULL;
    FAILS(tn_readback_texture_create(gpu, &desc, layouts, 1, &pixels), TN_ERROR_WRONG_LENGTH, "must be 2");
    CHECK(pixels == NULL);
    desc.flags = TN_RESOURCE_FILLED;
    FAILS(tn_readback_texture_create(gpu, &desc, layouts, 2, &pixels), TN_ERROR_ARGUMENT, "flags");
    desc.flags = 0;
    CHECK(tn_readback_texture_create(gpu, &desc, NULL, 0, &pixels) == TN_OK && tn_release(pixels) == TN_OK);
    CHECK(tn_readback_texture_create(gpu, &desc, layouts, 2, &pixels) == TN_OK);
    CHECK(layouts[0].rows == 4 && layouts[1].rows == 2 && layouts[1].depth == 1);
    CHECK(layouts[0].row_pitch >= 16 && layouts[1].offset >= layouts[0].row_pitch * 4);
    tn_Recording* recording = begin("picture");
    tn_Copy copy = {0};
    copy.src = board;
    copy.dst = pixels;
    copy.dst_offset = layouts[1].offset;
    copy.row_pitch = layouts[1].row_pitch;
    copy.region.mip = 1;
    CHECK(tn_recording_copy(recording, &copy, 1) == TN_OK);
    tn_SyncPoint done;
    CHECK(tn_recording_submit(recording, &done) == TN_OK && tn_gpu_wait(gpu, &done, TN_FOREVER) == TN_OK);
    for (uint64_t row = 0; row < 2; ++row) {
        CHECK(tn_buffer_read(pixels, layouts[1].offset + row * layouts[1].row_pitch, found, 8) == TN_OK);
        CHECK(memcmp(found, texels, 8) == 0);
    }
    CHECK(tn_release(pixels) == TN_OK && tn_release(board) == TN_OK);
}

/* Those of Vulkan are in tests/vulkan. */
static void semaphores(void) {
    tn_Recording* recording = begin("waits");
    tn_VkPoint point = {1, 7, 0, 0, 0};
    tn_BufferDesc buffer_desc = DESC(tn_BufferDesc);
    tn_TextureDesc texture_desc = DESC(tn_TextureDesc);
    tn_VkAdoption adoption = DESC(tn_VkAdoption);
    adoption.object = 1;
    FAILS(tn_buffer_adopt_vk(gpu, &buffer_desc, &adoption, &(tn_Buffer*){NULL}), TN_ERROR_FOREIGN, "another backend");
    FAILS(tn_texture_adopt_vk(gpu, &texture_desc, &adoption, &(tn_Texture*){NULL}), TN_ERROR_FOREIGN, "another backend");
    FAILS(tn_recording_add_semaphores_vk(recording, &point, 1, NULL, 0), TN_ERROR_FOREIGN, "another backend");
    point.semaphore = 0;
    FAILS(tn_recording_add_semaphores_vk(recording, NULL, 0, &point, 1), TN_ERROR_POINTER, "semaphore is null");
    FAILS(tn_recording_add_semaphores_vk(recording, NULL, 1, NULL, 0), TN_ERROR_POINTER, "waits");
    CHECK(tn_release(recording) == TN_OK);
}

int main(void) {
    tn_SimDesc desc = DESC(tn_SimDesc);
    desc.profile = TN_LIT("vulkan-nvidia");
    tn_Device* device = NULL;
    CHECK(tn_device_create_sim(&desc, &device) == TN_OK && tn_gpu_create(device, NULL, &gpu) == TN_OK);
    structures();
    reserved();
    pages();
    mips();
    costs();
    readback_textures();
    semaphores();
    CHECK(tn_gpu_shutdown(gpu, NULL, NULL) == TN_OK);
    tn_PagesDesc pages_desc = DESC(tn_PagesDesc);
    pages_desc.page_size = 1 << 20;
    FAILS(tn_pages_create(gpu, &pages_desc, &(tn_Pages*){NULL}), TN_ERROR_SHUT_DOWN, "shut down");
    CHECK(tn_release(gpu) == TN_OK);
    check_clean(device);
    CHECK(tn_release(device) == TN_OK);
    return 0;
}
