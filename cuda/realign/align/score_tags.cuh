// Tag bits below the scores of kernels that keep directions: a maximum also applies GATK's priority
// (diagonal, insertion, deletion; extending a gap before opening one) and records the source.

constexpr int kTagBits = 4;
constexpr int kTagMask = (1 << kTagBits) - 1;
constexpr int kDiagonal = 8, kInsertion = 4, kInsertionExtended = 2, kDeletionExtended = 1;
constexpr int kSource = kDiagonal | kInsertion;

// GATK's score of a gap before it is opened (hapgpu/realign/scoring.py).
constexpr int kUnreachable = -(1 << 30);

__device__ inline int without_tag(int tagged) { return tagged & ~kTagMask; }
__device__ inline long long without_tag(long long tagged) {
    return tagged & ~(long long)kTagMask;
}
