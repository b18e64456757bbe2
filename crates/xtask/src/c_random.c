
/* Two threads may call at once. They share handles; random numbers and arguments are each thread's own. */
#define OWN static _Thread_local
OWN uint32_t thread;
enum { THREADS = 2 };

/* Random numbers: xorshift. */
OWN uint64_t state;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint32_t below(uint32_t most) { return (uint32_t)(next_random() >> 32) % most; }
static int one_in(uint32_t most) { return below(most) == 0; }

/* Whether the next arguments may be anything; else they are plausible. */
OWN int is_wild;

static uint64_t number(void) {
    static const uint64_t special[] = {0, 1, 3, 255, 256, 4096, 65536, 1u << 20, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX};
    return !is_wild || one_in(2) ? below(64) * 4 : special[below(sizeof special / sizeof *special)];
}

/* A number, or one or two bits. */
static uint32_t small(void) {
    switch (below(is_wild ? 8 : 16)) {
    case 0: return below(256);
    case 1: return UINT32_C(1) << below(32);
    case 2: return UINT32_C(1) << below(20) | UINT32_C(1) << below(20);
    case 3: return one_in(4) ? UINT32_MAX : 64;
    case 4: case 5: case 6: return UINT32_C(1) << below(12);
    default: return below(9);
    }
}

static float fraction(void) { return one_in(8) ? -1.0F : (float)below(1000) / 500.0F; }

/* Bytes of the program. The count of elements after a pointer has to suit it. */
OWN unsigned char room[1 << 16];
OWN size_t most_elements;
static tn_Chain chain = {77, sizeof chain, NULL};

static const void* elements(const void* first, size_t most) {
    const int is_null = is_wild && one_in(4);
    most_elements = is_null ? 0 : most;
    return is_null ? NULL : first;
}

static const void* bytes_in(void) { return elements(room + below(16), sizeof room - 16); }
static const void* numbers_in(void) { return elements(room, 16); }

static void* bytes_out(void) {
    most_elements = sizeof room;
    return is_wild && one_in(4) ? NULL : room;
}

/* Whether a field stays zero, as programs leave most. */
static int stays_zero(void) {
    const int is_zero = !is_wild && one_in(2);
    if (is_zero) most_elements = 0;
    return is_zero;
}

static size_t count(void) {
    if (most_elements == 0) return !is_wild ? 0 : one_in(4) ? SIZE_MAX : below(3);
    return is_wild && one_in(2) ? below((uint32_t)most_elements + 1) : below(3);
}

static tn_Str text(void) {
    /* The third is a simulated device with sets. */
    static const tn_Str texts[] = {{"rock", 4 | TN_STATIC}, {"", 0}, {"vulkan-nvidia", TN_TO_NUL}, {"\xff\xfe", 2}, {NULL, 3},
                                   {NULL, TN_TO_NUL}, {"a\0b\n%s", 6}};
    return texts[below(is_wild ? sizeof texts / sizeof *texts : 3)];
}

/* Handles that calls have returned, and some that were released. The lock is for the handles below, and never held in a call. */
enum { MOST = 24, ROOM = 2 * MOST, MOST_USES = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* known[KINDS][ROOM];
static uint32_t known_count[KINDS];
static void* released[MOST];
static uint32_t released_count;

/* The handles that the open calls of each thread use. A thread ends no handle that another one uses. */
static struct {
    struct {
        void* handle;
        int ends;
    } all[MOST_USES];
    uint32_t count;
} uses[THREADS];

/* Whether another thread uses a handle, or only whether it ends the handle. */
static int is_used(const void* handle, int ends) {
    const uint32_t other = 1 - thread;
    for (uint32_t at = 0; at < uses[other].count; ++at) {
        if (uses[other].all[at].handle == handle && (!ends || uses[other].all[at].ends)) return 1;
    }
    return 0;
}

/* A handle for a call that uses or ends it. */
static void* known_for(uint32_t kind, int ends) {
    pthread_mutex_lock(&lock);
    void* found = known_count[kind] == 0 ? NULL : known[kind][below(known_count[kind])];
    if (is_used(found, !ends)) found = NULL;
    if (found != NULL) {
        CHECK(uses[thread].count < MOST_USES);
        uses[thread].all[uses[thread].count].handle = found;
        uses[thread].all[uses[thread].count++].ends = ends;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void* known_of(uint32_t kind) { return known_for(kind, 0); }

/* After a call: only handles from before it are in use. */
static void end_uses(uint32_t count) {
    pthread_mutex_lock(&lock);
    uses[thread].count = count;
    pthread_mutex_unlock(&lock);
}

static void* released_one(void) {
    pthread_mutex_lock(&lock);
    void* const found = released_count == 0 ? NULL : released[below(released_count)];
    pthread_mutex_unlock(&lock);
    return found;
}

/* Sets `is_bad`, unless it is null, where no call may accept the handle. */
static void* handle_for(uint32_t kind, int ends, int* is_bad) {
    const uint32_t other = (kind + 1 + below(KINDS - 1)) % KINDS;
    void* found = known_for(kind, ends);
    int bad = 1;
    switch (is_wild ? below(16) : 4) {
    case 0: found = NULL; break;
    case 1: found = released_one(); break;
    case 2: found = known_of(other); break;
    case 3: found = (void*)(uintptr_t)next_random(); bad = 0; break;
    default: bad = found == NULL;
    }
    if (is_bad != NULL) *is_bad |= bad;
    return found;
}

static void* handle(uint32_t kind, int* is_bad) { return handle_for(kind, 0, is_bad); }
static void* handle_to_end(uint32_t kind, int* is_bad) { return handle_for(kind, 1, is_bad); }

/* As `handle`, where several kinds are accepted. */
static void* any_handle(int* is_bad) {
    const uint32_t kind = one_in(2) ? KIND_tn_Buffer : one_in(2) ? KIND_tn_Texture : below(KINDS);
    void* found = is_wild && one_in(8) ? NULL : known_of(kind);
    if (is_bad != NULL) *is_bad |= found == NULL;
    return found;
}

static void* const* handles_in(void) {
    OWN void* all[4];
    for (int at = 0; at < 4; ++at) all[at] = any_handle(NULL);
    return elements(all, 4);
}

static void* const* handles_to_end_in(uint32_t kind) {
    OWN void* all[4];
    for (int at = 0; at < 4; ++at) all[at] = handle_to_end(kind, NULL);
    return elements(all, 4);
}

OWN int depth;

static void add_known(uint32_t kind, void* handle) {
    pthread_mutex_lock(&lock);
    CHECK(known_count[kind] < ROOM);
    known[kind][known_count[kind]++] = handle;
    pthread_mutex_unlock(&lock);
}

/* Releases a handle of this kind, unless another thread uses it. */
static void release_of(uint32_t kind) {
    pthread_mutex_lock(&lock);
    const uint32_t count = known_count[kind], at = count == 0 ? 0 : below(count);
    void* const ended = count == 0 || is_used(known[kind][at], 0) ? NULL : known[kind][at];
    if (ended != NULL) known[kind][at] = known[kind][--known_count[kind]];
    pthread_mutex_unlock(&lock);
    if (ended == NULL) return;
    const tn_Status status = tn_release(ended);
    const int is_in_use = status == TN_ERROR_CALLBACK || status == TN_ERROR_BUSY;
    /* Submitted recordings and ended frames are over already. The call around a callback may use the object. */
    CHECK(status == TN_OK || status == TN_ERROR_HANDLE || (is_in_use && depth > 0));
    if (is_in_use) {
        add_known(kind, ended);
        return;
    }
    pthread_mutex_lock(&lock);
    released[released_count < MOST ? released_count++ : below(MOST)] = ended;
    pthread_mutex_unlock(&lock);
}

/* Devices and managers seldom. */
static void release_one(void) {
    const uint32_t kind = below(KINDS);
    if ((kind == KIND_tn_Device || kind == KIND_tn_Gpu) && !one_in(50)) return;
    release_of(kind);
}

static uint32_t count_of(uint32_t kind) {
    pthread_mutex_lock(&lock);
    const uint32_t count = known_count[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

static void check_status(const char* name, tn_Status status, int is_bad) {
    if (status == TN_ERROR_PANIC || status == TN_ERROR_INTERNAL || (is_bad && status >= 0)) {
        fprintf(stderr, "%s returns %s%s\nlast error: %s\n", name, tn_status_name(status).data,
                is_bad ? " for a handle that is none" : "", tn_last_error().data);
        exit(1);
    }
}

/* Keeps the handle that a call has made. A call that failed has made none. */
static void keep(const char* name, tn_Status status, uint32_t kind, void* made) {
    if (made == (void*)&chain) {
        fprintf(stderr, "%s returns %s and leaves its result as it was\n", name, tn_status_name(status).data);
        exit(1);
    }
    if (status < 0 && made != NULL) {
        fprintf(stderr, "%s returns %s and a %s\n", name, tn_status_name(status).data, kind_names[kind]);
        exit(1);
    }
    if (made == NULL) return;
    /* Few managers, so that objects of the same one meet. More find room while calls use the others. */
    const uint32_t most = kind == KIND_tn_Device || kind == KIND_tn_Gpu ? 2 : MOST;
    for (int tries = 0; tries < 4 && count_of(kind) >= most; ++tries) release_of(kind);
    add_known(kind, made);
}

/* Objects that random descriptions would give too seldom. */
static void provide(void) {
    const uint32_t before = uses[thread].count;
    if (count_of(KIND_tn_Gpu) == 0) {
        tn_Device* device = NULL;
        tn_Gpu* gpu = NULL;
        /* With tables and sets. */
        tn_SimDesc sim = DESC(tn_SimDesc);
        sim.profile = TN_LIT("vulkan-nvidia");
        CHECK(tn_device_create_sim(&sim, &device) == TN_OK && tn_gpu_create(device, NULL, &gpu) == TN_OK);
        keep("provide", TN_OK, KIND_tn_Device, device);
        keep("provide", TN_OK, KIND_tn_Gpu, gpu);
    }
    tn_Gpu* const gpu = known_of(KIND_tn_Gpu);
    tn_BufferDesc desc = DESC(tn_BufferDesc);
    desc.size = 4096;
    desc.memory = below(4);
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    if (desc.memory == TN_MEMORY_GPU_ONLY) desc.usage |= TN_USAGE_VERTEX | TN_USAGE_SHADER_READ | TN_USAGE_UNORDERED_ACCESS;
    tn_Buffer* buffer = NULL;
    if (tn_buffer_create(gpu, &desc, &buffer) == TN_OK) keep("provide", TN_OK, KIND_tn_Buffer, buffer);
    tn_TextureDesc image = DESC(tn_TextureDesc);
    image.format = TN_FORMAT_RGBA8_UNORM;
    image.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST | TN_USAGE_SHADER_READ | TN_USAGE_RENDER_TARGET;
    image.width = image.height = 64;
    image.mips = 1 + below(3);
    image.depth_or_layers = 1 + below(3);
    tn_Texture* texture = NULL;
    const tn_Status is_made = tn_texture_create(gpu, &image, &texture);
    const tn_TextureViewDesc view_desc = DESC(tn_TextureViewDesc);
    tn_View* view = NULL;
    if (tn_texture_view_create(gpu, texture, &view_desc, &view) == TN_OK) keep("provide", TN_OK, KIND_tn_View, view);
    /* Last: another thread may release it then. */
    if (is_made == TN_OK) keep("provide", TN_OK, KIND_tn_Texture, texture);
    tn_SamplerDesc sampler_desc = DESC(tn_SamplerDesc);
    sampler_desc.mag = below(2);
    tn_Sampler* sampler = NULL;
    if (tn_sampler_create(gpu, &sampler_desc, &sampler) == TN_OK) keep("provide", TN_OK, KIND_tn_Sampler, sampler);
    static const uint32_t kinds[] = {TN_BINDING_TEXTURE, TN_BINDING_SAMPLER, TN_BINDING_COMBINED_SAMPLER,
                                     TN_BINDING_CONSTANTS, TN_BINDING_DYNAMIC_CONSTANTS};
    const tn_SetBinding binding = {0, kinds[below(5)], 1};
    tn_SetLayoutDesc layout_desc = DESC(tn_SetLayoutDesc);
    layout_desc.bindings = &binding;
    layout_desc.binding_count = 1;
    tn_SetLayout* layout = NULL;
    if (tn_set_layout_create(gpu, &layout_desc, &layout) == TN_OK) keep("provide", TN_OK, KIND_tn_SetLayout, layout);
    /* One of both, or both. */
    const uint32_t parts = 1 + below(3);
    const tn_Bind bind = {0, 0, parts & 1 ? known_of(KIND_tn_View) : NULL, parts & 2 ? known_of(KIND_tn_Sampler) : NULL, NULL, 0, NULL};
    tn_DescriptorTableDesc table_desc = DESC(tn_DescriptorTableDesc);
    table_desc.binds = &bind;
    table_desc.bind_count = 1;
    tn_DescriptorTable* table = NULL;
    if (tn_descriptor_table_create(gpu, &table_desc, &table) == TN_OK) keep("provide", TN_OK, KIND_tn_DescriptorTable, table);
    tn_DescriptorSetDesc set_desc = DESC(tn_DescriptorSetDesc);
    set_desc.layout = known_of(KIND_tn_SetLayout);
    set_desc.binds = &bind;
    set_desc.bind_count = 1;
    tn_DescriptorSet* set = NULL;
    if (tn_descriptor_set_create(gpu, &set_desc, &set) == TN_OK) keep("provide", TN_OK, KIND_tn_DescriptorSet, set);
    tn_Place place;
    (void)tn_recording_descriptors(known_of(KIND_tn_Recording), &bind, 1, &place);
    (void)tn_recording_descriptor_set(known_of(KIND_tn_Recording), set_desc.layout, &bind, 1, &place);
    tn_Recording* recording = NULL;
    if (tn_recording_begin(gpu, below(3), TN_LIT("list"), &recording) == TN_OK) keep("provide", TN_OK, KIND_tn_Recording, recording);
    end_uses(before);
}

/* The work of a callback. */
static void inside(void);
