// Pairs for local alignment, in the order of hapgpu/longread/cuda/align/local.py.

// Parts of a read and of the reference; `boundary` is the first of `target_length` words in the
// scratch memory of wide pairs.
struct LocalPair {
    long long query_start, target_start, boundary;
    int query_length, target_length;
    int row, unused;
};

static_assert(sizeof(LocalPair) == 40, "as in NumPy");

// Columns of the query that a thread block aligns at a time.
constexpr int kPassColumns = 1024;

// List of pairs that threads append to; `counters`: number of pairs, words of scratch memory.
struct PairList {
    LocalPair* pairs;
    unsigned long long* counters;

    __device__ void add(LocalPair pair) const {
        if (pair.query_length > kPassColumns) {
            pair.boundary = (long long)atomicAdd(
                &counters[1], (unsigned long long)pair.target_length
            );
        }
        pairs[atomicAdd(&counters[0], 1ull)] = pair;
    }
};
