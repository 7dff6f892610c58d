// What kernels need of CUDA, on a CPU. The threads of a block are fibers of one thread: one runs until
// it waits for others, at a barrier or an exchange between lanes, then the next one runs. Blocks run
// one after the other. So results are the same each time; races are not found.

#pragma once

#include <setjmp.h>
#include <ucontext.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

using std::isfinite;
using std::max;
using std::min;

#define __CUDA_ARCH__ 700
#define __device__
#define __global__
#define __grid_constant__
#define __host__
#define __launch_bounds__(...)
#define __noinline__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

constexpr int kFiberBytes = 1 << 16, kLanes = 32, kMostWarps = 32;

struct Index {
    int x;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};

// A fiber lasts: it runs one thread after another.
struct Fiber {
    std::unique_ptr<char[]> stack{new char[kFiberBytes]};
    jmp_buf waiting;
    bool has_started = false, has_ended = false;
};

// A barrier that threads pass together.
struct Barrier {
    int arrived = 0, passed = 0;
};

inline Index threadIdx, blockIdx, blockDim, gridDim;
inline std::vector<Fiber> fibers;
inline jmp_buf scheduler;
inline std::function<void()> kernel;
inline Barrier block_barrier, warp_barriers[kMostWarps];
inline unsigned long long exchanged[kMostWarps][2][kLanes];

inline int warp() { return threadIdx.x / kLanes; }
inline int lane() { return threadIdx.x % kLanes; }

// Jumps make no system call, unlike `swapcontext`. Nothing is inlined across them.
__attribute__((noinline)) inline void let_others_run() {
    if (!_setjmp(fibers[threadIdx.x].waiting)) _longjmp(scheduler, 1);
}

inline void wait_at(Barrier& barrier, int threads) {
    const int before = barrier.passed;
    if (++barrier.arrived == threads) {
        barrier.arrived = 0;
        ++barrier.passed;
    }
    while (barrier.passed == before) let_others_run();
}

inline void run_fiber() {
    for (;;) {
        kernel();
        fibers[threadIdx.x].has_ended = true;
        let_others_run();
    }
}

inline void start(Fiber& fiber) {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kFiberBytes;
    context.uc_link = nullptr;
    makecontext(&context, run_fiber, 0);
    fiber.has_started = true;
    setcontext(&context);
}

// Runs the thread until it waits or ends.
__attribute__((noinline)) inline void run_thread(Fiber& fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.has_started) _longjmp(fiber.waiting, 1);
    start(fiber);
}

inline void launch(int blocks, int threads, std::function<void()> body) {
    kernel = std::move(body);
    gridDim.x = blocks;
    blockDim.x = threads;
    if (int(fibers.size()) < threads) fibers.resize(threads);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        for (Fiber& fiber : fibers) fiber.has_ended = false;
        for (int running = threads; running;) {
            running = 0;
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
                Fiber& fiber = fibers[threadIdx.x];
                if (fiber.has_ended) continue;
                run_thread(fiber);
                running += !fiber.has_ended;
            }
        }
    }
}

// As `launch`, with subnormal numbers treated as 0, on processors that can.
inline void launch_flushing(int blocks, int threads, std::function<void()> body) {
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040);
    launch(blocks, threads, body);
    _mm_setcsr(control);
#else
    launch(blocks, threads, body);
#endif
}

inline void __syncthreads() { wait_at(block_barrier, blockDim.x); }
inline void __syncwarp(unsigned = 0) { wait_at(warp_barriers[warp()], kLanes); }

inline int __syncthreads_or(int value) {
    static bool any[2];
    static int turn;
    __syncthreads();
    if (threadIdx.x == 0) any[turn ^= 1] = false;
    __syncthreads();
    const int own = turn;
    if (value) any[own] = true;
    __syncthreads();
    return any[own];
}

// Calls `use` with the values of all lanes. The next exchange has the other half of `exchanged`, and
// the exchange after it comes when all lanes have used these values.
template <typename Value, typename Use>
auto of_all_lanes(Value value, Use use) {
    unsigned long long* values = exchanged[warp()][warp_barriers[warp()].passed % 2];
    values[lane()] = 0;
    memcpy(&values[lane()], &value, sizeof value);
    __syncwarp();
    return use(values);
}

template <typename Value>
Value of_lane(Value value, int from) {
    return of_all_lanes(value, [=](const unsigned long long* values) {
        Value other;
        memcpy(&other, &values[from], sizeof other);
        return other;
    });
}

template <typename Value>
Value __shfl_sync(unsigned, Value value, int from) {
    return of_lane(value, from % kLanes);
}
template <typename Value>
Value __shfl_xor_sync(unsigned, Value value, int distance) {
    return of_lane(value, lane() ^ distance);
}
template <typename Value>
Value __shfl_up_sync(unsigned, Value value, int distance) {
    return of_lane(value, lane() < distance ? lane() : lane() - distance);
}
template <typename Value>
unsigned __match_any_sync(unsigned, Value value) {
    return of_all_lanes(value, [](const unsigned long long* values) {
        unsigned lanes = 0;
        for (int k = 0; k < kLanes; ++k) lanes |= (values[k] == values[lane()]) << k;
        return lanes;
    });
}
inline unsigned __ballot_sync(unsigned, bool value) {
    return of_all_lanes(value, [](const unsigned long long* values) {
        unsigned lanes = 0;
        for (int k = 0; k < kLanes; ++k) lanes |= unsigned(values[k] != 0) << k;
        return lanes;
    });
}
inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value); }
inline bool __all_sync(unsigned mask, bool value) { return !__any_sync(mask, !value); }

inline int __ffs(unsigned value) { return __builtin_ffs(value); }
inline int __ffsll(unsigned long long value) { return __builtin_ffsll(value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __clz(unsigned value) { return value ? __builtin_clz(value) : 32; }
inline int __clzll(unsigned long long value) { return value ? __builtin_clzll(value) : 64; }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    const unsigned bits = shift % 32;
    return bits ? low >> bits | high << (32 - bits) : low;
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selectors) {
    const unsigned long long bytes = low | (unsigned long long)high << 32;
    unsigned result = 0;
    for (int k = 0; k < 4; ++k) {
        result |= (unsigned)(bytes >> 8 * (selectors >> 4 * k & 7) & 255) << 8 * k;
    }
    return result;
}
inline unsigned __brev(unsigned value) {
    unsigned reversed = 0;
    for (int k = 0; k < 32; ++k) reversed |= (value >> k & 1) << (31 - k);
    return reversed;
}
inline float __fsub_rn(float one, float other) { return one - other; }
inline float __fmul_rn(float one, float other) { return one * other; }
inline float __fdiv_rn(float one, float other) { return one / other; }
inline double __dadd_rn(double one, double other) { return one + other; }
inline double __dsub_rn(double one, double other) { return one - other; }
inline double __dmul_rn(double one, double other) { return one * other; }
inline double __ddiv_rn(double one, double other) { return one / other; }
inline int __float_as_int(float value) {
    int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __int_as_float(int bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline double __longlong_as_double(long long bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline long long __double_as_longlong(double value) {
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

template <typename Value, typename Other>
Value atomicAdd(Value* at, Other value) {
    const Value before = *at;
    *at += value;
    return before;
}
inline int atomicMax(int* at, int value) {
    const int before = *at;
    *at = max(before, value);
    return before;
}
inline int atomicExch(int* at, int value) { return std::exchange(*at, value); }
inline int atomicCAS(int* at, int expected, int value) {
    const int before = *at;
    if (before == expected) *at = value;
    return before;
}
inline unsigned atomicOr(unsigned* at, unsigned value) {
    const unsigned before = *at;
    *at |= value;
    return before;
}

// An argument that converts to whatever pointer a kernel takes.
struct Pointer {
    void* address;

    template <typename Value>
    operator Value*() const {
        return static_cast<Value*>(address);
    }
};

// An argument that converts to whatever struct a kernel takes.
struct Value {
    const void* address;

    template <typename Struct>
    operator Struct() const {
        return *static_cast<const Struct*>(address);
    }
};
