/* Samplers, tables and sets on the simulated device: as programs use them, and misuse. */
#include "check.h"

#include <math.h>

static tn_Device* devices[2];
static tn_Gpu* gpu = NULL;
/* On Direct3D 12's rules: tables alone. */
static tn_Gpu* other_gpu = NULL;

static tn_View* create_texture_view(tn_Gpu* on, uint32_t flags) {
    const unsigned char texels[4 * 4 * 4] = {7};
    const tn_Texels data = {texels, sizeof texels, 0, 0, 0};
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.flags = flags;
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 4;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    desc.name = TN_LIT("grass");
    desc.data = &data;
    desc.data_count = 1;
    tn_Texture* texture = NULL;
    CHECK(tn_texture_create(on, &desc, &texture) == TN_OK);
    const tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    tn_View* view = NULL;
    CHECK(tn_texture_view_create(on, texture, &view_desc, &view) == TN_OK);
    /* The view keeps it. */
    CHECK(tn_release(texture) == TN_OK);
    return view;
}

static tn_View* create_buffer_view(void) {
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 1024;
    desc.usage = TN_USAGE_UNORDERED_ACCESS;
    desc.name = TN_LIT("lights");
    tn_Buffer* buffer = NULL;
    CHECK(tn_buffer_create(gpu, &desc, &buffer) == TN_OK);
    tn_BufferViewDesc view_desc = DESC(tn_BufferViewDesc);
    view_desc.access = TN_BUFFER_RAW_WRITABLE;
    tn_View* view = NULL;
    CHECK(tn_buffer_view_create(gpu, buffer, &view_desc, &view) == TN_OK);
    CHECK(tn_release(buffer) == TN_OK);
    return view;
}

static tn_Sampler* create_sampler(tn_Gpu* on) {
    tn_SamplerDesc desc = DESC(tn_SamplerDesc);
    desc.name = TN_LIT("smooth");
    tn_Sampler* sampler = NULL;
    CHECK(tn_sampler_create(on, &desc, &sampler) == TN_OK);
    return sampler;
}

static tn_DescriptorTableDesc table_desc(const tn_Bind* binds, size_t count) {
    tn_DescriptorTableDesc desc = DESC(tn_DescriptorTableDesc);
    desc.binds = binds;
    desc.bind_count = count;
    desc.name = TN_LIT("meadow");
    return desc;
}

static tn_DescriptorTable* create_table(const tn_Bind* binds, size_t count) {
    const tn_DescriptorTableDesc desc = table_desc(binds, count);
    tn_DescriptorTable* table = NULL;
    CHECK(tn_descriptor_table_create(gpu, &desc, &table) == TN_OK);
    return table;
}

static tn_SetLayout* create_layout(const tn_SetBinding* bindings, size_t count) {
    tn_SetLayoutDesc desc = DESC(tn_SetLayoutDesc);
    desc.bindings = bindings;
    desc.binding_count = count;
    desc.name = TN_LIT("material");
    tn_SetLayout* layout = NULL;
    CHECK(tn_set_layout_create(gpu, &desc, &layout) == TN_OK);
    return layout;
}

static tn_Recording* begin(void) {
    tn_Recording* recording = NULL;
    CHECK(tn_recording_begin(gpu, TN_QUEUE_GRAPHICS, TN_LIT("opaque"), &recording) == TN_OK);
    return recording;
}

static tn_Bind of_view(tn_View* view) {
    tn_Bind bind = {0};
    bind.view = view;
    return bind;
}

static tn_Place place_of(void* handle) {
    tn_Place place;
    CHECK(tn_place(handle, &place) == TN_OK);
    return place;
}

static int has_name(void* handle, const char* name) {
    return tn_name(handle).size == strlen(name) && memcmp(tn_name(handle).data, name, strlen(name)) == 0;
}

static void samplers(void) {
    tn_Sampler* smooth = create_sampler(gpu);
    tn_Sampler* again = create_sampler(gpu);
    CHECK(has_name(smooth, "smooth"));
    tn_SamplerDesc desc = DESC(tn_SamplerDesc);
    desc.mag = desc.min = desc.mip = TN_FILTER_NEAREST;
    desc.address[0] = TN_ADDRESS_MIRROR;
    desc.address[1] = TN_ADDRESS_CLAMP;
    desc.address[2] = TN_ADDRESS_BORDER;
    desc.border = TN_BORDER_OPAQUE_WHITE;
    desc.compare = TN_COMPARE_LESS;
    desc.anisotropy = 1;
    tn_Sampler* shadow = NULL;
    CHECK(tn_sampler_create(gpu, &desc, &shadow) == TN_OK);
    /* Equal samplers share a descriptor. */
    CHECK(place_of(smooth).offset == place_of(again).offset);
    CHECK(place_of(smooth).offset != place_of(shadow).offset);
    CHECK(tn_release(smooth) == TN_OK && tn_release(again) == TN_OK && tn_release(shadow) == TN_OK);
}

static void check_owner(uint32_t index, const char* part) {
    tn_Text* text = NULL;
    CHECK(tn_gpu_descriptor_owner(gpu, TN_DESCRIPTOR_RESOURCE, index, &text) == TN_OK);
    CHECK(contains(tn_text(text), part));
    CHECK(tn_release(text) == TN_OK);
}

static void tables(void) {
    tn_View *grass = create_texture_view(gpu, 0), *lights = create_buffer_view();
    const tn_Bind binds[] = {of_view(grass), of_view(lights)};
    tn_DescriptorTable* table = create_table(binds, 2);
    const tn_Place place = place_of(table);
    CHECK(place.size == 2 && has_name(table, "meadow"));
    check_owner((uint32_t)place.offset + 1, "table meadow");

    tn_Recording* recording = begin();
    CHECK(tn_recording_set_descriptor_heaps(recording) == TN_OK);
    /* All of the table, and a view alone. */
    const tn_Use uses[] = {{table, TN_STATE_SHADER_READ, 0}, {grass, TN_STATE_SHADER_READ, TN_ALL}};
    CHECK(tn_recording_use(recording, uses, 2) == TN_OK);
    tn_Native list = 0;
    CHECK(tn_recording_native(recording, &list) == TN_OK);
    /* The table keeps the views, and the recording the table. */
    CHECK(tn_release(grass) == TN_OK && tn_release(lights) == TN_OK && tn_release(table) == TN_OK);
    tn_View* sand = create_texture_view(gpu, 0);
    const tn_Bind bind = of_view(sand);
    tn_DescriptorTable* next = create_table(&bind, 1);
    CHECK(place_of(next).offset < place.offset || place_of(next).offset >= place.offset + place.size);
    CHECK(tn_release(next) == TN_OK && tn_release(sand) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_gpu_reclaim(gpu) == TN_OK);
    check_owner((uint32_t)place.offset, "freed by meadow");

    tn_Sampler* smooth = create_sampler(gpu);
    tn_Bind of_sampler = {0};
    of_sampler.sampler = smooth;
    tn_DescriptorTable* of_samplers = create_table(&of_sampler, 1);
    tn_Text* text = NULL;
    CHECK(tn_gpu_descriptor_owner(gpu, TN_DESCRIPTOR_SAMPLER, (uint32_t)place_of(of_samplers).offset, &text) == TN_OK);
    CHECK(contains(tn_text(text), "table meadow") && tn_release(text) == TN_OK);
    CHECK(tn_release(of_samplers) == TN_OK && tn_release(smooth) == TN_OK);
}

static void sets(void) {
    const tn_SetBinding bindings[] = {{0, TN_BINDING_COMBINED_SAMPLER, 0}, {2, TN_BINDING_BUFFER, 2}};
    tn_SetLayout* layout = create_layout(bindings, 2);
    CHECK(has_name(layout, "material"));
    CHECK(place_of(layout).size == 0);
    tn_View *grass = create_texture_view(gpu, 0), *lights = create_buffer_view();
    tn_Sampler* smooth = create_sampler(gpu);
    const tn_Bind binds[] = {{0, 0, grass, smooth, NULL, 0, NULL}, {2, 1, lights, NULL, NULL, 0, NULL}};
    tn_DescriptorSetDesc desc = DESC(tn_DescriptorSetDesc);
    desc.layout = layout;
    desc.binds = binds;
    desc.bind_count = 2;
    desc.name = TN_LIT("rock");
    tn_DescriptorSet* set = NULL;
    CHECK(tn_descriptor_set_create(gpu, &desc, &set) == TN_OK);
    CHECK(has_name(set, "rock") && place_of(set).size == 0);
    CHECK(tn_release(layout) == TN_OK && tn_release(grass) == TN_OK);
    CHECK(tn_release(lights) == TN_OK && tn_release(smooth) == TN_OK);
    tn_Recording* recording = begin();
    const tn_Use use = {set, TN_STATE_PIXEL_SHADER, TN_ALL};
    CHECK(tn_recording_use(recording, &use, 1) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(set) == TN_OK);
}

static void of_recordings(void) {
    tn_View *grass = create_texture_view(gpu, 0), *evictable = create_texture_view(gpu, TN_RESOURCE_EVICTABLE);
    const float camera[16] = {1};
    tn_Bind binds[20] = {{0}};
    for (int at = 0; at < 20; ++at) binds[at] = of_view(grass);
    binds[0].view = NULL;
    binds[0].data = camera;
    binds[0].data_size = sizeof camera;
    tn_Recording* recording = begin();
    CHECK(tn_recording_set_descriptor_heaps(recording) == TN_OK);
    tn_Place row, second, set;
    CHECK(tn_recording_descriptors(recording, binds, 20, &row) == TN_OK);
    CHECK(tn_recording_descriptors(recording, binds, 2, &second) == TN_OK);
    CHECK(row.size == 20 && second.size == 2 && second.offset >= row.offset + 20);
    check_owner((uint32_t)row.offset, "recording opaque");

    const tn_SetBinding bindings[] = {{0, TN_BINDING_CONSTANTS, 1}, {1, TN_BINDING_TEXTURE, 1}};
    tn_SetLayout* layout = create_layout(bindings, 2);
    binds[1].binding = 1;
    CHECK(tn_recording_descriptor_set(recording, layout, binds, 2, &set) == TN_OK);
    CHECK(tn_release(layout) == TN_OK);

    const tn_SetBinding dynamic = {0, TN_BINDING_DYNAMIC_CONSTANTS, 1};
    layout = create_layout(&dynamic, 1);
    tn_Place first, next;
    CHECK(tn_recording_dynamic_constants(recording, layout, camera, sizeof camera, &first) == TN_OK);
    CHECK(tn_recording_dynamic_constants(recording, layout, camera, sizeof camera, &next) == TN_OK);
    CHECK(first.size == sizeof camera && first.object == next.object && first.offset < next.offset);
    CHECK(first.gpu_address != 0);
    FAILS(tn_recording_descriptor_set(recording, layout, binds, 1, &set), TN_ERROR_DEVICE, "tn_recording_dynamic_constants");
    CHECK(tn_release(layout) == TN_OK);

    const tn_Bind bind = of_view(evictable);
    tn_DescriptorTable* table = create_table(&bind, 1);
    void* const handles[] = {table, evictable};
    CHECK(tn_recording_make_resident(recording, handles, 2) == TN_OK);
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(table) == TN_OK && tn_release(evictable) == TN_OK && tn_release(grass) == TN_OK);
}

static void read_only(void) {
    const unsigned char texels[4] = {7};
    const tn_Texels data = {texels, sizeof texels, 0, 0, 0};
    tn_TextureDesc desc = DESC(tn_TextureDesc);
    desc.format = TN_FORMAT_RGBA8_UNORM;
    desc.width = desc.height = 1;
    desc.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
    desc.read_only = TN_STATE_SHADER_READ;
    desc.name = TN_LIT("grass");
    desc.data = &data;
    desc.data_count = 1;
    tn_Texture* grass = NULL;
    CHECK(tn_texture_create(gpu, &desc, &grass) == TN_OK);
    tn_BufferDesc buffer_desc = DESC(tn_BufferDesc);
    buffer_desc.size = 64;
    buffer_desc.usage = TN_USAGE_INDEX | TN_USAGE_COPY_DST;
    buffer_desc.read_only = TN_STATE_INDEX;
    buffer_desc.name = TN_LIT("indices");
    tn_Buffer* indices = NULL;
    CHECK(tn_buffer_create(gpu, &buffer_desc, &indices) == TN_OK);
    tn_Recording* recording = begin();
    const tn_Use reads[] = {{grass, TN_STATE_PIXEL_SHADER, TN_ALL}, {indices, TN_STATE_INDEX, TN_ALL}};
    const tn_Use writes[] = {{grass, TN_STATE_COPY_DST, TN_ALL}, {indices, TN_STATE_COPY_DST, TN_ALL}};
    CHECK(tn_recording_use(recording, reads, 2) == TN_OK);
    FAILS(tn_recording_use(recording, &writes[0], 1), TN_ERROR_STATE, "grass");
    FAILS(tn_recording_use(recording, &writes[1], 1), TN_ERROR_STATE, "indices");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(grass) == TN_OK && tn_release(indices) == TN_OK);
    desc.read_only = 1u << 31;
    FAILS(tn_texture_create(gpu, &desc, &grass), TN_ERROR_ENUM, "state");
    desc.read_only = TN_STATE_SHADER_READ;
    desc.flags = TN_RESOURCE_EVICTABLE;
    FAILS(tn_texture_create(gpu, &desc, &grass), TN_ERROR_STATE, "grass");
    buffer_desc.read_only = 1u << 31;
    FAILS(tn_buffer_create(gpu, &buffer_desc, &indices), TN_ERROR_ENUM, "state");
}

/* Misuse. */

static void structures(void) {
    tn_SamplerDesc desc = DESC(tn_SamplerDesc);
    tn_Sampler* sampler = NULL;
    FAILS(tn_sampler_create(NULL, &desc, &sampler), TN_ERROR_HANDLE, "tn_Gpu");
    FAILS(tn_sampler_create(gpu, NULL, &sampler), TN_ERROR_POINTER, "tn_SamplerDesc");
    FAILS(tn_sampler_create(gpu, &desc, NULL), TN_ERROR_POINTER, "handle");
    desc.struct_size -= 8;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_STRUCT_SIZE, "tn_SamplerDesc");
    desc = (tn_SamplerDesc)DESC(tn_SamplerDesc);
    desc.flags = 2;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_ENUM, "flags");
    desc.flags = TN_SAMPLER_MAX_LOD;
    desc.min_lod = 1;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_DEVICE, "max_lod");
    desc.flags = 0;
    desc.mip_bias = NAN;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_DEVICE, "mip_bias");
    desc.mip_bias = 0;
    desc.mip = 2;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_ENUM, "mip = 2");
    desc.mip = 0;
    desc.address[2] = 4;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_ENUM, "address = 4");
    desc.address[2] = 0;
    desc.compare = 9;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_ENUM, "compare = 9");
    desc.compare = 0;
    desc.border = 3;
    FAILS(tn_sampler_create(gpu, &desc, &sampler), TN_ERROR_ENUM, "border = 3");
    CHECK(sampler == NULL);

    tn_SetBinding binding = {0, 0, 1};
    tn_SetLayoutDesc layout_desc = DESC(tn_SetLayoutDesc);
    tn_SetLayout* layout = NULL;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &layout), TN_ERROR_DEVICE, "bindings");
    layout_desc.binding_count = 1;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &layout), TN_ERROR_POINTER, "bindings");
    layout_desc.bindings = &binding;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &layout), TN_ERROR_ENUM, "kind = 0");
    binding.kind = TN_BINDING_ACCELERATION_STRUCTURE + 1;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &layout), TN_ERROR_ENUM, "kind = 12");
    binding.kind = TN_BINDING_TEXTURE;
    FAILS(tn_set_layout_create(other_gpu, &layout_desc, &layout), TN_ERROR_DEVICE, "descriptor sets");
    layout_desc.struct_size = 0;
    FAILS(tn_set_layout_create(gpu, &layout_desc, &layout), TN_ERROR_STRUCT_SIZE, "tn_SetLayoutDesc");
    CHECK(layout == NULL);
    tn_Text* text = NULL;
    FAILS(tn_gpu_descriptor_owner(gpu, 2, 0, &text), TN_ERROR_ENUM, "kind = 2");
    FAILS(tn_gpu_descriptor_owner(gpu, TN_DESCRIPTOR_RESOURCE, UINT32_MAX, &text), TN_ERROR_OUT_OF_RANGE, "4294967295");
}

static void bad_tables(void) {
    tn_View *grass = create_texture_view(gpu, 0), *foreign = create_texture_view(other_gpu, 0);
    tn_Sampler* smooth = create_sampler(gpu);
    tn_Bind binds[2] = {of_view(grass), {0}};
    tn_DescriptorTableDesc desc = table_desc(binds, 0);
    tn_DescriptorTable* table = NULL;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_DEVICE, "meadow");
    desc.bind_count = 2;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_POINTER, "binds[1]");
    binds[1].sampler = smooth;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_DEVICE, "meadow");
    binds[1] = (tn_Bind){0, 0, grass, smooth, NULL, 0, NULL};
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_DEVICE, "meadow");
    binds[1] = (tn_Bind){0, 0, NULL, NULL, "constants", 9, NULL};
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_DEVICE, "binds[1]: data");
    binds[1].view = grass;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_POINTER, "binds[1]");
    binds[1] = of_view(foreign);
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_FOREIGN, "grass");
    binds[1] = of_view((tn_View*)(void*)smooth);
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_HANDLE, "is not a tn_View");
    binds[1] = of_view(grass);
    binds[1].view = NULL;
    binds[1].sampler = (tn_Sampler*)(void*)grass;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_HANDLE, "is not a tn_Sampler");
    desc.binds = NULL;
    FAILS(tn_descriptor_table_create(gpu, &desc, &table), TN_ERROR_POINTER, "binds");
    CHECK(table == NULL);

    binds[1] = of_view(grass);
    table = create_table(binds, 2);
    desc = table_desc(binds, 2);
    tn_DescriptorTable* full[16];
    size_t count = 0;
    tn_Status status = TN_OK;
    for (; count < 16 && status == TN_OK; ++count) status = tn_descriptor_table_create(gpu, &desc, &full[count]);
    FAILS(status, TN_ERROR_NO_DESCRIPTORS, "static_resources");
    CHECK(full[count - 1] == NULL && place_of(table).size == 2);
    while (count > 0) CHECK(tn_release(full[--count]) == TN_OK);

    tn_VkTable vulkan = DESC(tn_VkTable);
    FAILS(tn_gpu_tables_vk(gpu, TN_DESCRIPTOR_RESOURCE, &vulkan), TN_ERROR_FOREIGN, "is not on a Vulkan device");
    FAILS(tn_gpu_tables_vk(gpu, TN_DESCRIPTOR_RESOURCE, NULL), TN_ERROR_POINTER, "tn_VkTable");
    FAILS(tn_gpu_renumber_vk(gpu, TN_DESCRIPTOR_RESOURCE, 0, NULL, 0), TN_ERROR_FOREIGN, "is not on a Vulkan device");

    tn_Recording* recording = begin();
    tn_Place here;
    CHECK(tn_recording_place(recording, table, &here) == TN_OK);
    CHECK(here.size == 2 && here.offset == place_of(table).offset);
    CHECK(tn_recording_place(recording, grass, &here) == TN_OK && here.offset == place_of(grass).offset);
    FAILS(tn_recording_place(recording, foreign, &here), TN_ERROR_FOREIGN, "grass");
    tn_Use use = {table, TN_STATE_COPY_SRC, TN_ALL};
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_ENUM, "TN_STATE_SHADER_READ");
    use = (tn_Use){foreign, TN_STATE_PIXEL_SHADER, TN_ALL};
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_FOREIGN, "grass");
    use = (tn_Use){smooth, TN_STATE_PIXEL_SHADER, TN_ALL};
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_HANDLE, "buffer, texture, view, table or set");
    FAILS(tn_gpu_declare_state(gpu, &use, 1, NULL), TN_ERROR_HANDLE, "buffer or texture");
    void* handles[] = {foreign, smooth};
    FAILS(tn_recording_make_resident(recording, handles, 2), TN_ERROR_FOREIGN, "grass");
    FAILS(tn_recording_make_resident(recording, handles + 1, 1), TN_ERROR_HANDLE, "buffer, texture, view, table or set");
    FAILS(tn_recording_make_resident(recording, NULL, 1), TN_ERROR_POINTER, "handles");
    CHECK(tn_release(table) == TN_OK);
    FAILS(tn_release(table), TN_ERROR_HANDLE, "tn_DescriptorTable was released");
    handles[0] = table;
    FAILS(tn_recording_make_resident(recording, handles, 1), TN_ERROR_HANDLE, "was released");
    use = (tn_Use){table, TN_STATE_PIXEL_SHADER, TN_ALL};
    FAILS(tn_recording_use(recording, &use, 1), TN_ERROR_HANDLE, "was released");
    FAILS(tn_place(table, &(tn_Place){0}), TN_ERROR_HANDLE, "was released");

    tn_Place place;
    FAILS(tn_recording_descriptors(recording, binds, 2, NULL), TN_ERROR_POINTER, "tn_Place");
    FAILS(tn_recording_descriptors(recording, NULL, 2, &place), TN_ERROR_POINTER, "binds");
    FAILS(tn_recording_descriptors(recording, binds, 0, &place), TN_ERROR_DEVICE, "opaque");
    FAILS(tn_recording_descriptors(NULL, binds, 2, &place), TN_ERROR_HANDLE, "tn_Recording");
    binds[0] = (tn_Bind){0, 0, NULL, NULL, "constants", 0, NULL};
    FAILS(tn_recording_descriptors(recording, binds, 1, &place), TN_ERROR_DEVICE, "constants");
    CHECK(tn_release(recording) == TN_OK);
    FAILS(tn_recording_set_descriptor_heaps(recording), TN_ERROR_HANDLE, "was released");
    CHECK(tn_release(grass) == TN_OK && tn_release(foreign) == TN_OK && tn_release(smooth) == TN_OK);
    FAILS(tn_release(smooth), TN_ERROR_HANDLE, "tn_Sampler was released");
}

static void bad_sets(void) {
    const tn_SetBinding binding = {1, TN_BINDING_TEXTURE, 2};
    tn_SetLayout* layout = create_layout(&binding, 1);
    tn_View* grass = create_texture_view(gpu, 0);
    tn_Bind binds[2] = {{1, 2, grass, NULL, NULL, 0, NULL}, {1, 0, grass, NULL, NULL, 0, NULL}};
    tn_DescriptorSetDesc desc = DESC(tn_DescriptorSetDesc);
    desc.binds = binds;
    desc.bind_count = 1;
    tn_DescriptorSet* set = NULL;
    FAILS(tn_descriptor_set_create(gpu, &desc, &set), TN_ERROR_HANDLE, "tn_SetLayout");
    desc.layout = layout;
    FAILS(tn_descriptor_set_create(gpu, &desc, &set), TN_ERROR_DEVICE, "element");
    FAILS(tn_descriptor_set_create(other_gpu, &desc, &set), TN_ERROR_FOREIGN, "material");
    binds[0].element = 0;
    desc.bind_count = 2;
    FAILS(tn_descriptor_set_create(gpu, &desc, &set), TN_ERROR_DEVICE, "");
    binds[0] = (tn_Bind){1, 0, NULL, NULL, "constants", 9, NULL};
    FAILS(tn_descriptor_set_create(gpu, &desc, &set), TN_ERROR_DEVICE, "binds[0]: data");
    CHECK(set == NULL);
    tn_Recording* recording = begin();
    tn_Place place;
    desc.bind_count = 1;
    binds[0] = (tn_Bind){1, 0, grass, NULL, NULL, 0, NULL};
    CHECK(tn_descriptor_set_create(gpu, &desc, &set) == TN_OK);
    CHECK(tn_recording_place(recording, set, &place) == TN_OK && place.offset == place_of(set).offset);
    CHECK(tn_release(set) == TN_OK);
    set = NULL;
    FAILS(tn_recording_dynamic_constants(recording, layout, "constants", 9, &place), TN_ERROR_DEVICE, "");
    FAILS(tn_recording_dynamic_constants(recording, NULL, "constants", 9, &place), TN_ERROR_HANDLE, "tn_SetLayout");
    FAILS(tn_recording_dynamic_constants(recording, layout, NULL, 9, &place), TN_ERROR_POINTER, "data");
    FAILS(tn_recording_dynamic_constants(recording, layout, "constants", 9, NULL), TN_ERROR_POINTER, "tn_Place");
    FAILS(tn_recording_descriptor_set(recording, NULL, binds + 1, 1, &place), TN_ERROR_HANDLE, "tn_SetLayout");
    FAILS(tn_recording_descriptor_set(recording, layout, binds + 1, 1, NULL), TN_ERROR_POINTER, "tn_Place");
    FAILS(tn_recording_descriptor_set(recording, layout, NULL, 1, &place), TN_ERROR_POINTER, "binds");
    CHECK(tn_release(layout) == TN_OK);
    FAILS(tn_recording_descriptor_set(recording, layout, binds + 1, 1, &place), TN_ERROR_HANDLE, "was released");
    CHECK(tn_recording_submit(recording, NULL) == TN_OK);
    CHECK(tn_release(grass) == TN_OK);
}

static tn_Gpu* create(const char* profile, tn_Device** device) {
    tn_SimDesc desc = DESC(tn_SimDesc);
    desc.profile = (tn_Str){profile, TN_TO_NUL};
    CHECK(tn_device_create_sim(&desc, device) == TN_OK);
    const tn_Setting settings[] = {{TN_LIT("descriptors.poison"), 1}, {TN_LIT("descriptors.static_resources"), 8}};
    tn_GpuDesc gpu_desc = DESC(tn_GpuDesc);
    gpu_desc.settings = settings;
    gpu_desc.setting_count = 2;
    tn_Gpu* created = NULL;
    CHECK(tn_gpu_create(*device, &gpu_desc, &created) == TN_OK);
    return created;
}

int main(void) {
    gpu = create("vulkan-nvidia", &devices[0]);
    other_gpu = create("d3d12-tier2", &devices[1]);
    tn_DeviceProperties properties[2] = {DESC(tn_DeviceProperties), DESC(tn_DeviceProperties)};
    for (int at = 0; at < 2; ++at) CHECK(tn_device_properties(devices[at], &properties[at]) == TN_OK);
    CHECK(properties[0].has_sets && !properties[1].has_sets && properties[1].visible_resources > 0);
    CHECK(properties[0].samplers > 0 && properties[0].anisotropy > 0 && properties[0].constant_size > 0);
    samplers();
    tables();
    sets();
    of_recordings();
    read_only();
    structures();
    bad_tables();
    bad_sets();
    tn_Gpu* gpus[] = {gpu, other_gpu};
    for (int at = 0; at < 2; ++at) {
        tn_Text* text = NULL;
        CHECK(tn_gpu_shutdown(gpus[at], NULL, &text) == TN_OK);
        CHECK(tn_release(gpus[at]) == TN_OK);
        check_clean(devices[at]);
        CHECK(tn_release(devices[at]) == TN_OK);
    }
    return 0;
}
