// The frame of the programs that compare managers in C++: rounds with as many resources for each of them, in turns.
//
// Without arguments such a program prints a line for each kind and manager, with nanoseconds: create, release, end of the frame,
// together. With a kind, a manager and a number of rounds it plays the rounds, for callgrind.
#pragma once

#include <tenure.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tn::literals;

constexpr std::uint32_t COUNT = 1000;
constexpr std::uint32_t WARM_UP = 5, ROUNDS = 101;
constexpr std::uint32_t BYTES = 4096, SIDE = 64;

/** Releases after a submission that may use the resources; the end of the frame frees their memory. */
template <class Resource>
class Tenure {
public:
    explicit Tenure(const tn::Gpu& gpu) : gpu_(gpu) {
        if constexpr (std::is_same_v<Resource, tn::Buffer>) {
            desc_.size = BYTES;
            desc_.usage = TN_USAGE_VERTEX | TN_USAGE_INDEX | TN_USAGE_COPY_DST;
        } else {
            desc_.format = TN_FORMAT_RGBA8_UNORM;
            desc_.width = desc_.height = SIDE;
            desc_.usage = TN_USAGE_SHADER_READ | TN_USAGE_COPY_DST;
        }
    }
    using Made = std::vector<Resource>;
    void begin() {
        frame_ = gpu_.begin_frame();
        recording_ = gpu_.record(TN_QUEUE_GRAPHICS, "uses them"_tn);
    }
    void create(Made& made) {
        if constexpr (std::is_same_v<Resource, tn::Buffer>) {
            made.push_back(gpu_.create_buffer(desc_));
        } else {
            made.push_back(gpu_.create_texture(desc_));
        }
    }
    void submit() { std::move(recording_).submit(); }
    void release(Made& made) { made.clear(); }
    void end() { std::move(frame_).end(); }

private:
    const tn::Gpu& gpu_;
    tn::Desc<std::conditional_t<std::is_same_v<Resource, tn::Buffer>, tn_BufferDesc, tn_TextureDesc>> desc_;
    tn::Frame frame_;
    tn::Recording recording_;
};

/** The nanoseconds of a call. callgrind counts inside of it. */
template <class Work>
[[gnu::noinline]] double measured(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/** A way to have resources, with as many others alive, so that blocks of memory are kept. */
class Rounds {
public:
    Rounds() = default;
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    virtual ~Rounds() = default;
    virtual void play() = 0;

    void print(const char* kind, const char* manager) {
        std::printf("%s|%s", kind, manager);
        for (std::vector<double>& times : times_) {
            times.erase(times.begin(), times.begin() + WARM_UP);
            std::sort(times.begin(), times.end());
            std::printf("|%.1f", times[times.size() / 2] / COUNT);
        }
        std::printf("\n");
    }

protected:
    std::array<std::vector<double>, 4> times_;
};

template <class Way>
class RoundsOf : public Rounds {
public:
    template <class... Manager>
    explicit RoundsOf(Manager&&... manager) : way_(std::forward<Manager>(manager)...) {
        made_.reserve(COUNT);
        for (std::uint32_t number = 0; number < COUNT; ++number) way_.create(kept_);
    }
    ~RoundsOf() override { way_.release(kept_); }
    void play() override {
        way_.begin();
        const double create = measured([this] {
            for (std::uint32_t number = 0; number < COUNT; ++number) way_.create(made_);
        });
        way_.submit();
        const double release = measured([this] { way_.release(made_); });
        const double end = measured([this] { way_.end(); });
        const double all[] = {create, release, end, create + release + end};
        for (std::size_t step = 0; step < times_.size(); ++step) times_[step].push_back(all[step]);
    }

private:
    Way way_;
    typename Way::Made kept_, made_;
};

struct Line {
    const char *kind, *manager;
    Rounds* rounds;
};

inline void play_lines(std::initializer_list<Line> lines, int count, char** arguments) {
    if (count == 4) {
        for (const Line& line : lines) {
            const bool is_wanted = arguments[1] == std::string_view(line.kind) && arguments[2] == std::string_view(line.manager);
            for (int round = is_wanted ? std::atoi(arguments[3]) : 0; round > 0; --round) line.rounds->play();
        }
        return;
    }
    for (std::uint32_t round = 0; round < WARM_UP + ROUNDS; ++round) {
        for (const Line& line : lines) line.rounds->play();
    }
    for (const Line& line : lines) line.rounds->print(line.kind, line.manager);
}

inline void print_leaks(const tn::Gpu& gpu) {
    const std::string left = gpu.shutdown();
    if (!left.empty()) std::fprintf(stderr, "%s\n", left.c_str());
}

/** The exit status of a program that runs this. */
inline int status_of(void (*run)(int, char**), int count, char** arguments) {
    try {
        run(count, arguments);
        return 0;
    } catch (const tn::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
