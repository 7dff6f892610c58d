// The mappings to report with their qualities; same as hapgpu/longread/align/ranking.py.

#include "common/grid.cuh"
#include "longread/align/ranking.cuh"
#include "longread/align/rows.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpsPerBlock = 4;
constexpr int kMaxQuality = 60, kFullScore = 100, kFullCount = 10;

// What the C library computes: natural logarithms by score, and the qualities that secondaries
// cost, by their number; or both by the rows of the columns.
struct Logarithms {
    const float* of_scores;
    const unsigned char* costs;
    int are_by_row;
};

struct QualityRules {
    int all_chains, match, min_chain_score;
};

__device__ inline float unique_fraction_of(long long total, int repeat_length) {
    return (float)total / (float)max(total + repeat_length, 1ll);
}

__device__ inline float weight_of(int score, int count, float unique_fraction) {
    const float by_score = score > kFullScore ? 1.0f : 0.01f * (float)score;
    const float by_count = count > kFullCount ? 1.0f : 0.1f * (float)count;
    return min(by_score * unique_fraction, by_count);
}

// The integer part; the lowest integer for numbers out of range, as on x86.
__device__ inline long long truncated(float value) {
    return fabsf(value) < 0x1p63f ? (long long)value : (long long)(1ull << 63);
}

// Quality of a primary mapping.
__device__ inline int quality_of(
    const Mapping& mapping, float unique_fraction, float logarithm, int cost,
    const QualityRules& rules
) {
    const float identity = (float)mapping.matches / (float)mapping.length;
    const float weight = weight_of(mapping.score, mapping.anchors, unique_fraction);
    const float scale = identity * weight * 40.0f;
    const int dp_max = mapping.dp_max, second = mapping.second_dp_max;
    const float chain_score = (float)max(mapping.second_score, rules.min_chain_score);
    long long quality;
    if (second > 0 && dp_max > 0) {
        const float ratio =
            (float)second * chain_score / (float)dp_max / (float)mapping.first_score;
        quality = truncated(scale * (1.0f - ratio * ratio) * logarithm);
        const float per_match = 6.02f * identity * identity;
        const float difference = per_match * (float)(dp_max - second) / (float)rules.match;
        quality = min(quality, truncated(difference + 0.499f));
    } else {
        const float distinctness = 1.0f - chain_score / (float)mapping.first_score;
        quality = truncated(scale * distinctness * logarithm);
    }
    quality = (long long)((Word)quality - (Word)cost);
    quality = min(max(quality, 0ll), (long long)kMaxQuality);
    return max((int)quality, (int)(dp_max > second));
}

}  // namespace

// Writes the selected mappings of each read, with quality 0 of inversions; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) write_ranked(
    const Mapping* mappings, const long long* offsets, const int* repeat_lengths, int* columns,
    int count, int reads, const __grid_constant__ QualityRules rules,
    const __grid_constant__ Logarithms logarithms, const long long* ranked_offsets, Mapping* ranked
) {
    for (int read = first_warp(); read < reads; read += all_warps()) {
        const long long first = offsets[read];
        const ReadColumns own{columns, count, first};
        Mapping* const out = ranked + ranked_offsets[read];
        const int kept = (int)(ranked_offsets[read + 1] - ranked_offsets[read]);
        long long total = 0;
        for (int number = lane_id(); number < kept; number += kWarpLanes) {
            const int row = own.of(kKept)[number];
            Mapping& mapping = out[number];
            mapping = mappings[first + own.of(kChain)[row]];
            mapping.dp_max = own.of(kDpMax)[row];
            mapping.second_dp_max = own.of(kSecondDpMax)[row];
            mapping.second_score = own.of(kSecondScores)[row];
            mapping.n_sub = own.of(kNSub)[row];
            mapping.quality = mapping.is_first_primary = 0;
            if (!rules.all_chains) {
                mapping.number = number;
                mapping.parent = own.of(kNumbers)[number];
                mapping.is_first_primary = number == 0;  // the best mapping is primary
            }
            if (mapping.parent == mapping.number) total += mapping.score;
        }
        const float unique_fraction = unique_fraction_of(warp_sum(total), repeat_lengths[read]);
        for (int number = lane_id(); number < kept; number += kWarpLanes) {
            Mapping& mapping = out[number];  // written by this lane
            if (mapping.parent != mapping.number || mapping.is_inversion) continue;
            const long long row = first + own.of(kKept)[number];
            const bool is_by_row = logarithms.are_by_row;
            const float logarithm = logarithms.of_scores[is_by_row ? row : mapping.dp_max];
            const int cost = logarithms.costs[is_by_row ? row : mapping.n_sub];
            mapping.quality = quality_of(mapping, unique_fraction, logarithm, cost, rules);
        }
    }
}
