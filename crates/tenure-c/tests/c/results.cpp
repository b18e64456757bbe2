/* C++ without exceptions: calls return results. */
#include "check.h"

#include "tenure_vulkan.hpp"

using namespace tn::literals;

static void resources(const tn::Gpu& gpu) {
    tn::Desc<tn_BufferDesc> desc;
    desc.size = 256;
    desc.usage = TN_USAGE_COPY_SRC | TN_USAGE_COPY_DST;
    desc.memory = TN_MEMORY_UPLOAD;
    desc.name = "rock"_tn;
    tn::Result<tn::Buffer> made = gpu.create_buffer(desc);
    CHECK(made && made.status() == TN_OK && made->name() == "rock");
    const tn::Buffer rock = *std::move(made);
    CHECK(rock.write(0, "abcd", 4));
    CHECK(rock.place()->size == 256);

    tn::Result<tn::Recording> recording = gpu.record(TN_QUEUE_GRAPHICS, "copy"_tn);
    CHECK(recording && recording->use({tn::use(rock, TN_STATE_COPY_SRC)}));
    const std::uint32_t indices[] = {1, 2};
    CHECK(recording->constants(indices)->size == sizeof indices);
    CHECK(*tn::vk<std::uint64_t>(*recording) == *recording->native());
    const tn::Result<tn::Readback> readback = recording->read_back(tn::part(rock, 0, 4));
    const tn::Result<tn_SyncPoint> done = std::move(*recording).submit();
    CHECK(done && *gpu.wait(*done));
    const auto bytes = readback->wait();
    CHECK(bytes.ok() && *bytes && (**bytes)[3] == 'd');
}

/* An error has its status and text, and an empty value, whose calls fail, too. */
static void errors(const tn::Gpu& gpu) {
    tn::Desc<tn_BufferDesc> desc;
    // The text is that of the call, also where it would have made a text.
    CHECK(gpu.report(99).status() == TN_ERROR_ENUM && contains(tn_last_error(), "report"));
    const tn::Result<tn::Buffer> refused = gpu.create_buffer(desc);
    CHECK(!refused && refused.status() == TN_ERROR_DEVICE && !*refused);
    CHECK(tn::view(tn_last_error()).find("size") != std::string_view::npos);
    CHECK(refused->place().status() == TN_ERROR_HANDLE);
    CHECK(refused->write(0, "x", 1).status() == TN_ERROR_HANDLE);
    CHECK(tn::vk<std::uint64_t>(tn::Texture()).status() == TN_ERROR_HANDLE);
    CHECK(tn::device_from_vk(tn::Desc<tn_VkDeviceDesc>()).status() < 0);

    const auto general = tn::Suballocator::create(TN_SUBALLOCATOR_GENERAL, 1024);
    CHECK(general->allocate(2048, 1).status() == TN_ERROR_TOO_LARGE);
    CHECK(*general->allocate(1024, 1));
    const auto full = general->allocate(16, 1);
    CHECK(full.status() == TN_NOT_READY && !*full);
    CHECK(general->allocate(16, 3).status() == TN_ERROR_ARGUMENT);

    bool is_destroyed = false;
    CHECK(!gpu.release_after(tn_SyncPoint{{9}, 0, 0}, [&] { is_destroyed = true; }));
    CHECK(gpu.release_after(*gpu.submitted(), [&] { is_destroyed = true; }) && gpu.reclaim());
    CHECK(is_destroyed);
}

static int submissions = 0;
static void submit(tn_Native) { ++submissions; }

/* A callback returns nothing or a status. */
static void callbacks(const tn::Gpu& gpu) {
    int calls = 0;
    CHECK(gpu.submit_external(TN_QUEUE_GRAPHICS, tn_SyncPoint{}, [&](tn_Native) { ++calls; }));
    const auto failed = gpu.submit_external(TN_QUEUE_GRAPHICS, tn_SyncPoint{}, [&](tn_Native) { return gpu.set_memory_cap(99, 0); });
    CHECK(failed.status() == TN_ERROR_CALLBACK);
    const auto refused = gpu.submit_external(TN_QUEUE_GRAPHICS, tn_SyncPoint{}, [&](tn_Native) -> tn_Status {
        ++calls;
        return TN_ERROR_DEVICE;
    });
    CHECK(calls == 2 && refused.status() == TN_ERROR_DEVICE);
    CHECK(gpu.submit_external(TN_QUEUE_GRAPHICS, tn_SyncPoint{}, submit) && submissions == 1);
}

int main() {
    const tn::Result<tn::Device> device = tn::Device::simulated();
    {
        const tn::Result<tn::Gpu> gpu = tn::Gpu::create(*device, {{"frames.in_flight"_tn, 2}});
        CHECK(gpu);
        resources(*gpu);
        errors(*gpu);
        callbacks(*gpu);
        CHECK(gpu->shutdown()->empty());
    }
    check_clean(device->raw());
    return 0;
}
