// A hit packed into a number, same as hapgpu/shortread/search/hits.py.

constexpr int kDistanceShift = 62, kStartShift = 30, kStrandShift = 29, kKindShift = 27;

enum Kind { kInsertion, kUngapped, kDeletion };

__device__ inline unsigned long long packed_hit(
    int distance, long long start, int strand, Kind kind, int error
) {
    typedef unsigned long long Number;
    return (Number)distance << kDistanceShift | (Number)start << kStartShift
        | (Number)strand << kStrandShift | (Number)kind << kKindShift | (Number)error;
}

__device__ inline int distance_of(unsigned long long hit) { return (int)(hit >> kDistanceShift); }

struct Hit {
    int distance;
    long long start;
    int strand, kind, error;

    __device__ explicit Hit(unsigned long long hit)
        : distance(distance_of(hit)),
          start(hit >> kStartShift & 0xffffffffu),
          strand(hit >> kStrandShift & 1),
          kind(hit >> kKindShift & 3),
          error(hit & ((1 << kKindShift) - 1)) {}
};
