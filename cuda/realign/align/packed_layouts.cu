// Layouts of pairs on the lanes of end_cells.cu (hapgpu/realign/align/cuda/packed_layouts.py).

#include "common/grid.cuh"

namespace {

// Instructions of a lane per cell of two pairs, and per row, counted in the machine code for sm_90.
constexpr int kCellCost = 8, kRowCost = 15;
constexpr int kMostLanes = 32;
// Groups of fewer lanes are so many that codes and borders do not fit the cache of a multiprocessor:
// 100 x 350 is slower with 4 lanes than with 8.
constexpr int kFewestLanes = 8;
// Bits of the number of a launch, from below: class of the references, and of the number of lanes;
// columns per lane; stripes.
constexpr int kLanesAt = 6, kColumnsAt = 9, kStripesAt = 14, kLaunchBits = 31;

struct Layout {
    int columns, lanes_class, stripes;
};

__device__ inline int up(int number, int by) { return (number + by - 1) / by; }

// Returns the layout with the fewest instructions: without stripes, if one is; else of most lanes.
__device__ inline Layout choose_layout(int columns, int rows, int max_columns) {
    Layout best = {};
    long long lowest = 0;
    const int first = columns < kFewestLanes ? 0 : 31 - __clz(kFewestLanes);
    for (int k = first; 1 << k <= min(columns, kMostLanes); ++k) {
        const int lanes = 1 << k, stripes = up(columns, lanes * max_columns);
        const Layout layout = {up(columns, lanes * stripes), k, stripes};
        const long long cost =
            (long long)lanes * (rows + lanes - 1) * (kCellCost * layout.columns + kRowCost);
        if (stripes > 1 || best.stripes != 1 || cost < lowest) {
            best = layout;
            lowest = cost;
        }
    }
    return best;
}

}  // namespace

// Writes a number for each pair, by which pairs are sorted: above, a launch, 0 for pairs of more
// than max_bases; below, a number that is lower for a longer reference. A key of `pair_sizes` has
// the number of query bases above the class of the reference length.
extern "C" __global__ void packed_layouts(
    const long long* keys, const int* rows, int count, int classes, int max_columns, int max_bases,
    long long* numbers
) {
    for (int p = first_thread(); p < count; p += all_threads()) {
        const long long columns = keys[p] / classes;
        const int rows_class = (int)(keys[p] % classes);
        long long launch = 0;
        if (columns + rows[p] <= max_bases) {
            const Layout layout = choose_layout((int)columns, 1 << rows_class, max_columns);
            launch = (1ll << kLaunchBits) - 1 -
                     (rows_class | layout.lanes_class << kLanesAt | layout.columns << kColumnsAt |
                      layout.stripes << kStripesAt);
        }
        numbers[p] = launch << 32 | (0xffffffffu - rows[p]);
    }
}
