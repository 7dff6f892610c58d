// Pairs to align, and the memory of their directions: hapgpu/longread/cuda/align/pairs.py.

// A pair: its band, and how its directions lie in memory. Each antidiagonal has `stride` bytes, and
// 2^shift antidiagonals are a chunk. `width` is that of a narrow band, 0 for the band of the piece.
struct PairJob {
    int lowest, highest, leaks, width, stride, shift;
};

static_assert(sizeof(PairJob) == 24, "as in NumPy");

struct PairJobs {
    const PairJob* jobs;
    const long long* rows;           // of the pieces
    const long long* chunk_offsets;  // into `Pool.chunks`
    int* widths;
    int* states;
    long long* operation_starts;  // in words of the pool
    long long* operation_counts;  // one more than there are jobs, the first is 0
    int count;
};

// States of a pair: aligned; no memory was left; the narrow band was not certified.
constexpr int kAligned = 0, kNoRoom = 1, kUncertified = 2;

constexpr int kUnknownWidth = -1;
constexpr int kOneChunk = 30;  // shift of a pair with one chunk
constexpr int kChunkBytes = 1 << 16, kUnitBytes = 16;

__device__ inline long long whole_units(long long bytes) {
    return (bytes + kUnitBytes - 1) & -kUnitBytes;
}

__device__ inline long long chunk_bytes(const PairJob& job, int antidiagonals) {
    const long long rows = job.shift == kOneChunk ? antidiagonals : 1 << job.shift;
    return whole_units(rows * job.stride);
}

// Memory that pairs take as they need it.
struct Pool {
    unsigned char* bytes;
    unsigned long long* used;
    long long* chunks;  // offsets in `bytes`
    long long size;

    // Returns the offset of some memory, -1 if none is left. Called by one thread.
    __device__ long long taken(long long count) const {
        const long long at = (long long)atomicAdd(used, (unsigned long long)count);
        return at + count <= size ? at : -1;
    }
};

// The options of a piece: hapgpu/longread/align/cpu.py.
struct PairOptions {
    bool is_exact, is_extension, is_left;
    int drop, end_bonus;
};

__device__ inline PairOptions options_of(int kind, int drop, int end_bonus) {
    const bool has_bonus = kind == kLeft || kind == kRight;
    const bool is_extension = has_bonus || kind == kInversion;
    return {kind != kFill, is_extension, kind == kLeft, drop, has_bonus ? end_bonus : -1};
}

// A sequence, from its last code on if it is read backwards.
struct Codes {
    const unsigned char* first;
    int step, length;

    __device__ Codes(const unsigned char* codes, int length, bool is_backwards)
        : first(is_backwards ? codes + length - 1 : codes),
          step(is_backwards ? -1 : 1),
          length(length) {}

    __device__ bool is_inside(int k) const { return (unsigned)k < (unsigned)length; }

    // Beyond the ends minimap2 has zeros.
    __device__ int at(int k) const { return is_inside(k) ? first[step * k] : 0; }

    // The code at k, or at the end nearest to k.
    __device__ int near(int k) const { return first[step * min(max(k, 0), length - 1)]; }
};
