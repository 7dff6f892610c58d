// Genotype likelihoods of sites: the same as hapgpu/genotyping/calls/likelihoods.py, and the choice
// of fragments of hapgpu/genotyping/reads/spanning.py, with the same operations in float64. A
// warp per site and sample; lanes share the alleles and the genotypes.

#include "common/arithmetic.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"
#include "genotyping/impossible.cuh"

namespace {

constexpr double kMinSpanningFraction = 0.1, kClearlyBetter = 0.2, kWorstDifference = -4.5;
constexpr double kNearlyUnderflowing = 1e-200;
constexpr int kNoAllele = -1;

// A fragment is used if one of its clipped reads starts at `latest_start` or before and ends at
// `earliest_end` or after.
struct Requirement {
    long long latest_start, earliest_end;
};

// Columns of DeviceEvidence of hapgpu/genotyping/reads/cuda/evidence.py: the clipped reads of each
// fragment, and their likelihoods. The fragments of a locus and a sample are
// bounds[locus * samples + sample] to the next bound.
struct Fragments {
    const long long* offsets;
    const long long* part_starts;
    const long long* part_ends;
    const long long* likelihood_offsets;
    const double* likelihoods;
    const long long* bounds;

    __device__ bool fulfils(long long fragment, const Requirement& required) const {
        for (long long part = offsets[fragment]; part < offsets[fragment + 1]; ++part) {
            if (part_starts[part] <= required.latest_start
                && part_ends[part] >= required.earliest_end) {
                return true;
            }
        }
        return false;
    }
    __device__ const double* row(long long fragment) const {
        return likelihoods + likelihood_offsets[offsets[fragment]];
    }
};

// Sites in the order of their loci; locus k has the sites offsets[k] to offsets[k + 1]. Fragments
// span a site if they fulfil the first requirement, and overlap its shift range by the second.
struct Sites {
    const int* loci;
    const long long* offsets;
    const long long* spanning_starts;
    const long long* spanning_ends;
    const long long* shift_starts;
    const long long* shift_ends;
};

// The haplotypes of locus k are offsets[k] to offsets[k + 1]; a row has the alleles of a haplotype
// at the sites of its locus.
struct Haplotypes {
    const long long* offsets;
    Rows<short> alleles;
};

// Columns of SiteLikelihoods of hapgpu/genotyping/batches.py. Rows are sites and samples.
struct Totals {
    int* depths;
    int* allele_depths;
    const long long* depth_offsets;
    double* genotypes;
    const long long* genotype_offsets;
    int rows;
};

// The allele of each haplotype of a locus at one site.
struct Carried {
    const short* alleles;
    int haplotypes, sites;

    __device__ int of(int haplotype) const { return alleles[(long long)haplotype * sites]; }

    __device__ bool is_informative() const {
        for (int k = 1; k < haplotypes; ++k) {
            if (of(k) != of(0)) return true;
        }
        return false;
    }
};

// Counts the fragments that fulfil a requirement; called by all lanes.
__device__ inline long long count_fulfilling(
    const Fragments& fragments, long long first, long long last, const Requirement& required
) {
    long long count = 0;
    for (long long base = first; base < last; base += kWarpLanes) {
        const long long fragment = base + lane_id();
        const bool counts = fragment < last && fragments.fulfils(fragment, required);
        count += __popc(__ballot_sync(kAllLanes, counts));
    }
    return count;
}

// Sets `weights` to the likelihood of each allele relative to the best, not log10. Returns the
// log10 likelihood of the best allele; `supported` becomes the allele that the fragment supports.
__device__ inline double set_weights(
    const double* likelihoods, const Carried& carried, double* weights, int alleles, int& supported
) {
    for (int allele = lane_id(); allele < alleles; allele += kWarpLanes) {
        double best = impossible();
        for (int k = 0; k < carried.haplotypes; ++k) {
            if (carried.of(k) == allele) best = fmax(best, likelihoods[k]);
        }
        weights[allele] = best;
    }
    __syncwarp();
    double best = impossible(), second = impossible();
    supported = kNoAllele;
    for (int allele = 0; allele < alleles; ++allele) {
        const double value = weights[allele];
        if (value > best) {
            second = best;
            best = value;
            supported = allele;
        } else {
            second = fmax(second, value);
        }
    }
    __syncwarp();
    for (int allele = lane_id(); allele < alleles; allele += kWarpLanes) {
        const double value = weights[allele];
        const double below = value == impossible() ? kWorstDifference : __dsub_rn(value, best);
        weights[allele] = power_of_10(below);
    }
    __syncwarp();
    if (!(__dsub_rn(best, second) > kClearlyBetter)) supported = kNoAllele;
    return best;
}

// Multiplies the product of each genotype by the likelihood of a fragment.
__device__ inline void multiply(
    const double* weights, const short* table, int ploidy, double* products, double* likelihoods,
    int genotypes
) {
    for (int genotype = lane_id(); genotype < genotypes; genotype += kWarpLanes) {
        double total = 0.0;
        for (int copy = 0; copy < ploidy; ++copy) {
            total = __dadd_rn(total, weights[table[genotype * ploidy + copy]]);
        }
        double product = __dmul_rn(products[genotype], __ddiv_rn(total, (double)ploidy));
        if (product < kNearlyUnderflowing) {
            likelihoods[genotype] = __dadd_rn(likelihoods[genotype], log10_scaled(product, 0));
            product = 1.0;
        }
        products[genotype] = product;
    }
    __syncwarp();  // before the weights of the next fragment
}

}  // namespace

// Adds the fragments of each sample to the totals of each site, in their order; the totals are
// zeros before. `weights` has room for a number per allele depth, `products` for one per genotype.
extern "C" __global__ void __launch_bounds__(128, 4) add_fragments(
    Fragments fragments, Sites sites, Haplotypes haplotypes, const short* table, double* weights,
    double* products, Totals totals, int samples, int ploidy
) {
    for (int row = first_warp(); row < totals.rows; row += all_warps()) {
        const int site = row / samples, sample = row - site * samples, locus = sites.loci[site];
        const long long* bounds = fragments.bounds + (long long)locus * samples + sample;
        const long long first = bounds[0], last = bounds[1];
        const long long haplotype = haplotypes.offsets[locus], site_offset = sites.offsets[locus];
        const Carried carried = {
            haplotypes.alleles.at(haplotype) + (site - site_offset),
            (int)(haplotypes.offsets[locus + 1] - haplotype),
            (int)(sites.offsets[locus + 1] - site_offset)
        };
        const Requirement spanning = {sites.spanning_starts[site], sites.spanning_ends[site]};
        const Requirement overlapping = {sites.shift_ends[site] - 1, sites.shift_starts[site] + 1};
        const long long spans = count_fulfilling(fragments, first, last, spanning);
        const long long overlaps = count_fulfilling(fragments, first, last, overlapping);
        const bool is_enough = (double)spans >= __dmul_rn(kMinSpanningFraction, (double)overlaps);
        const Requirement required = is_enough ? spanning : overlapping;
        if (lane_id() == 0) totals.depths[row] = (int)(is_enough ? spans : overlaps);

        const long long depth_row = totals.depth_offsets[row];
        const long long genotype_row = totals.genotype_offsets[row];
        const int allele_count = (int)(totals.depth_offsets[row + 1] - depth_row);
        const int genotype_count = (int)(totals.genotype_offsets[row + 1] - genotype_row);
        double* genotypes = totals.genotypes + genotype_row;
        if (!carried.is_informative()) continue;
        double* own_products = products + genotype_row;
        for (int k = lane_id(); k < genotype_count; k += kWarpLanes) own_products[k] = 1.0;
        __syncwarp();
        double best_alleles = 0.0;
        for (long long fragment = first; fragment < last; ++fragment) {
            if (!fragments.fulfils(fragment, required)) continue;
            int supported;
            const double best = set_weights(
                fragments.row(fragment), carried, weights + depth_row, allele_count, supported
            );
            best_alleles = __dadd_rn(best_alleles, best);
            if (supported != kNoAllele && lane_id() == 0) {
                ++totals.allele_depths[depth_row + supported];
            }
            multiply(
                weights + depth_row, table, ploidy, own_products, genotypes, genotype_count
            );
        }
        for (int k = lane_id(); k < genotype_count; k += kWarpLanes) {
            const double rest = __dadd_rn(best_alleles, log10_scaled(own_products[k], 0));
            genotypes[k] = __dadd_rn(genotypes[k], rest);
        }
    }
}
