// Exceptions of callbacks: none passes through the library, and each is thrown again by the call that has run it.
#include "check.h"

#include "tenure.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace tn::literals;

struct Mine : std::runtime_error {
    using runtime_error::runtime_error;
};

/** A value with a destructor, which the stack of the exception has to run. */
struct Guard {
    int& ends;
    ~Guard() { ++ends; }
};

static int ended = 0;

[[noreturn]] static void fail(const char* text) {
    const Guard guard{ended};
    throw Mine(text);
}

/** The call throws what its callback has thrown. */
template <class Call>
static void throws(const char* text, Call&& call) {
    const int before = ended;
    try {
        call();
        CHECK(false);
    } catch (const Mine& mine) {
        CHECK(std::string_view(mine.what()) == text);
    }
    CHECK(ended == before + 1);
}

static tn::Buffer create_buffer(const tn::Gpu& gpu, std::uint64_t size) {
    tn::Desc<tn_BufferDesc> desc;
    desc.size = size;
    desc.usage = TN_USAGE_VERTEX;
    return gpu.create_buffer(desc);
}

static void submissions(const tn::Gpu& gpu) {
    throws("submit", [&] { gpu.submit_external(TN_QUEUE_GRAPHICS, {}, [](tn_Native) { fail("submit"); }); });
    const tn::ReleaseQueue queue = tn::ReleaseQueue::create(1);
    throws("serial", [&] { queue.submit(0, [](std::uint64_t) { fail("serial"); }); });
    // An error of tenure's own is one, too.
    try {
        gpu.submit_external(TN_QUEUE_GRAPHICS, {}, [&](tn_Native) { static_cast<void>(gpu.submitted()); });
        CHECK(false);
    } catch (const tn::Error& error) {
        CHECK(error.status() == TN_ERROR_CALLBACK);
    }
    // Nothing is left behind: the next call is as any other.
    CHECK(gpu.wait(gpu.submitted()));
}

static void passes(const tn::Gpu& gpu) {
    const tn::Graph graph = tn::Graph::create();
    tn::Desc<tn_BufferDesc> bytes;
    bytes.size = 64;
    bytes.usage = TN_USAGE_COPY_DST;
    const std::uint32_t number = graph.buffer(bytes);
    for (int count = 0; count < 2; ++count) graph.pass(tn::Desc<tn_PassDesc>(), {{number, TN_STATE_COPY_DST}});
    tn::Frame frame = gpu.begin_frame();
    int runs = 0;
    throws("pass", [&] {
        frame.execute(graph, [&](const tn::Pass&) {
            ++runs;
            fail("pass");
        });
    });
    CHECK(runs == 1);
    std::move(frame).end();
}

static void destruction(const tn::Gpu& gpu) {
    throws("at the end of a frame", [&] {
        gpu.release_after(gpu.submitted(), [] { fail("at the end of a frame"); });
        tn::Frame frame = gpu.begin_frame();
        std::move(frame).end();
    });
    throws("reclaim", [&] {
        gpu.release_after(gpu.submitted(), [] { fail("reclaim"); });
        gpu.reclaim();
    });
    // Each object is destroyed, and the first exception is thrown.
    int destroyed = 0;
    const int before = ended;
    for (int count = 0; count < 3; ++count) {
        gpu.release_after(gpu.submitted(), [&destroyed, text = std::to_string(count)] {
            ++destroyed;
            fail(text.c_str());
        });
    }
    try {
        gpu.reclaim();
        CHECK(false);
    } catch (const Mine&) {
    }
    CHECK(destroyed == 3 && ended == before + 3);
    gpu.reclaim();

    const tn::ReleaseQueue queue = tn::ReleaseQueue::create(1);
    queue.push([] { fail("push"); });
    throws("push", [&] { queue.reclaim(); });
    throws("deferred", [&] {
        static_cast<void>(gpu.defer("pipeline"_tn, [] { fail("deferred"); }));
        gpu.reclaim();
    });
    // A destructor throws nothing: the next call of its thread does. Calls of other threads do not.
    throws("destructor", [&] {
        tn::ReleaseQueue::create(1).push([] { fail("destructor"); });
        std::thread([&] { static_cast<void>(gpu.submitted()); }).join();
        static_cast<void>(create_buffer(gpu, 64));
    });
    throws("at once", [] {
        tn::ReleaseQueue::create(1).push([] { fail("at once"); });
        tn::Thrown::rethrow();
    });
    tn::Thrown::rethrow();
}

/** The call that throws the exception of an earlier one does nothing. */
static void late(const tn::Gpu& gpu) {
    const auto leave = [](const char* text) { tn::ReleaseQueue::create(1).push([text] { fail(text); }); };
    tn::Recording list = gpu.record(TN_QUEUE_GRAPHICS, "late"_tn);
    throws("submit", [&] {
        leave("submit");
        std::move(list).submit();
    });
    CHECK(list);
    const tn_SyncPoint before = gpu.submitted();
    const tn_SyncPoint done = std::move(list).submit();
    CHECK(memcmp(&before, &done, sizeof done) != 0);
    bool is_destroyed = false;
    throws("defer", [&] {
        leave("defer");
        static_cast<void>(gpu.defer("pipeline"_tn, [&is_destroyed] { is_destroyed = true; }));
    });
    gpu.reclaim();
    CHECK(!is_destroyed);
}

static int calls = 0;
static void record(const tn::Pass&) { ++calls; }
static void submit(tn_Native) { ++calls; }
static void signal_serial(std::uint64_t) { ++calls; }
static void destroy() { ++calls; }
static void listen(const tn_PressureChange&) { ++calls; }
static void no_listener(const tn_PressureChange&) {}

/** Functions are as good as function objects. */
static void functions(const tn::Gpu& gpu) {
    const tn::Graph graph = tn::Graph::create();
    graph.pass(tn::Desc<tn_PassDesc>(), {});
    tn::Frame frame = gpu.begin_frame();
    frame.execute(graph, record);
    frame.execute(graph, &record);
    std::move(frame).end();
    CHECK(calls == 2);
    CHECK(gpu.wait(gpu.submit_external(TN_QUEUE_GRAPHICS, {}, submit)));
    tn::ReleaseQueue::create(1).submit(0, signal_serial);
    gpu.release_after(gpu.submitted(), destroy);
    static_cast<void>(gpu.defer("pipeline"_tn, destroy));
    gpu.reclaim();
    CHECK(calls == 6);
    gpu.on_pressure(listen);
    const tn::Buffer level = create_buffer(gpu, 7 << 20);
    gpu.set_memory_cap(0, 8 << 20);
    for (int count = 0; count < 64; ++count) {
        frame = gpu.begin_frame();
        std::move(frame).end();
    }
    CHECK(calls > 6);
    gpu.set_memory_cap(0, UINT64_MAX);
    gpu.on_pressure(no_listener);
}

static void pressure(const tn::Gpu& gpu) {
    int changes = 0;
    auto listener = [&](const tn_PressureChange& change) {
        CHECK(change.heap == 0);
        if (++changes == 1) fail("pressure");
    };
    gpu.on_pressure(listener);
    const tn::Buffer level = create_buffer(gpu, 7 << 20);
    gpu.set_memory_cap(0, 8 << 20);
    throws("pressure", [&] {
        for (int count = 0; count < 64; ++count) {
            tn::Frame frame = gpu.begin_frame();
            std::move(frame).end();
        }
    });
    gpu.set_memory_cap(0, UINT64_MAX);
    static const auto ignore = [](const tn_PressureChange&) {};
    gpu.on_pressure(ignore);
}

static bool is_log_failing = false;

int main() {
    int lines = 0;
    tn::set_log(TN_LOG_WARN, [&lines](tn_LogLevel, std::string_view line) {
        CHECK(!line.empty());
        ++lines;
        if (is_log_failing) fail("log");
    });
    const tn::Device device = tn::Device::simulated();
    {
        const tn::Gpu gpu = tn::Gpu::create(device);
        submissions(gpu);
        passes(gpu);
        destruction(gpu);
        late(gpu);
        functions(tn::Gpu::create(tn::Device::simulated()));
        pressure(gpu);
        throws("shutdown", [&] {
            gpu.release_after(gpu.submitted(), [] { fail("shutdown"); });
            static_cast<void>(gpu.shutdown());
        });
        CHECK(gpu.shutdown().empty());
    }
    CHECK(lines == 0);
    is_log_failing = true;
    tn::Gpu gpu = tn::Gpu::create(device);
    tn::Buffer left = create_buffer(gpu, 64);
    throws("log", [&] { tn::checked(tn_gpu_shutdown(gpu.raw(), nullptr, nullptr)); });
    CHECK(lines == 1);
    left.reset();
    gpu.reset();
    check_clean(device.raw());
    return 0;
}
