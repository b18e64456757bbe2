/* tenure.hpp: tenure.h for C++17 and later, header only. Handles are move-only, and released by their destructors; failed calls
 * throw tn::Error. Functions of tenure.h can be used beside it, with raw().
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TENURE_HPP
#define TENURE_HPP

#include "tenure.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tn {

/** A failed call. what() is the text of tn_last_error, with the remedy. */
class Error : public std::runtime_error {
public:
    Error(tn_Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    /** TN_ERROR_... */
    tn_Status status() const noexcept { return status_; }

private:
    tn_Status status_;
};

/** A tn_DestroyFn for a function on the heap, which it frees. */
inline void TN_CALL run_destroy(void*, void* object) noexcept {
    const std::unique_ptr<std::function<void()>> destroy(static_cast<std::function<void()>*>(object));
    (*destroy)();
}

inline std::string_view view(tn_Str text) noexcept { return {text.data, text.size}; }

/** Throws for a status below 0. */
inline tn_Status check(tn_Status status) {
    if (status < 0) throw Error(status, std::string(view(tn_last_error())));
    return status;
}

/** Text, which is copied where it is kept. It must live until the call that takes it. */
inline tn_Str str(std::string_view text) noexcept { return {text.data(), text.size()}; }

inline namespace literals {
/** A literal, which is not copied: "rock"_tn. */
constexpr tn_Str operator""_tn(const char* text, std::size_t size) noexcept { return {text, size | TN_STATIC}; }
}  // namespace literals

/** A zeroed description with its size: tn::Desc<tn_BufferDesc>. */
template <class T>
struct Desc : T {
    Desc() noexcept : T{} { this->struct_size = sizeof(T); }
};

/** Nanoseconds; without a value no limit. */
using Timeout = std::optional<std::chrono::nanoseconds>;

inline std::uint64_t nanoseconds(Timeout timeout) noexcept {
    if (!timeout) return TN_FOREVER;
    return timeout->count() < 0 ? 0 : static_cast<std::uint64_t>(timeout->count());
}

/** The owner of a handle. */
template <class T>
class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T* raw) noexcept : raw_(raw) {}
    Handle(Handle&& other) noexcept : raw_(other.detach()) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = other.detach();
        }
        return *this;
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { reset(); }

    /** For functions of tenure.h; still owned. */
    T* raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    /** Gives the handle to the caller. */
    T* detach() noexcept { return std::exchange(raw_, nullptr); }
    /** Releases it. */
    void reset() noexcept {
        if (raw_) tn_release(detach());
    }
    /** The name of a buffer, texture, view or readback. */
    std::string_view name() const noexcept { return view(tn_name(raw_)); }

protected:
    /** The place that a creating function writes to. */
    T** out() noexcept {
        reset();
        return &raw_;
    }

private:
    friend class Gpu;
    friend class Recording;
    friend class Device;
    T* raw_ = nullptr;
};

/** Text that the library made. */
class Text : public Handle<tn_Text> {
public:
    using Handle::Handle;
    std::string_view get() const noexcept { return view(tn_text(raw())); }
};

/** A resource or view with an API object. */
template <class T>
class Placed : public Handle<T> {
public:
    using Handle<T>::Handle;
    tn_Place place() const {
        tn_Place place{};
        check(tn_place(this->raw(), &place));
        return place;
    }
};

class Buffer : public Placed<tn_Buffer> {
public:
    using Placed::Placed;
    void write(std::uint64_t offset, const void* data, std::size_t size) const {
        check(tn_buffer_write(raw(), offset, data, size));
    }
    void read(std::uint64_t offset, void* out, std::size_t size) const { check(tn_buffer_read(raw(), offset, out, size)); }
};

class Texture : public Placed<tn_Texture> {
public:
    using Placed::Placed;
};

class View : public Placed<tn_View> {
public:
    using Placed::Placed;
};

class Upload : public Handle<tn_Upload> {
public:
    using Handle::Handle;
};

class Readback : public Handle<tn_Readback> {
public:
    using Handle::Handle;
    std::uint64_t size() const noexcept { return tn_readback_size(raw()); }
    /** The bytes; no value where they have not arrived within the timeout. */
    std::optional<std::vector<unsigned char>> wait(Timeout timeout = std::nullopt) const {
        std::vector<unsigned char> bytes(static_cast<std::size_t>(size()));
        const tn_Status status = check(tn_readback_wait(raw(), nanoseconds(timeout), bytes.data(), bytes.size()));
        return status == TN_OK ? std::optional(std::move(bytes)) : std::nullopt;
    }
};

/** Runs a function of the program when it was released, and the GPU cannot use its object any more. */
class Deferred : public Handle<tn_Deferred> {
public:
    using Handle::Handle;
};

inline tn_Use use(const Buffer& buffer, tn_State state) noexcept { return {buffer.raw(), state, TN_ALL}; }
inline tn_Use use(const Texture& texture, tn_State state, std::uint32_t subresource = TN_ALL) noexcept {
    return {texture.raw(), state, subresource};
}

/** All of a texture, or some bytes of a buffer. */
inline tn_Part part(const Buffer& buffer, std::uint64_t offset, std::uint64_t size) noexcept {
    tn_Part part{};
    part.resource = buffer.raw();
    part.offset = offset;
    part.size = size;
    return part;
}
inline tn_Part part(const Texture& texture, const tn_TextureRegion& region = {}) noexcept {
    tn_Part part{};
    part.resource = texture.raw();
    part.region = region;
    return part;
}

/** A command list being recorded, on one thread at a time. Discarded unless it is submitted. */
class Recording : public Handle<tn_Recording> {
public:
    using Handle::Handle;
    void use(std::initializer_list<tn_Use> uses) const { check(tn_recording_use(raw(), uses.begin(), uses.size())); }
    void copy(std::initializer_list<tn_Copy> copies) const {
        check(tn_recording_copy(raw(), copies.begin(), copies.size()));
    }
    void discard(const Texture& texture, std::uint32_t subresource = TN_ALL) const {
        check(tn_recording_discard(raw(), texture.raw(), subresource));
    }
    void wait_for(const tn_SyncPoint& point) const { check(tn_recording_wait_for(raw(), &point)); }
    tn_Place constants(const void* data, std::size_t size) const {
        tn_Place place{};
        check(tn_recording_constants(raw(), data, size, &place));
        return place;
    }
    Readback read_back(const tn_Part& part) const {
        Readback readback;
        check(tn_read_back(raw(), &part, readback.out()));
        return readback;
    }
    /** The VkCommandBuffer, after the uses that the next commands need. */
    tn_Native native() const {
        tn_Native native = 0;
        check(tn_recording_native(raw(), &native));
        return native;
    }
    /** The place of a resource, which may be movable, for the commands of this recording. */
    tn_Place place(const Buffer& buffer) const { return place(buffer.raw()); }
    tn_Place place(const Texture& texture) const { return place(texture.raw()); }
    tn_SyncPoint submit() && {
        tn_SyncPoint done{};
        check(tn_recording_submit(detach(), &done));
        return done;
    }

private:
    tn_Place place(void* resource) const {
        tn_Place place{};
        check(tn_recording_place(raw(), resource, &place));
        return place;
    }
};

/** A frame; its destructor ends it without an exception. */
class Frame : public Handle<tn_Frame> {
public:
    using Handle::Handle;
    std::uint64_t number() const noexcept { return tn_frame_number(raw()); }
    void end() && { check(tn_frame_end(detach())); }
};

/** A recording of a manager's allocations; its destructor completes the file without an exception. */
class Recorder : public Handle<tn_Recorder> {
public:
    using Handle::Handle;
    void finish() && { check(tn_recorder_finish(detach())); }
};

class Device : public Handle<tn_Device> {
public:
    using Handle::Handle;
    /** A GPU in software, for tests. */
    static Device simulated(const tn_SimDesc* desc = nullptr) {
        Device device;
        check(tn_device_create_sim(desc, device.out()));
        return device;
    }
    tn_DeviceProperties properties() const {
        Desc<tn_DeviceProperties> properties;
        check(tn_device_properties(raw(), &properties));
        return properties;
    }
};

/** The manager of a device. */
class Gpu : public Handle<tn_Gpu> {
public:
    using Handle::Handle;
    static Gpu create(const Device& device, std::initializer_list<tn_Setting> settings = {}) {
        Desc<tn_GpuDesc> desc;
        desc.settings = settings.begin();
        desc.setting_count = settings.size();
        Gpu gpu;
        check(tn_gpu_create(device.raw(), &desc, gpu.out()));
        return gpu;
    }
    Buffer create_buffer(const tn_BufferDesc& desc) const {
        Buffer buffer;
        check(tn_buffer_create(raw(), &desc, buffer.out()));
        return buffer;
    }
    Texture create_texture(const tn_TextureDesc& desc) const {
        Texture texture;
        check(tn_texture_create(raw(), &desc, texture.out()));
        return texture;
    }
    View create_view(const Buffer& buffer, const tn_BufferViewDesc& desc) const {
        View view;
        check(tn_view_create(raw(), buffer.raw(), &desc, view.out()));
        return view;
    }
    View create_view(const Texture& texture, const tn_TextureViewDesc& desc) const {
        View view;
        check(tn_view_create(raw(), texture.raw(), &desc, view.out()));
        return view;
    }
    bool supports_format(tn_Format format, tn_Usage usage) const noexcept {
        return tn_gpu_supports_format(raw(), format, usage) != 0;
    }
    Frame begin_frame() const {
        Frame frame;
        check(tn_frame_begin(raw(), frame.out()));
        return frame;
    }
    Recording record(tn_Queue queue, tn_Str name) const {
        Recording recording;
        check(tn_recording_begin(raw(), queue, name, recording.out()));
        return recording;
    }
    Upload upload(const Buffer& buffer, std::uint64_t offset, const void* data, std::size_t size) const {
        const tn_Part where = part(buffer, offset, size);
        return upload(where, {data, size, 0, 0, 0});
    }
    Upload upload(const tn_Part& where, const tn_Texels& texels) const {
        Upload upload;
        check(tn_upload(raw(), &where, &texels, upload.out()));
        return upload;
    }
    tn_SyncPoint flush_uploads() const {
        tn_SyncPoint done{};
        check(tn_gpu_flush_uploads(raw(), &done));
        return done;
    }
    bool wait(const Upload& upload, Timeout timeout = std::nullopt) const {
        return check(tn_upload_wait(raw(), upload.raw(), nanoseconds(timeout))) == TN_OK;
    }
    bool wait(const tn_SyncPoint& point, Timeout timeout = std::nullopt) const {
        return check(tn_gpu_wait(raw(), &point, nanoseconds(timeout))) == TN_OK;
    }
    Readback read_back(const tn_Part& part) const {
        Readback readback;
        check(tn_read_back(raw(), &part, readback.out()));
        return readback;
    }
    tn_SyncPoint submitted() const {
        tn_SyncPoint point{};
        check(tn_gpu_submitted(raw(), &point));
        return point;
    }
    tn_SyncPoint completed() const {
        tn_SyncPoint point{};
        check(tn_gpu_completed(raw(), &point));
        return point;
    }
    /** Runs submit(tn_Native queue), and throws what it throws. */
    template <class Submit>
    tn_SyncPoint submit_external(tn_Queue queue, const tn_SyncPoint& wait, Submit&& submit) const {
        struct Call {
            Submit& submit;
            std::exception_ptr thrown;
        } call{submit, nullptr};
        const tn_SubmitFn pass_on = [](void* user, tn_Native native) noexcept -> tn_Status {
            Call& inside = *static_cast<Call*>(user);
            try {
                inside.submit(native);
                return TN_OK;
            } catch (...) {
                inside.thrown = std::current_exception();
                return TN_ERROR_CALLBACK;
            }
        };
        tn_SyncPoint done{};
        const tn_Status status = tn_gpu_submit_external(raw(), queue, &wait, pass_on, &call, &done);
        if (call.thrown) std::rethrow_exception(call.thrown);
        check(status);
        return done;
    }
    void declare_state(std::initializer_list<tn_Use> states, const tn_SyncPoint& at) const {
        check(tn_gpu_declare_state(raw(), states.begin(), states.size(), &at));
    }
    void reclaim() const { check(tn_gpu_reclaim(raw())); }
    void trim() const { check(tn_gpu_trim(raw())); }
    /** Bytes; UINT64_MAX: no limit. */
    void set_memory_cap(std::uint32_t heap, std::uint64_t bytes) const { check(tn_gpu_set_memory_cap(raw(), heap, bytes)); }
    tn_HeapMemory heap_memory(std::uint32_t heap) const {
        Desc<tn_HeapMemory> memory;
        check(tn_gpu_heap_memory(raw(), heap, &memory));
        return memory;
    }
    /** The function must outlive the manager, and must not throw. */
    void on_pressure(tn_PressureFn listener, void* user) const { check(tn_gpu_on_pressure(raw(), listener, user)); }
    std::string report(tn_Report report) const {
        Text text;
        check(tn_gpu_report(raw(), report, text.out()));
        return std::string(text.get());
    }
    /** Calls a function by the rule for all handles, once. An exception in it ends the program. */
    Deferred defer(tn_Str name, std::function<void()> destroy) const {
        auto kept = std::make_unique<std::function<void()>>(std::move(destroy));
        Deferred deferred;
        check(tn_gpu_defer(raw(), name, run_destroy, nullptr, kept.get(), deferred.out()));
        static_cast<void>(kept.release());
        return deferred;
    }
    /** Calls a function once after a sync point. An exception in it ends the program. */
    void release_after(const tn_SyncPoint& point, std::function<void()> destroy) const {
        auto kept = std::make_unique<std::function<void()>>(std::move(destroy));
        check(tn_gpu_release_after(raw(), &point, run_destroy, nullptr, kept.get()));
        static_cast<void>(kept.release());
    }
    /** Resources that commands only read from now on, in these states. */
    void make_read_only(const Buffer& buffer, tn_State states) const { check(tn_gpu_make_read_only(raw(), buffer.raw(), states)); }
    void make_read_only(const Texture& texture, tn_State states) const { check(tn_gpu_make_read_only(raw(), texture.raw(), states)); }
    tn_CompactionReport compact(const tn_CompactionBudget& budget) const {
        Desc<tn_CompactionReport> report;
        check(tn_gpu_compact(raw(), &budget, &report));
        return report;
    }
    /** The numbers of resources that have moved, by tn_movable_id, and how often. */
    std::vector<std::pair<std::uint64_t, std::uint64_t>> take_moved() const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
        const tn_MovedFn keep = [](void* user, std::uint64_t id, std::uint64_t moves) noexcept {
            static_cast<std::vector<std::pair<std::uint64_t, std::uint64_t>>*>(user)->emplace_back(id, moves);
        };
        check(tn_gpu_take_moved(raw(), keep, &moved));
        return moved;
    }
    /** Records all allocations to a file. flags: TN_RECORD_NAMES. */
    Recorder record_allocations(std::string_view path, std::uint32_t flags = 0) const {
        Recorder recorder;
        check(tn_gpu_record(raw(), str(path), flags, recorder.out()));
        return recorder;
    }
    /** The live objects and open recordings; empty: none. */
    std::string shutdown() const {
        Text text;
        check(tn_gpu_shutdown(raw(), nullptr, text.out()));
        return std::string(text.get());
    }
};

/** An offset for each item. desc: null for the defaults. */
inline std::vector<std::uint64_t> plan(const std::vector<tn_PlanItem>& items, const tn_PlanDesc* desc = nullptr,
                                       tn_PlanResult* out = nullptr) {
    std::vector<std::uint64_t> offsets(items.size());
    check(tn_plan(items.data(), items.size(), desc, offsets.data(), out));
    return offsets;
}
/** The peak of a valid plan; throws for another. */
inline std::uint64_t check_plan(const std::vector<tn_PlanItem>& items, const std::vector<std::uint64_t>& offsets) {
    if (offsets.size() != items.size()) throw Error(TN_ERROR_ARGUMENT, "there must be one offset for each item");
    std::uint64_t peak = 0;
    check(tn_plan_check(items.data(), items.size(), offsets.data(), &peak));
    return peak;
}

/** Divides a range of offsets, on one thread at a time. */
class Suballocator : public Handle<tn_Suballocator> {
public:
    using Handle::Handle;
    static Suballocator create(tn_SuballocatorKind kind, std::uint64_t capacity, std::uint64_t granule = 0) {
        Desc<tn_SuballocatorDesc> desc;
        desc.kind = kind;
        desc.capacity = capacity;
        desc.granule = granule;
        Suballocator suballocator;
        check(tn_suballocator_create(&desc, suballocator.out()));
        return suballocator;
    }
    /** No value where no free range fits now. */
    std::optional<tn_Range> allocate(std::uint64_t size, std::uint64_t alignment) const {
        tn_Range range{};
        const tn_Status status = tn_suballocator_allocate(raw(), size, alignment, &range);
        if (status == TN_ERROR_OUT_OF_MEMORY) return std::nullopt;
        check(status);
        return range;
    }
    void free(const tn_Range& range) const { check(tn_suballocator_free(raw(), &range)); }
    void clear() const { check(tn_suballocator_clear(raw())); }
    tn_SuballocatorTotals totals() const {
        Desc<tn_SuballocatorTotals> totals;
        check(tn_suballocator_totals(raw(), &totals));
        return totals;
    }
    /** Of a ring. */
    void close(std::uint64_t mark) const { check(tn_suballocator_close(raw(), mark)); }
    void release_up_to(std::uint64_t mark) const { check(tn_suballocator_release_up_to(raw(), mark)); }
};

/** Destroys objects of the program once its own submissions do not use them any more. */
class ReleaseQueue : public Handle<tn_ReleaseQueue> {
public:
    using Handle::Handle;
    static ReleaseQueue create(std::uint32_t queues) {
        ReleaseQueue queue;
        check(tn_release_queue_create(queues, queue.out()));
        return queue;
    }
    std::uint64_t open(tn_Str name) const {
        std::uint64_t recording = 0;
        check(tn_release_queue_open(raw(), name, &recording));
        return recording;
    }
    void close(std::uint64_t recording) const { check(tn_release_queue_close(raw(), recording)); }
    /** Runs submit(std::uint64_t serial), and throws what it throws. */
    template <class Submit>
    tn_SyncPoint submit(std::uint32_t queue, Submit&& submit) const {
        struct Call {
            Submit& submit;
            std::exception_ptr thrown;
        } call{submit, nullptr};
        const tn_SerialFn pass_on = [](void* user, std::uint64_t serial) noexcept -> tn_Status {
            Call& inside = *static_cast<Call*>(user);
            try {
                inside.submit(serial);
                return TN_OK;
            } catch (...) {
                inside.thrown = std::current_exception();
                return TN_ERROR_CALLBACK;
            }
        };
        tn_SyncPoint done{};
        const tn_Status status = tn_release_queue_submit(raw(), queue, pass_on, &call, &done);
        if (call.thrown) std::rethrow_exception(call.thrown);
        check(status);
        return done;
    }
    void complete(std::uint32_t queue, std::uint64_t serial) const { check(tn_release_queue_complete(raw(), queue, serial)); }
    /** Calls a function once; after a sync point, if there is one. An exception in it ends the program. */
    void push(std::function<void()> destroy, std::uint64_t bytes = 0, const tn_SyncPoint* point = nullptr) const {
        auto kept = std::make_unique<std::function<void()>>(std::move(destroy));
        check(tn_release_queue_push(raw(), point, run_destroy, nullptr, kept.get(), bytes));
        static_cast<void>(kept.release());
    }
    void reclaim() const { check(tn_release_queue_reclaim(raw())); }
    tn_ReleaseTotals totals() const {
        Desc<tn_ReleaseTotals> totals;
        check(tn_release_queue_totals(raw(), &totals));
        return totals;
    }
};

/** Pools of heaps that functions of the program allocate, which must not throw. On one thread at a time. */
class HeapPools : public Handle<tn_HeapPools> {
public:
    using Handle::Handle;
    static HeapPools create(const tn_HeapPoolsDesc& desc) {
        HeapPools pools;
        check(tn_heap_pools_create(&desc, pools.out()));
        return pools;
    }
    tn_MemoryRange allocate(const tn_MemoryRequest& request) const {
        tn_MemoryRange range{};
        check(tn_heap_pools_allocate(raw(), &request, &range));
        return range;
    }
    void free(const tn_MemoryRange& range) const { check(tn_heap_pools_free(raw(), &range)); }
    tn_MemoryTotals totals() const {
        Desc<tn_MemoryTotals> totals;
        check(tn_heap_pools_totals(raw(), &totals));
        return totals;
    }
    void trim() const { check(tn_heap_pools_trim(raw())); }
    /** Bytes; UINT64_MAX: no limit. */
    void set_cap(std::uint32_t heap, std::uint64_t bytes) const { check(tn_heap_pools_set_cap(raw(), heap, bytes)); }
    /** Up to budget.moves moves, with the function of is_movable; is_done: nothing is left to do. */
    std::vector<tn_MemoryMove> compact(const tn_CompactionBudget& budget, tn_IsMovableFn is_movable, void* user,
                                       bool& is_done) const {
        std::vector<tn_MemoryMove> moves(budget.moves);
        std::size_t count = 0;
        const tn_Status status = tn_heap_pools_compact(raw(), &budget, is_movable, user, moves.data(), moves.size(), &count);
        is_done = check(status) == TN_OK;
        moves.resize(count);
        return moves;
    }
    void stop_compaction() const { check(tn_heap_pools_stop_compaction(raw())); }
};

/** The numbers of this thread's last error, if it was TN_ERROR_OUT_OF_MEMORY. */
inline std::optional<tn_OutOfMemory> last_out_of_memory() {
    Desc<tn_OutOfMemory> numbers;
    if (check(tn_last_out_of_memory(&numbers)) != TN_OK) return std::nullopt;
    return numbers;
}

}  // namespace tn

#endif
