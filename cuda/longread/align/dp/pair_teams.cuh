// Threads that align one pair together, and what they share.

template <int kWarps>
struct Team {
    static constexpr int kThreads = kWarps * kWarpLanes;

    __device__ static int rank() { return kWarps == 1 ? lane_id() : threadIdx.x; }

    __device__ static void wait() {
        if (kWarps == 1) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};

// What threads tell each other. Numbers of an antidiagonal are written before the threads wait, and
// read after that until they wait again; the next one has other numbers.
template <int kWarps>
struct Exchange {
    long long chunks[2];
    int best[2][kWarps], ranks[2][kWarps];  // per warp: highest score, and its rank among equals
    int corners[2];   // the score that the last lane's one is derived from
    int steps[2][2];  // v and u of the next lanes of a path
    int item;
};

// Numbers of the lanes, each modulo the size of the ring: a power of two.
struct Ring {
    unsigned* memory;
    int size;

    __device__ int at(int t) const { return t & size - 1; }
    __device__ unsigned* vx(int parity) const { return memory + parity * size; }
    __device__ unsigned& uy(int t) const { return memory[2 * size + (t & size - 1)]; }
    __device__ int& score(int t) const { return (int&)memory[3 * size + (t & size - 1)]; }
};

constexpr int kRingArrays = 4;
constexpr int kRingMargin = 2 * kBlockLanes;  // lanes before and after an antidiagonal
