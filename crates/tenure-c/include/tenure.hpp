/* tenure.hpp: tenure.h for C++17 and later, header only. Handles are move-only, and released by their destructors. Functions of
 * tenure.h can be used with raw().
 *
 * Failed calls throw tn::Error, and tn::Result<T> is T. Without exceptions (-fno-exceptions, or TN_NO_EXCEPTIONS defined before
 * this header), tn::Result<T> contains the status and the value.
 *
 * An exception thrown by a callback is stored until the call that runs the callback returns, and is rethrown there in place of the
 * error. Destructors and reset() of handles, and functions of tenure.h, do not throw: the thread's next call rethrows the
 * exception, and does nothing else. tn::Thrown::rethrow() rethrows it immediately; without either it is lost. Further exceptions in
 * the meantime are dropped. Each module of a program (a DLL, a shared library with hidden symbols) stores its own exceptions: if
 * another module's call runs the callback, the next call of the callback's own module on that thread rethrows it. Without
 * exceptions, a callback must not throw: the program terminates.
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
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if (defined(__cpp_exceptions) || defined(_CPPUNWIND)) && !defined(TN_NO_EXCEPTIONS)
#define TN_EXCEPTIONS 1
#define TN_ERRORS thrown_errors
#else
#define TN_EXCEPTIONS 0
#define TN_ERRORS returned_errors
#endif

namespace tn {
/* Files of a program can have different settings. */
inline namespace TN_ERRORS {

inline std::string_view view(tn_Str text) noexcept { return {text.data, text.size & ~TN_STATIC}; }

#if TN_EXCEPTIONS
/** A failed call. what() is the text of tn_last_error, with a suggested fix. */
class Error : public std::runtime_error {
public:
    Error(tn_Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    /** TN_ERROR_... */
    tn_Status status() const noexcept { return status_; }

private:
    tn_Status status_;
};

/** The result of a call. */
template <class T>
using Result = T;

/** The exception of a callback, stored per thread until the call that runs the callback returns, or until the next call. */
class Thrown {
public:
    /** In a handler: stores the current exception, unless one is already stored. */
    static void keep() noexcept {
        if (!is_there) exception = std::current_exception();
        is_there = true;
    }
    /** Throws the stored exception of this thread, if any. */
    static void rethrow() {
        if (!is_there) return;
        is_there = false;
        std::rethrow_exception(std::exchange(exception, nullptr));
    }

private:
    static inline thread_local bool is_there = false;
    static inline thread_local std::exception_ptr exception;
};

/** Throws the stored exception of a callback of this call, or an Error for a status below 0. */
inline void checked(tn_Status status) {
    Thrown::rethrow();
    if (status < 0) throw Error(status, std::string(view(tn_last_error())));
}

template <class T>
Result<T> made(tn_Status status, T& value) {
    checked(status);
    return std::move(value);
}
#else
/** Results that answer a question: whether an event has happened, or a value is available. */
template <class T>
inline constexpr bool is_question = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_question<std::optional<T>> = true;

/** The result of a call. The text of an error is in tn_last_error(), until the thread's next error. */
template <class T>
class [[nodiscard]] Result {
public:
    Result(tn_Status status, T&& value) : status_(status), value_(std::move(value)) {}
    /** TN_OK, TN_NOT_READY or TN_ERROR_... */
    tn_Status status() const noexcept { return status_; }
    /** Whether the call succeeded. */
    bool ok() const noexcept { return status_ >= 0; }
    /** Same as ok(); not available for a bool or optional, with which it could be confused. */
    template <class Value = T, class = std::enable_if_t<!is_question<Value>>>
    explicit operator bool() const noexcept {
        return ok();
    }
    /** The value; empty after an error. Calls with a null handle fail, too. */
    T& operator*() & noexcept { return value_; }
    const T& operator*() const& noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

private:
    tn_Status status_;
    T value_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result(tn_Status status) noexcept : status_(status) {}
    tn_Status status() const noexcept { return status_; }
    bool ok() const noexcept { return status_ >= 0; }
    explicit operator bool() const noexcept { return ok(); }

private:
    tn_Status status_;
};

inline Result<void> checked(tn_Status status) noexcept { return status; }

template <class T>
Result<T> made(tn_Status status, T& value) {
    return {status, std::move(value)};
}
#endif

template <class T>
struct Desc;

/** Returns the structure of a Desc, whose size the call has checked. */
template <class T>
Result<T> made(tn_Status status, Desc<T>& value) {
    return made(status, static_cast<T&>(value));
}

/** Calls a function of tenure.h, or throws the exception stored since an earlier call instead. */
template <class Function, class... Arguments>
tn_Status call(Function* function, Arguments&&... arguments) {
#if TN_EXCEPTIONS
    Thrown::rethrow();
#endif
    return function(std::forward<Arguments>(arguments)...);
}

/** Runs a function of the program inside a call. Its exception does not pass through the library: it is stored until the call
 * returns, and the result is failed. Without exceptions (-fno-exceptions), an exception that arrives here terminates the program.
 */
template <class T, class Function>
T guarded(T failed, Function&& function) noexcept {
#if TN_EXCEPTIONS
    try {
        return function();
    } catch (...) {
        Thrown::keep();
        return failed;
    }
#else
    static_cast<void>(failed);
    return function();
#endif
}

/** The user pointer of a callback that is a function or a function object. */
template <class Function>
void* user_of(Function& function) noexcept {
    if constexpr (std::is_function_v<Function>) {
        return reinterpret_cast<void*>(&function);
    } else {
        return const_cast<std::remove_const_t<Function>*>(std::addressof(function));
    }
}

/** The function or function object behind a pointer of user_of. */
template <class Function>
Function& function_of(void* user) noexcept {
    if constexpr (std::is_function_v<Function>) {
        return *reinterpret_cast<Function*>(user);
    } else {
        return *static_cast<Function*>(user);
    }
}

/** Calls a function that returns nothing, a tn_Status, or a tn::Result<void>. */
template <class Reference, class... Arguments>
tn_Status run(void* user, Arguments&&... arguments) noexcept {
    using Function = std::remove_reference_t<Reference>;
    Function& function = function_of<Function>(user);
    return guarded(tn_Status{TN_ERROR_CALLBACK}, [&]() -> tn_Status {
        using Returned = std::invoke_result_t<Function&, Arguments...>;
        if constexpr (std::is_void_v<Returned>) {
            function(std::forward<Arguments>(arguments)...);
            return TN_OK;
        } else if constexpr (std::is_same_v<Returned, Result<void>>) {
            return function(std::forward<Arguments>(arguments)...).status();
        } else {
            static_assert(std::is_same_v<Returned, tn_Status>, "nothing, a tn_Status or a tn::Result<void>");
            return function(std::forward<Arguments>(arguments)...);
        }
    });
}

/** A tn_DestroyFn for a function on the heap, which it frees. */
template <class Function>
void TN_CALL run_destroy(void*, void* object) noexcept {
    const std::unique_ptr<Function> destroy(static_cast<Function*>(object));
    static_cast<void>(run<Function>(destroy.get()));
}

/** Text, which is copied if it is stored. It must be valid until the end of the call that receives it. */
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

/** Pointers to elements of exactly this size. */
template <class Pointer, class T>
inline constexpr bool is_row = false;
template <class Element, class T>
inline constexpr bool is_row<Element*, T> =
    std::is_same_v<std::remove_const_t<Element>, T> || std::is_same_v<std::remove_const_t<Element>, Desc<T>>;

/** Values in braces, a container with data() and size(), or a pointer and a count. They must be valid until the end of the call
 * that receives them.
 */
template <class T>
class Array {
public:
    Array(std::initializer_list<T> values) noexcept {
        data_ = values.begin();
        size_ = values.size();
    }
    template <class Pointer, class = std::enable_if_t<is_row<Pointer, T>>>
    Array(Pointer data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t size>
    Array(const T (&values)[size]) noexcept : data_(values), size_(size) {}
    template <class Values, class = std::enable_if_t<is_row<decltype(std::declval<const Values&>().data()), T>>>
    Array(const Values& values) noexcept : data_(values.data()), size_(values.size()) {}
    const T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const T* data_ = nullptr;
    std::size_t size_ = 0;
};

/** A duration in nanoseconds; without a value, no limit. */
using Timeout = std::optional<std::chrono::nanoseconds>;

inline std::uint64_t nanoseconds(Timeout timeout) noexcept {
    if (!timeout) return TN_FOREVER;
    return timeout->count() < 0 ? 0 : static_cast<std::uint64_t>(timeout->count());
}

template <class Owner, class T>
class Lent;

/** The owner of a handle. const refers only to the handle: functions that record commands are const, too. The comment of a class
 * says if its functions must be called by one thread at a time.
 */
template <class T>
class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T* raw) noexcept : raw_(raw) {}
    /** Deleted: borrowed handles must not be released. */
    template <class Owner>
    Handle(Lent<Owner, T>&&) = delete;
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

    /** The raw handle, for functions of tenure.h; still owned. */
    T* raw() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    /** Transfers ownership of the handle to the caller. */
    T* detach() noexcept { return std::exchange(raw_, nullptr); }
    /** Releases the handle. It stays where tn_release refuses it: inside a callback, or while another call uses it. */
    void reset() noexcept {
        T* const raw = detach();
        const tn_Status status = raw ? tn_release(raw) : TN_OK;
        /* In all other cases a destroy function may have run, and have deleted this. */
        if (status == TN_ERROR_BUSY || status == TN_ERROR_CALLBACK) raw_ = raw;
    }
    /** Same as tn_name. */
    std::string_view name() const noexcept { return view(tn_name(raw_)); }

protected:
    /** The handle variable that a creating function writes to. */
    T** out() noexcept {
        reset();
        return &raw_;
    }
    /** Clears the handle after a call that ends it, unless the call was refused. */
    tn_Status ended(tn_Status status) noexcept {
        if (status != TN_ERROR_BUSY && status != TN_ERROR_CALLBACK && status != TN_ERROR_PANIC) detach();
        return status;
    }

private:
    friend class Gpu;
    friend class Recording;
    friend class Device;
    friend class Graph;
    friend class Frame;
    T* raw_ = nullptr;
};

/** Text created by the library. */
class Text : public Handle<tn_Text> {
public:
    using Handle::Handle;
    std::string_view get() const noexcept { return view(tn_text(raw())); }

private:
    friend class Device;
    friend class Gpu;
    /** A copy, made after the call that creates the text. */
    Result<std::string> made_by(tn_Status status) const {
        std::string copy;
        // A call with a null text would be an error that hides the reason.
        if (raw()) copy = get();
        return made(status, copy);
    }
};

/** A resource or view with an API object. */
template <class T>
class Placed : public Handle<T> {
public:
    using Handle<T>::Handle;
    Result<tn_Place> place() const {
        tn_Place place{};
        return made(call(tn_place, this->raw(), &place), place);
    }
};

class [[nodiscard]] Buffer : public Placed<tn_Buffer> {
public:
    using Placed::Placed;
    template <class Owner>
    Buffer& operator=(Lent<Owner, tn_Buffer>&&) = delete;
    Result<void> write(std::uint64_t offset, const void* data, std::size_t size) const {
        return checked(call(tn_buffer_write, raw(), offset, data, size));
    }
    Result<void> read(std::uint64_t offset, void* out, std::size_t size) const {
        return checked(call(tn_buffer_read, raw(), offset, out, size));
    }
};

class [[nodiscard]] Texture : public Placed<tn_Texture> {
public:
    using Placed::Placed;
    template <class Owner>
    Texture& operator=(Lent<Owner, tn_Texture>&&) = delete;
};

class [[nodiscard]] View : public Placed<tn_View> {
public:
    using Placed::Placed;
    template <class Owner>
    View& operator=(Lent<Owner, tn_View>&&) = delete;
};

class [[nodiscard]] Sampler : public Placed<tn_Sampler> {
public:
    using Placed::Placed;
};

class [[nodiscard]] SetLayout : public Placed<tn_SetLayout> {
public:
    using Placed::Placed;
};

/** Consecutive descriptors that shaders access by index. */
class [[nodiscard]] DescriptorTable : public Placed<tn_DescriptorTable> {
public:
    using Placed::Placed;
    /** The index of the first descriptor. */
    Result<std::uint32_t> first() const {
        tn_Place place{};
        const tn_Status status = call(tn_place, raw(), &place);
        auto index = static_cast<std::uint32_t>(place.offset);
        return made(status, index);
    }
};

class [[nodiscard]] DescriptorSet : public Placed<tn_DescriptorSet> {
public:
    using Placed::Placed;
};

/** Descriptors of tables or, with a binding, of sets. */
inline tn_Bind bind(const View& view, std::uint32_t binding = 0, std::uint32_t element = 0) noexcept {
    return {binding, element, view.raw(), nullptr, nullptr, 0, nullptr};
}
inline tn_Bind bind(const Sampler& sampler, std::uint32_t binding = 0, std::uint32_t element = 0) noexcept {
    return {binding, element, nullptr, sampler.raw(), nullptr, 0, nullptr};
}
/** A texture with its sampler, for sets. */
inline tn_Bind bind(const View& view, const Sampler& sampler, std::uint32_t binding = 0, std::uint32_t element = 0) noexcept {
    return {binding, element, view.raw(), sampler.raw(), nullptr, 0, nullptr};
}
/** Constants, for descriptors and sets of a recording. */
inline tn_Bind bind_data(const void* data, std::size_t size, std::uint32_t binding = 0, std::uint32_t element = 0) noexcept {
    return {binding, element, nullptr, nullptr, data, size, nullptr};
}

class [[nodiscard]] AccelerationStructure : public Placed<tn_AccelerationStructure> {
public:
    using Placed::Placed;
};
inline tn_Bind bind(const AccelerationStructure& structure, std::uint32_t binding = 0, std::uint32_t element = 0) noexcept {
    return {binding, element, nullptr, nullptr, nullptr, 0, structure.raw()};
}

/** A sparse buffer or texture. */
class [[nodiscard]] Reserved : public Placed<tn_Reserved> {
public:
    using Placed::Placed;
    Result<tn_SyncPoint> update(const tn_TileUpdate& update) const {
        tn_SyncPoint done{};
        return made(call(tn_reserved_update, raw(), &update, &done), done);
    }
    Result<tn_TileLayout> layout(std::uint32_t subresource = 0) const {
        Desc<tn_TileLayout> layout;
        return made(call(tn_reserved_layout, raw(), subresource, &layout), layout);
    }
};

/** A page allocator for resources that are created and released together. */
class [[nodiscard]] Pages : public Handle<tn_Pages> {
public:
    using Handle::Handle;
    Result<Buffer> create_buffer(const tn_BufferDesc& desc) const {
        tn_Buffer* raw_buffer = nullptr;
        const tn_Status status = call(tn_pages_buffer_create, raw(), &desc, &raw_buffer);
        Buffer buffer(raw_buffer);
        return made(status, buffer);
    }
    Result<Texture> create_texture(const tn_TextureDesc& desc) const {
        tn_Texture* raw_texture = nullptr;
        const tn_Status status = call(tn_pages_texture_create, raw(), &desc, &raw_texture);
        Texture texture(raw_texture);
        return made(status, texture);
    }
    Result<tn_PageTotals> totals() const {
        Desc<tn_PageTotals> totals;
        return made(call(tn_pages_totals, raw(), &totals), totals);
    }
};

/** An upload to wait for. It continues after this object is destroyed. */
class Upload : public Handle<tn_Upload> {
public:
    using Handle::Handle;
};

class [[nodiscard]] Readback : public Handle<tn_Readback> {
public:
    using Handle::Handle;
    std::uint64_t size() const noexcept { return tn_readback_size(raw()); }
    /** The bytes; no value after the timeout. */
    Result<std::optional<std::vector<unsigned char>>> wait(Timeout timeout = std::nullopt) const {
        std::vector<unsigned char> bytes(static_cast<std::size_t>(size()));
        const tn_Status status = call(tn_readback_wait, raw(), nanoseconds(timeout), bytes.data(), bytes.size());
        std::optional<std::vector<unsigned char>> read;
        if (status == TN_OK) read = std::move(bytes);
        return made(status, read);
    }
};

/** Runs a function of the program when this is released and the GPU cannot use its object any more. */
class [[nodiscard]] Deferred : public Handle<tn_Deferred> {
public:
    using Handle::Handle;
};

inline tn_Use use(const Buffer& buffer, tn_State state) noexcept { return {buffer.raw(), state, TN_ALL}; }
inline tn_Use use(const Texture& texture, tn_State state, std::uint32_t subresource = TN_ALL) noexcept {
    return {texture.raw(), state, subresource};
}

inline tn_Use use(const Reserved& reserved, tn_State state, std::uint32_t subresource = TN_ALL) noexcept {
    return {reserved.raw(), state, subresource};
}
inline tn_Use use(const AccelerationStructure& structure) noexcept {
    return {structure.raw(), TN_STATE_ACCELERATION_STRUCTURE, TN_ALL};
}

/** All resources of a view, table or set, in the read state of some shader stages: TN_STATE_SHADER_READ, or one stage. */
inline tn_Use use(const View& view, tn_State shaders) noexcept { return {view.raw(), shaders, TN_ALL}; }
inline tn_Use use(const DescriptorTable& table, tn_State shaders) noexcept { return {table.raw(), shaders, TN_ALL}; }
inline tn_Use use(const DescriptorSet& set, tn_State shaders) noexcept { return {set.raw(), shaders, TN_ALL}; }

/** An entire texture, or a range of a buffer. */
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

/** The result of a query, available when its submission is complete. */
class [[nodiscard]] Query : public Handle<tn_Query> {
public:
    using Handle::Handle;
    /** The result; no value after the timeout. */
    Result<std::optional<tn_QueryResult>> wait(Timeout timeout = std::nullopt) const {
        Desc<tn_QueryResult> result;
        const tn_Status status = call(tn_query_wait, raw(), nanoseconds(timeout), &result);
        std::optional<tn_QueryResult> arrived;
        if (status == TN_OK) arrived = result;
        return made(status, arrived);
    }
    /** The time from an earlier timestamp of the same queue to this one; no value if a result has not arrived. */
    [[nodiscard]] Result<std::optional<std::chrono::nanoseconds>> since(const Query& earlier) const {
        std::uint64_t time = 0;
        const tn_Status status = call(tn_query_between, earlier.raw(), raw(), &time);
        std::optional<std::chrono::nanoseconds> arrived;
        const std::chrono::nanoseconds::rep most = (std::chrono::nanoseconds::max)().count();
        const bool fits = time < static_cast<std::uint64_t>(most);
        if (status == TN_OK) arrived = std::chrono::nanoseconds(fits ? static_cast<std::chrono::nanoseconds::rep>(time) : most);
        return made(status, arrived);
    }
};

/** A handle borrowed from a graph or a swap chain, which releases it. */
template <class Owner, class T>
class Lent : public Owner {
public:
    explicit Lent(T* raw) noexcept : Owner(raw) {}
    Lent(const Lent& other) noexcept : Owner(other.raw()) {}
    Lent& operator=(const Lent& other) noexcept {
        T* const raw = other.raw();
        Owner::detach();
        static_cast<Owner&>(*this) = Owner(raw);
        return *this;
    }
    ~Lent() { Owner::detach(); }
    /** Deleted: only the owner ends the handle. */
    void reset() = delete;
    void detach() = delete;
    void submit() = delete;
    const Owner& operator*() const& noexcept { return *this; }
    /** Deleted: the result would be dangling. */
    const Owner& operator*() const&& = delete;
    const Owner* operator->() const noexcept { return this; }
};

/** Whether std::data gives the elements of a value. */
template <class T, class = void>
inline constexpr bool has_data = false;
template <class T>
inline constexpr bool has_data<T, std::void_t<decltype(std::data(std::declval<const T&>()))>> = true;

/** Whether a value can be copied as bytes. */
template <class T>
inline constexpr bool is_plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/** A command list being recorded, by one thread at a time. Discarded unless submitted. */
class [[nodiscard]] Recording : public Handle<tn_Recording> {
public:
    using Handle::Handle;
    template <class Owner>
    Recording& operator=(Lent<Owner, tn_Recording>&&) = delete;
    Result<void> use(Array<tn_Use> uses) const { return checked(call(tn_recording_use, raw(), uses.data(), uses.size())); }
    /** On the simulated device: records a draw or dispatch that accesses buffers and textures in these states. */
    Result<void> sim_access(Array<tn_Use> uses) const { return checked(call(tn_sim_access, raw(), uses.data(), uses.size())); }
    Result<void> copy(Array<tn_Copy> copies) const {
        return checked(call(tn_recording_copy, raw(), copies.data(), copies.size()));
    }
    Result<void> discard(const Texture& texture, std::uint32_t subresource = TN_ALL) const {
        return checked(call(tn_recording_discard, raw(), texture.raw(), subresource));
    }
    Result<void> wait_for(const tn_SyncPoint& point) const { return checked(call(tn_recording_wait_for, raw(), &point)); }
    Result<tn_Place> constants(const void* data, std::size_t size) const {
        tn_Place place{};
        return made(call(tn_recording_constants, raw(), data, size, &place), place);
    }
    Result<void> set_descriptor_heaps() const { return checked(call(tn_recording_set_descriptor_heaps, raw())); }
    /** Consecutive descriptors of this recording. */
    Result<tn_Place> descriptors(Array<tn_Bind> binds) const {
        tn_Place place{};
        return made(call(tn_recording_descriptors, raw(), binds.data(), binds.size(), &place), place);
    }
    /** A descriptor set of this recording. */
    Result<tn_Place> descriptor_set(const SetLayout& layout, Array<tn_Bind> binds) const {
        tn_Place place{};
        return made(call(tn_recording_descriptor_set, raw(), layout.raw(), binds.data(), binds.size(), &place), place);
    }
    Result<tn_Place> dynamic_constants(const SetLayout& layout, const void* data, std::size_t size) const {
        tn_Place place{};
        return made(call(tn_recording_dynamic_constants, raw(), layout.raw(), data, size, &place), place);
    }
    /** Makes the resources of buffers, textures, views, tables and sets resident. */
    Result<void> make_resident(Array<void*> handles) const {
        return checked(call(tn_recording_make_resident, raw(), handles.data(), handles.size()));
    }
    /** A value without pointers and padding, or the elements of an array, container or view. */
    template <class T>
    Result<tn_Place> constants(const T& value) const {
        if constexpr (has_data<T>) {
            using Element = std::remove_reference_t<decltype(*std::data(value))>;
            static_assert(is_plain<Element>, "the GPU reads the bytes of the elements");
            return constants(std::data(value), std::size(value) * sizeof(Element));
        } else {
            static_assert(is_plain<T>, "the GPU reads the bytes of the value");
            return constants(&value, sizeof value);
        }
    }
    Result<Readback> read_back(const tn_Part& part) const {
        Readback readback;
        return made(call(tn_read_back, raw(), &part, readback.out()), readback);
    }
    Result<Query> write_timestamp() const {
        Query query;
        return made(call(tn_recording_write_timestamp, raw(), query.out()), query);
    }
    /** Begins a query; name is for scopes of GPU time. */
    [[nodiscard]] Result<tn_OpenQuery> begin_query(tn_QueryKind kind, tn_Str name = {}) const {
        tn_OpenQuery query{};
        return made(call(tn_recording_begin_query, raw(), kind, name, &query), query);
    }
    Result<Query> end_query(const tn_OpenQuery& query) const {
        Query ended;
        return made(call(tn_recording_end_query, raw(), &query, ended.out()), ended);
    }
    [[nodiscard]] Result<tn_OpenQuery> begin_gpu_time(tn_Str name) const { return begin_query(TN_QUERY_GPU_TIME, name); }
    Result<void> end_gpu_time(const tn_OpenQuery& scope) const {
        return checked(call(tn_recording_end_query, raw(), &scope, nullptr));
    }
    /** Copies bytes to a slice of an upload ring. */
    Result<void> write(const tn_RingSlice& slice, std::uint64_t offset, const void* data, std::size_t size) const {
        return checked(call(tn_recording_write_slice, raw(), &slice, offset, data, size));
    }
    /** Copies from a slice; the src of each copy is ignored. */
    Result<void> copy(const tn_RingSlice& slice, Array<tn_Copy> copies) const {
        return checked(call(tn_recording_copy_slice, raw(), &slice, copies.data(), copies.size()));
    }
    /** Scratch memory for a build of an acceleration structure, until reuse_build_scratch. */
    [[nodiscard]] Result<tn_Place> build_scratch(std::uint64_t size) const {
        tn_Place place{};
        return made(call(tn_recording_build_scratch, raw(), size, &place), place);
    }
    /** The value of the result is the compacted size in bytes. */
    Result<Query> compacted_size(const AccelerationStructure& structure) const {
        Query query;
        return made(call(tn_recording_compacted_size, raw(), structure.raw(), query.out()), query);
    }
    Result<AccelerationStructure> compact(const AccelerationStructure& structure, std::uint64_t size) const {
        AccelerationStructure compacted;
        return made(call(tn_recording_compact, raw(), structure.raw(), size, compacted.out()), compacted);
    }
    Result<void> copy(const AccelerationStructure& src, const AccelerationStructure& dst) const {
        return checked(call(tn_recording_copy_structure, raw(), src.raw(), dst.raw()));
    }
    /** Generates the mips of one layer, or of all. */
    Result<void> generate_mips(const Texture& texture, std::uint32_t layer = TN_ALL) const {
        return checked(call(tn_recording_generate_mips, raw(), texture.raw(), layer));
    }
    Result<void> reuse_build_scratch() const { return checked(call(tn_recording_reuse_build_scratch, raw())); }
    /** A buffer for some commands, in memory shared with other transient resources. */
    Result<Buffer> transient_buffer(const tn_BufferDesc& desc) const {
        Buffer buffer;
        return made(call(tn_recording_transient_buffer, raw(), &desc, buffer.out()), buffer);
    }
    Result<Texture> transient_texture(const tn_TextureDesc& desc) const {
        Texture texture;
        return made(call(tn_recording_transient_texture, raw(), &desc, texture.out()), texture);
    }
    /** The VkCommandBuffer, with the barriers of the uses declared so far. */
    Result<tn_Native> native() const {
        tn_Native native = 0;
        return made(call(tn_recording_native, raw(), &native), native);
    }
    /** The location for the commands of this recording; a movable resource, also of a view, table or set, stays there meanwhile. */
    Result<tn_Place> place(const Buffer& buffer) const { return place(buffer.raw()); }
    Result<tn_Place> place(const Texture& texture) const { return place(texture.raw()); }
    Result<tn_Place> place(const View& view) const { return place(view.raw()); }
    Result<tn_Place> place(const DescriptorTable& table) const { return place(table.raw()); }
    Result<tn_Place> place(const DescriptorSet& set) const { return place(set.raw()); }
    Result<tn_SyncPoint> submit() && {
        tn_SyncPoint done{};
        return made(ended(call(tn_recording_submit, raw(), &done)), done);
    }

private:
    Result<tn_Place> place(void* resource) const {
        tn_Place place{};
        return made(call(tn_recording_place, raw(), resource, &place), place);
    }
};

/** One mapped buffer for data used by one recording each. */
class [[nodiscard]] UploadRing : public Handle<tn_UploadRing> {
public:
    using Handle::Handle;
    [[nodiscard]] Result<tn_RingSlice> allocate(const Recording& recording, std::uint64_t size, std::uint64_t alignment) const {
        tn_RingSlice slice{};
        return made(call(tn_upload_ring_allocate, raw(), recording.raw(), size, alignment, &slice), slice);
    }
    Result<void> close() const { return checked(call(tn_upload_ring_close, raw())); }
    Result<tn_UploadRingTotals> totals() const {
        Desc<tn_UploadRingTotals> totals;
        return made(call(tn_upload_ring_totals, raw(), &totals), totals);
    }
};

/** The passes of a frame, and their transient resources. */
class [[nodiscard]] Graph : public Handle<tn_Graph> {
public:
    using Handle::Handle;
    static Result<Graph> create() {
        Graph graph;
        return made(call(tn_graph_create, graph.out()), graph);
    }
    Result<void> clear() const { return checked(call(tn_graph_clear, raw())); }
    Result<std::uint32_t> buffer(const tn_BufferDesc& desc) const {
        std::uint32_t number = 0;
        return made(call(tn_graph_buffer, raw(), &desc, &number), number);
    }
    Result<std::uint32_t> texture(const tn_TextureDesc& desc) const {
        std::uint32_t number = 0;
        return made(call(tn_graph_texture, raw(), &desc, &number), number);
    }
    /** Declares a pass with these uses, which replace those of desc. */
    Result<std::uint32_t> pass(tn_PassDesc desc, Array<tn_PassUse> uses) const {
        desc.uses = uses.data();
        desc.use_count = uses.size();
        std::uint32_t number = 0;
        return made(call(tn_graph_pass, raw(), &desc, &number), number);
    }
};

/** A pass during recording. */
class Pass {
public:
    explicit Pass(const tn_Pass& raw) noexcept : raw_(raw) {}
    std::uint32_t number() const noexcept { return raw_.number; }
    const Lent<Recording, tn_Recording> recording() const noexcept { return Lent<Recording, tn_Recording>(raw_.recording); }
    /** A resource declared by the pass, by its number in the graph. */
    const Lent<Buffer, tn_Buffer> buffer(std::uint32_t number) const noexcept {
        return Lent<Buffer, tn_Buffer>(static_cast<tn_Buffer*>(at(number)));
    }
    const Lent<Texture, tn_Texture> texture(std::uint32_t number) const noexcept {
        return Lent<Texture, tn_Texture>(static_cast<tn_Texture*>(at(number)));
    }

private:
    void* at(std::uint32_t number) const noexcept {
        return number < raw_.resource_count ? raw_.resources[number] : nullptr;
    }
    const tn_Pass& raw_;
};

/** A frame; its destructor ends it without exceptions. */
class [[nodiscard]] Frame : public Handle<tn_Frame> {
public:
    using Handle::Handle;
    std::uint64_t number() const noexcept { return tn_frame_number(raw()); }
    /** Runs record(const Pass&) for each pass, and rethrows its exceptions. */
    template <class Record>
    Result<tn_SyncPoint> execute(const Graph& graph, Record&& record) const {
        const tn_PassFn pass_on = [](void* user, const tn_Pass* pass) noexcept { return run<Record>(user, Pass(*pass)); };
        tn_SyncPoint done{};
        return made(call(tn_frame_execute, raw(), graph.raw(), pass_on, user_of(record), &done), done);
    }
    /** Submits recordings in this order, in as few submissions of the API as possible. Clears them, unless the call is refused. */
    Result<tn_SyncPoint> submit_all(std::vector<Recording>&& recordings) const {
        std::vector<tn_Recording*> all;
        all.reserve(recordings.size());
        for (const Recording& recording : recordings) all.push_back(recording.raw());
        tn_SyncPoint done{};
        const tn_Status status = call(tn_frame_submit_all, raw(), all.data(), all.size(), &done);
        const bool is_refused = status == TN_ERROR_HANDLE || status == TN_ERROR_FOREIGN || status == TN_ERROR_POINTER;
        for (Recording& recording : recordings) {
            if (!is_refused) recording.ended(status);
        }
        return made(status, done);
    }
    Result<void> end() && { return checked(ended(call(tn_frame_end, raw()))); }
};

/** A recording of a manager's allocations; its destructor completes the file without exceptions. */
class [[nodiscard]] Recorder : public Handle<tn_Recorder> {
public:
    using Handle::Handle;
    Result<void> finish() && { return checked(ended(call(tn_recorder_finish, raw()))); }
};

class [[nodiscard]] Device : public Handle<tn_Device> {
public:
    using Handle::Handle;
    /** A GPU in software, for tests. */
    static Result<Device> simulated(const tn_SimDesc* desc = nullptr) {
        Device device;
        return made(call(tn_device_create_sim, desc, device.out()), device);
    }
    Result<tn_DeviceProperties> properties() const {
        Desc<tn_DeviceProperties> properties;
        return made(call(tn_device_properties, raw(), &properties), properties);
    }
    /** Completes all submissions of a simulated device. */
    Result<void> run() const { return checked(call(tn_sim_run, raw())); }
    /** Simulates the loss of a device. */
    Result<void> lose(tn_Str reason) const { return checked(call(tn_sim_lose, raw(), reason)); }
    /** The hazards that a simulated device has found, and the objects that were not destroyed; empty: none. */
    Result<std::string> findings() const {
        Text text;
        return text.made_by(call(tn_sim_findings, raw(), text.out()));
    }
};

/** The manager of a device. */
class [[nodiscard]] Gpu : public Handle<tn_Gpu> {
public:
    using Handle::Handle;
    static Result<Gpu> create(const Device& device, Array<tn_Setting> settings = {}) {
        Desc<tn_GpuDesc> desc;
        desc.settings = settings.data();
        desc.setting_count = settings.size();
        Gpu gpu;
        return made(call(tn_gpu_create, device.raw(), &desc, gpu.out()), gpu);
    }
    Result<Buffer> create_buffer(const tn_BufferDesc& desc) const {
        Buffer buffer;
        return made(call(tn_buffer_create, raw(), &desc, buffer.out()), buffer);
    }
    Result<Texture> create_texture(const tn_TextureDesc& desc) const {
        Texture texture;
        return made(call(tn_texture_create, raw(), &desc, texture.out()), texture);
    }
    Result<View> create_view(const Buffer& buffer, const tn_BufferViewDesc& desc) const {
        View view;
        return made(call(tn_buffer_view_create, raw(), buffer.raw(), &desc, view.out()), view);
    }
    Result<View> create_view(const Texture& texture, const tn_TextureViewDesc& desc = Desc<tn_TextureViewDesc>()) const {
        View view;
        return made(call(tn_texture_view_create, raw(), texture.raw(), &desc, view.out()), view);
    }
    Result<Sampler> create_sampler(const tn_SamplerDesc& desc = Desc<tn_SamplerDesc>()) const {
        Sampler sampler;
        return made(call(tn_sampler_create, raw(), &desc, sampler.out()), sampler);
    }
    Result<DescriptorTable> create_descriptor_table(Array<tn_Bind> binds, tn_Str name) const {
        Desc<tn_DescriptorTableDesc> desc;
        desc.binds = binds.data();
        desc.bind_count = binds.size();
        desc.name = name;
        DescriptorTable table;
        return made(call(tn_descriptor_table_create, raw(), &desc, table.out()), table);
    }
    Result<SetLayout> create_set_layout(Array<tn_SetBinding> bindings, tn_Str name) const {
        Desc<tn_SetLayoutDesc> desc;
        desc.bindings = bindings.data();
        desc.binding_count = bindings.size();
        desc.name = name;
        SetLayout layout;
        return made(call(tn_set_layout_create, raw(), &desc, layout.out()), layout);
    }
    Result<DescriptorSet> create_descriptor_set(const SetLayout& layout, Array<tn_Bind> binds, tn_Str name) const {
        Desc<tn_DescriptorSetDesc> desc;
        desc.layout = layout.raw();
        desc.binds = binds.data();
        desc.bind_count = binds.size();
        desc.name = name;
        DescriptorSet set;
        return made(call(tn_descriptor_set_create, raw(), &desc, set.out()), set);
    }
    /** The owner of a descriptor heap index, as text. */
    Result<std::string> descriptor_owner(tn_DescriptorKind kind, std::uint32_t index) const {
        Text text;
        return text.made_by(call(tn_gpu_descriptor_owner, raw(), kind, index, text.out()));
    }
    bool supports_format(tn_Format format, tn_Usage usage) const noexcept {
        return tn_gpu_supports_format(raw(), format, usage) != 0;
    }
    Result<tn_GraphPlan> plan(const Graph& graph) const {
        Desc<tn_GraphPlan> plan;
        return made(call(tn_gpu_plan_graph, raw(), graph.raw(), &plan), plan);
    }
    Result<Frame> begin_frame() const {
        Frame frame;
        return made(call(tn_frame_begin, raw(), frame.out()), frame);
    }
    Result<Recording> record(tn_Queue queue, tn_Str name) const {
        Recording recording;
        return made(call(tn_recording_begin, raw(), queue, name, recording.out()), recording);
    }
    /** The GPU times of scopes that arrived at the end of the last frame. */
    Result<std::vector<std::pair<std::string, tn_GpuTime>>> gpu_times() const {
        std::vector<std::pair<std::string, tn_GpuTime>> times;
        const auto keep = [&times](const tn_GpuTime& time) {
            times.emplace_back(view(time.name), time);
            times.back().second.name = {};
        };
        const tn_GpuTimeFn pass_on = [](void* user, tn_GpuTime time) noexcept {
            static_cast<void>(run<decltype(keep)>(user, std::as_const(time)));
        };
        return made(call(tn_gpu_times, raw(), pass_on, user_of(keep)), times);
    }
    [[nodiscard]] Result<tn_Cost> cost(const tn_BufferDesc& desc) const {
        Desc<tn_Cost> cost;
        return made(call(tn_gpu_buffer_cost, raw(), &desc, &cost), cost);
    }
    [[nodiscard]] Result<tn_Cost> cost(const tn_TextureDesc& desc) const {
        Desc<tn_Cost> cost;
        return made(call(tn_gpu_texture_cost, raw(), &desc, &cost), cost);
    }
    /** A CPU-readable buffer for a texture; layouts receives one element per subresource. */
    Result<Buffer> create_readback_texture(const tn_TextureDesc& desc, std::vector<tn_SubresourceLayout>& layouts) const {
        const bool is_3d = desc.dimension == TN_DIMENSION_3D;
        const bool has_stencil = desc.format == TN_FORMAT_D24_UNORM_S8_UINT || desc.format == TN_FORMAT_D32_FLOAT_S8_UINT;
        const std::size_t mips = desc.mips == 0 ? 1 : desc.mips;
        const std::size_t layers = is_3d || desc.depth_or_layers == 0 ? 1 : desc.depth_or_layers;
        // The call rejects larger textures.
        if (mips <= 32 && layers <= 1 << 16) layouts.resize(mips * layers * (has_stencil ? 2 : 1));
        Buffer buffer;
        return made(call(tn_readback_texture_create, raw(), &desc, layouts.data(), layouts.size(), buffer.out()), buffer);
    }
    bool generates_mips(tn_Format format) const noexcept { return tn_gpu_generates_mips(raw(), format) != 0; }
    Result<AccelerationStructure> create_acceleration_structure(const tn_AccelerationStructureDesc& desc) const {
        AccelerationStructure structure;
        return made(call(tn_acceleration_structure_create, raw(), &desc, structure.out()), structure);
    }
    /** Uses size, usage, name and tag of desc. */
    Result<Reserved> create_reserved(const tn_BufferDesc& desc) const {
        Reserved reserved;
        return made(call(tn_reserved_buffer_create, raw(), &desc, reserved.out()), reserved);
    }
    Result<Reserved> create_reserved(const tn_TextureDesc& desc) const {
        Reserved reserved;
        return made(call(tn_reserved_texture_create, raw(), &desc, reserved.out()), reserved);
    }
    Result<Pages> create_pages(std::uint64_t page_size, tn_Str name) const {
        Desc<tn_PagesDesc> desc;
        desc.page_size = page_size;
        desc.name = name;
        Pages pages;
        return made(call(tn_pages_create, raw(), &desc, pages.out()), pages);
    }
    Result<UploadRing> create_upload_ring(const tn_UploadRingDesc& desc) const {
        UploadRing ring;
        return made(call(tn_upload_ring_create, raw(), &desc, ring.out()), ring);
    }
    Result<Upload> upload(const Buffer& buffer, std::uint64_t offset, const void* data, std::size_t size) const {
        const tn_Part where = part(buffer, offset, size);
        return upload(where, {data, size, 0, 0, 0});
    }
    /** Uploads the first mip of the first layer, from tightly packed rows of texels. */
    Result<Upload> upload(const Texture& texture, const void* data, std::size_t size) const {
        return upload(part(texture), {data, size, 0, 0, 0});
    }
    Result<Upload> upload(const tn_Part& where, const tn_Texels& texels) const {
        Upload upload;
        return made(call(tn_upload, raw(), &where, &texels, upload.out()), upload);
    }
    Result<tn_SyncPoint> flush_uploads() const {
        tn_SyncPoint done{};
        return made(call(tn_gpu_flush_uploads, raw(), &done), done);
    }
    [[nodiscard]] Result<bool> wait(const Upload& upload, Timeout timeout = std::nullopt) const {
        const tn_Status status = call(tn_upload_wait, raw(), upload.raw(), nanoseconds(timeout));
        bool is_complete = status == TN_OK;
        return made(status, is_complete);
    }
    [[nodiscard]] Result<bool> wait(const tn_SyncPoint& point, Timeout timeout = std::nullopt) const {
        const tn_Status status = call(tn_gpu_wait, raw(), &point, nanoseconds(timeout));
        bool is_complete = status == TN_OK;
        return made(status, is_complete);
    }
    Result<Readback> read_back(const tn_Part& part) const {
        Readback readback;
        return made(call(tn_read_back, raw(), &part, readback.out()), readback);
    }
    Result<tn_SyncPoint> submitted() const {
        tn_SyncPoint point{};
        return made(call(tn_gpu_submitted, raw(), &point), point);
    }
    Result<tn_SyncPoint> completed() const {
        tn_SyncPoint point{};
        return made(call(tn_gpu_completed, raw(), &point), point);
    }
    /** Runs submit(tn_Native queue), and rethrows its exceptions. */
    template <class Submit>
    Result<tn_SyncPoint> submit_external(tn_Queue queue, const tn_SyncPoint& wait, Submit&& submit) const {
        const tn_SubmitFn pass_on = [](void* user, tn_Native native) noexcept { return run<Submit>(user, native); };
        tn_SyncPoint done{};
        return made(call(tn_gpu_submit_external, raw(), queue, &wait, pass_on, user_of(submit), &done), done);
    }
    Result<void> declare_state(Array<tn_Use> states, const tn_SyncPoint& at) const {
        return checked(call(tn_gpu_declare_state, raw(), states.data(), states.size(), &at));
    }
    Result<void> reclaim() const { return checked(call(tn_gpu_reclaim, raw())); }
    Result<void> trim() const { return checked(call(tn_gpu_trim, raw())); }
    /** Sets the cap in bytes; UINT64_MAX: no limit. */
    Result<void> set_memory_cap(std::uint32_t heap, std::uint64_t bytes) const {
        return checked(call(tn_gpu_set_memory_cap, raw(), heap, bytes));
    }
    Result<tn_HeapMemory> heap_memory(std::uint32_t heap) const {
        Desc<tn_HeapMemory> memory;
        return made(call(tn_gpu_heap_memory, raw(), heap, &memory), memory);
    }
    /** Runs listener(const tn_PressureChange&), which must outlive the manager, and rethrows its exceptions. */
    template <class Listener>
    Result<void> on_pressure(Listener& listener) const {
        const tn_PressureFn pass_on = [](void* user, tn_PressureChange change) noexcept {
            static_cast<void>(run<Listener>(user, std::as_const(change)));
        };
        return checked(call(tn_gpu_on_pressure, raw(), pass_on, user_of(listener)));
    }
    Result<std::string> report(tn_Report report) const {
        Text text;
        return text.made_by(call(tn_gpu_report, raw(), report, text.out()));
    }
    /** The current and former objects at these GPU addresses, as text. */
    Result<std::string> whose(std::uint64_t address, std::uint64_t size = 1) const {
        Text text;
        return text.made_by(call(tn_gpu_whose, raw(), address, size, text.out()));
    }
    /** Calls a function once, by the same rule as the destruction of all handles. */
    template <class Destroy>
    Result<Deferred> defer(tn_Str name, Destroy destroy) const {
        auto kept = std::make_unique<Destroy>(std::move(destroy));
        Deferred deferred;
        const tn_Status status = call(tn_gpu_defer, raw(), name, run_destroy<Destroy>, nullptr, kept.get(), deferred.out());
        if (status >= 0) static_cast<void>(kept.release());
        return made(status, deferred);
    }
    /** Calls a function once after a sync point. */
    template <class Destroy>
    Result<void> release_after(const tn_SyncPoint& point, Destroy destroy) const {
        auto kept = std::make_unique<Destroy>(std::move(destroy));
        const tn_Status status = call(tn_gpu_release_after, raw(), &point, run_destroy<Destroy>, nullptr, kept.get());
        if (status >= 0) static_cast<void>(kept.release());
        return checked(status);
    }
    /** Declares that commands only read these resources from now on, in these states. */
    Result<void> make_read_only(const Buffer& buffer, tn_State states) const {
        return checked(call(tn_gpu_make_read_only, raw(), buffer.raw(), states));
    }
    Result<void> make_read_only(const Texture& texture, tn_State states) const {
        return checked(call(tn_gpu_make_read_only, raw(), texture.raw(), states));
    }
    Result<tn_CompactionReport> compact(const tn_CompactionBudget& budget) const {
        Desc<tn_CompactionReport> report;
        return made(call(tn_gpu_compact, raw(), &budget, &report), report);
    }
    /** The ids of moved resources, from tn_movable_id, and the number of their moves. */
    Result<std::vector<std::pair<std::uint64_t, std::uint64_t>>> take_moved() const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
        const auto keep = [&moved](std::uint64_t id, std::uint64_t moves) { moved.emplace_back(id, moves); };
        const tn_MovedFn pass_on = [](void* user, std::uint64_t id, std::uint64_t moves) noexcept {
            static_cast<void>(run<decltype(keep)>(user, id, moves));
        };
        return made(call(tn_gpu_take_moved, raw(), pass_on, user_of(keep)), moved);
    }
    /** Records all allocations to a file. flags: TN_RECORD_NAMES. */
    Result<Recorder> record_allocations(std::string_view path, std::uint32_t flags = 0) const {
        Recorder recorder;
        return made(call(tn_gpu_record, raw(), str(path), flags, recorder.out()), recorder);
    }
    /** The live objects and open recordings; empty: none. */
    Result<std::string> shutdown() const {
        Text text;
        return text.made_by(call(tn_gpu_shutdown, raw(), nullptr, text.out()));
    }
};

/** An offset for each item. desc: null for the defaults. */
inline Result<std::vector<std::uint64_t>> plan(const std::vector<tn_PlanItem>& items, const tn_PlanDesc* desc = nullptr,
                                               tn_PlanResult* out = nullptr) {
    std::vector<std::uint64_t> offsets(items.size());
    return made(call(tn_plan, items.data(), items.size(), desc, offsets.data(), out), offsets);
}
/** The peak of a valid plan with one offset per item. An invalid plan is an error. */
inline Result<std::uint64_t> check_plan(const std::vector<tn_PlanItem>& items, const std::vector<std::uint64_t>& offsets) {
    std::uint64_t peak = 0;
    // A plan with the wrong number of offsets is invalid.
    const std::uint64_t* const found = offsets.size() == items.size() ? offsets.data() : nullptr;
    return made(call(tn_plan_check, items.data(), items.size(), found, &peak), peak);
}

/** Divides a range of offsets, by one thread at a time. */
class [[nodiscard]] Suballocator : public Handle<tn_Suballocator> {
public:
    using Handle::Handle;
    static Result<Suballocator> create(tn_SuballocatorKind kind, std::uint64_t capacity, std::uint64_t granule = 0) {
        Desc<tn_SuballocatorDesc> desc;
        desc.kind = kind;
        desc.capacity = capacity;
        desc.granule = granule;
        Suballocator suballocator;
        return made(call(tn_suballocator_create, &desc, suballocator.out()), suballocator);
    }
    /** The range; no value if no free range fits now. */
    Result<std::optional<tn_Range>> allocate(std::uint64_t size, std::uint64_t alignment) const {
        tn_Range range{};
        const tn_Status status = call(tn_suballocator_allocate, raw(), size, alignment, &range);
        std::optional<tn_Range> found;
        if (status == TN_OK) found = range;
        return made(status == TN_ERROR_OUT_OF_MEMORY ? TN_NOT_READY : status, found);
    }
    Result<void> deallocate(const tn_Range& range) const { return checked(call(tn_suballocator_free, raw(), &range)); }
    Result<void> clear() const { return checked(call(tn_suballocator_clear, raw())); }
    Result<tn_SuballocatorTotals> totals() const {
        Desc<tn_SuballocatorTotals> totals;
        return made(call(tn_suballocator_totals, raw(), &totals), totals);
    }
    /** For a ring. */
    Result<void> close(std::uint64_t mark) const { return checked(call(tn_suballocator_close, raw(), mark)); }
    Result<void> release_up_to(std::uint64_t mark) const { return checked(call(tn_suballocator_release_up_to, raw(), mark)); }
};

/** Destroys objects of the program when its own submissions no longer use them. */
class [[nodiscard]] ReleaseQueue : public Handle<tn_ReleaseQueue> {
public:
    using Handle::Handle;
    static Result<ReleaseQueue> create(std::uint32_t queues) {
        ReleaseQueue queue;
        return made(call(tn_release_queue_create, queues, queue.out()), queue);
    }
    Result<std::uint64_t> open(tn_Str name) const {
        std::uint64_t recording = 0;
        return made(call(tn_release_queue_open, raw(), name, &recording), recording);
    }
    Result<void> close(std::uint64_t recording) const { return checked(call(tn_release_queue_close, raw(), recording)); }
    /** Runs submit(std::uint64_t serial), and rethrows its exceptions. */
    template <class Submit>
    Result<tn_SyncPoint> submit(std::uint32_t queue, Submit&& submit) const {
        const tn_SerialFn pass_on = [](void* user, std::uint64_t serial) noexcept { return run<Submit>(user, serial); };
        tn_SyncPoint done{};
        return made(call(tn_release_queue_submit, raw(), queue, pass_on, user_of(submit), &done), done);
    }
    Result<void> complete(std::uint32_t queue, std::uint64_t serial) const {
        return checked(call(tn_release_queue_complete, raw(), queue, serial));
    }
    /** Calls a function once, after a sync point if one is given. */
    template <class Destroy>
    Result<void> push(Destroy destroy, std::uint64_t bytes = 0, const tn_SyncPoint* point = nullptr) const {
        auto kept = std::make_unique<Destroy>(std::move(destroy));
        const tn_Status status = call(tn_release_queue_push, raw(), point, run_destroy<Destroy>, nullptr, kept.get(), bytes);
        if (status >= 0) static_cast<void>(kept.release());
        return checked(status);
    }
    Result<void> reclaim() const { return checked(call(tn_release_queue_reclaim, raw())); }
    Result<tn_ReleaseTotals> totals() const {
        Desc<tn_ReleaseTotals> totals;
        return made(call(tn_release_queue_totals, raw(), &totals), totals);
    }
};

/** An acquired image, valid until the next acquire(), present() or resize() of its swap chain. */
struct SwapchainImage {
    Lent<Texture, tn_Texture> texture;
    Lent<View, tn_View> view;
    std::uint32_t index;
};

/** The images of a window, used by one thread at a time. Must be destroyed before its window and its manager. */
class [[nodiscard]] Swapchain : public Handle<tn_Swapchain> {
public:
    using Handle::Handle;
    /** Without a window, for tests. */
    static Result<Swapchain> simulated(const Gpu& gpu, const tn_SwapchainDesc& desc) {
        Swapchain swapchain;
        return made(call(tn_swapchain_create_sim, gpu.raw(), &desc, swapchain.out()), swapchain);
    }
    /** No value while the window is minimised or changes. */
    Result<std::optional<SwapchainImage>> acquire() const {
        tn_SwapchainImage image{};
        const tn_Status status = call(tn_swapchain_acquire, raw(), &image);
        std::optional<SwapchainImage> found;
        if (status == TN_OK) {
            const Lent<Texture, tn_Texture> texture(image.texture);
            found.emplace(SwapchainImage{texture, Lent<View, tn_View>(image.view), image.index});
        }
        return made(status, found);
    }
    /** The first recording that uses the image. */
    Result<void> begin(const Recording& recording) const { return checked(call(tn_swapchain_begin, raw(), recording.raw())); }
    /** The last recording that uses the image. */
    Result<void> finish(const Recording& recording) const {
        return checked(call(tn_swapchain_finish, raw(), recording.raw()));
    }
    Result<void> present() const { return checked(call(tn_swapchain_present, raw())); }
    Result<void> resize(std::uint32_t width, std::uint32_t height) const {
        return checked(call(tn_swapchain_resize, raw(), width, height));
    }
    Result<tn_SwapchainProperties> properties() const {
        Desc<tn_SwapchainProperties> properties;
        return made(call(tn_swapchain_properties, raw(), &properties), properties);
    }
    /** The supported formats and modes, valid until the next call. */
    Result<tn_SwapchainOffers> offers() const {
        Desc<tn_SwapchainOffers> offers;
        return made(call(tn_swapchain_offers, raw(), &offers), offers);
    }
    Result<void> set_formats(Array<tn_SurfaceFormat> formats) const {
        return checked(call(tn_swapchain_set_formats, raw(), formats.data(), formats.size()));
    }
    Result<void> set_modes(Array<tn_PresentMode> modes) const {
        return checked(call(tn_swapchain_set_modes, raw(), modes.data(), modes.size()));
    }
    Result<void> set_frame_latency(std::uint32_t frames) const {
        return checked(call(tn_swapchain_set_frame_latency, raw(), frames));
    }
    Result<void> set_hdr_metadata(const tn_HdrMetadata& metadata) const {
        return checked(call(tn_swapchain_set_hdr_metadata, raw(), &metadata));
    }
};

/** Pools of heaps allocated by functions of the program; those of tn_HeapPoolsDesc must not throw. Used by one thread at a time. */
class [[nodiscard]] HeapPools : public Handle<tn_HeapPools> {
public:
    using Handle::Handle;
    static Result<HeapPools> create(const tn_HeapPoolsDesc& desc) {
        HeapPools pools;
        return made(call(tn_heap_pools_create, &desc, pools.out()), pools);
    }
    Result<tn_MemoryRange> allocate(const tn_MemoryRequest& request) const {
        tn_MemoryRange range{};
        return made(call(tn_heap_pools_allocate, raw(), &request, &range), range);
    }
    Result<void> deallocate(const tn_MemoryRange& range) const { return checked(call(tn_heap_pools_free, raw(), &range)); }
    Result<tn_MemoryTotals> totals() const {
        Desc<tn_MemoryTotals> totals;
        return made(call(tn_heap_pools_totals, raw(), &totals), totals);
    }
    Result<void> trim() const { return checked(call(tn_heap_pools_trim, raw())); }
    /** Sets the cap in bytes; UINT64_MAX: no limit. */
    Result<void> set_cap(std::uint32_t heap, std::uint64_t bytes) const {
        return checked(call(tn_heap_pools_set_cap, raw(), heap, bytes));
    }
    /** Returns up to budget.moves moves, and at most 1,024, chosen with the function is_movable, which must not throw; is_done:
     * nothing is left to do.
     */
    Result<std::vector<tn_MemoryMove>> compact(const tn_CompactionBudget& budget, tn_IsMovableFn is_movable, void* user,
                                               bool& is_done) const {
        std::vector<tn_MemoryMove> moves(budget.moves < 1024 ? budget.moves : 1024);
        std::size_t count = 0;
        const tn_Status status = call(tn_heap_pools_compact, raw(), &budget, is_movable, user, moves.data(), moves.size(), &count);
        is_done = status == TN_OK;
        moves.resize(count);
        return made(status, moves);
    }
    Result<void> stop_compaction() const { return checked(call(tn_heap_pools_stop_compaction, raw())); }
};

/** Sends the log lines of the process to log(tn_LogLevel, std::string_view), on any thread. Can be set once, and not removed. */
template <class Log>
Result<void> set_log(tn_LogLevel most, Log log) {
    auto kept = std::make_unique<Log>(std::move(log));
    const tn_LogFn pass_on = [](void* user, tn_LogLevel level, tn_Str text) noexcept {
        static_cast<void>(run<Log>(user, level, view(text)));
    };
    const tn_Status status = call(tn_set_log, most, pass_on, kept.get());
    // The log function is never freed.
    if (status >= 0) static_cast<void>(kept.release());
    return checked(status);
}

/** The numbers of this thread's last error if it was TN_ERROR_OUT_OF_MEMORY. */
inline std::optional<tn_OutOfMemory> last_out_of_memory() {
    Desc<tn_OutOfMemory> numbers;
    if (tn_last_out_of_memory(&numbers) != TN_OK) return std::nullopt;
    return numbers;
}

}  // namespace TN_ERRORS
}  // namespace tn

#endif
