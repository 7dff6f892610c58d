// CIGARs made element by element, by the rules of GATK's CigarBuilder: the same as
// hapgpu/cigar/builder.py, a thread per CIGAR.

#include "cigar/operations.cuh"

// Elements of a CIGAR in the memory of one thread. The memory of all threads is interleaved, so
// that neighbouring threads at the same element use neighbouring words.
struct Elements {
    long long* first;
    long long step;

    __device__ long long& operator[](long long k) const { return first[k * step]; }
    __device__ Elements from(long long k) const { return {first + k * step, step}; }
};

// `size` elements of 64 bits in the memory of a thread, or of 32 bits of a BAM record.
struct Built {
    Elements elements;
    long long size;

    __device__ long long operator[](long long k) const { return elements[k]; }
};

struct Stored {
    const unsigned* elements;
    long long size;

    __device__ long long operator[](long long k) const { return elements[k]; }
};

template <typename Cigar>
__device__ inline long long query_length(const Cigar& cigar) {
    long long length = 0;
    for (long long k = 0; k < cigar.size; ++k) {
        if (consumes_query(operation_of(cigar[k]))) length += length_of(cigar[k]);
    }
    return length;
}

// Returns the bases of the reference that the first `count` elements span.
template <typename Cigar>
__device__ inline long long reference_length(const Cigar& cigar, long long count) {
    long long length = 0;
    for (long long k = 0; k < count; ++k) {
        if (consumes_reference(operation_of(cigar[k]))) length += length_of(cigar[k]);
    }
    return length;
}

// Neighbours of the same operation merge, a deletion goes before an adjacent insertion, and
// deletions at the ends of the aligned part are dropped and counted, unless the ends are pinned.
class CigarBuilder {
public:
    long long leading_removed, trailing_removed;

    // The memory has room for all elements added.
    __device__ __forceinline__ explicit CigarBuilder(const Elements& memory, bool keeps_ends = false)
        : leading_removed(0),
          trailing_removed(0),
          elements_(memory),
          count_(0),
          last_(kNone),
          section_(kLeftHard),
          keeps_ends_(keeps_ends),
          is_broken_(false) {}

    // Appends an element, which may merge with the last element or move before it.
    __device__ __forceinline__ void add(long long length, int operation) {
        if (length == 0) return;
        if (operation == kD && !keeps_ends_ && is_at_start()) {
            leading_removed += length;
            return;
        }
        enter_section(operation);
        if (operation == last_) {
            elements_[count_ - 1] += length << 4;
        } else if (is_clip(operation) && last_ != kNone) {
            add_clip(length, operation);
        } else if (operation == kD && last_ == kI) {
            add_deletion_before_insertion(length);
        } else {
            append(length, operation);
        }
    }

    template <typename Cigar>
    __device__ __forceinline__ void add_all(const Cigar& cigar) {
        for (long long k = 0; k < cigar.size; ++k) {
            const long long element = cigar[k];
            add(length_of(element), operation_of(element));
        }
    }

    // Drops deletions at the end; returns whether the CIGAR is valid and not empty.
    __device__ __forceinline__ bool finish() {
        if (section_ == kLeftSoft && operation_of(elements_[0]) == kS) return false;  // all clipped
        if (!keeps_ends_) {
            if (last_ == kD) {
                trailing_removed += length_of(elements_[count_ - 1]);
                --count_;
            } else if (ends_in_deletion_and_insertion()) {
                trailing_removed += length_of(elements_[count_ - 2]);
                elements_[count_ - 2] = elements_[count_ - 1];
                --count_;
            }
        }
        return count_ > 0 && !is_broken_;
    }

    __device__ __forceinline__ Built built() const { return {elements_, count_}; }

private:
    enum Section { kLeftHard, kLeftSoft, kMiddle, kRightSoft, kRightHard };
    static constexpr int kNone = -1;

    Elements elements_;
    long long count_;
    int last_;  // operation
    int section_;
    bool keeps_ends_, is_broken_;

    __device__ __forceinline__ void append(long long length, int operation) {
        elements_[count_] = length << 4 | operation;
        ++count_;
        last_ = operation;
    }

    // Tells whether only clips, or clips and one insertion, were added.
    __device__ __forceinline__ bool is_at_start() const {
        if (last_ == kNone || is_clip(last_)) return true;
        return last_ == kI && (count_ == 1 || is_clip(operation_of(elements_[count_ - 2])));
    }

    __device__ __forceinline__ bool ends_in_deletion_and_insertion() const {
        return last_ == kI && count_ >= 2 && operation_of(elements_[count_ - 2]) == kD;
    }

    __device__ __forceinline__ void add_clip(long long length, int operation) {
        if (!keeps_ends_ && !consumes_query(last_) && !is_clip(last_)) {
            trailing_removed += length_of(elements_[count_ - 1]);
            elements_[count_ - 1] = length << 4 | operation;
            last_ = operation;
        } else if (!keeps_ends_ && ends_in_deletion_and_insertion()) {
            trailing_removed += length_of(elements_[count_ - 2]);
            elements_[count_ - 2] = elements_[count_ - 1];
            // As in GATK, the insertion stays the last operation.
            elements_[count_ - 1] = length << 4 | operation;
        } else {
            append(length, operation);
        }
    }

    __device__ __forceinline__ void add_deletion_before_insertion(long long length) {
        if (count_ > 1 && operation_of(elements_[count_ - 2]) == kD) {
            elements_[count_ - 2] += length << 4;
            return;
        }
        elements_[count_] = elements_[count_ - 1];
        elements_[count_ - 1] = length << 4 | kD;
        ++count_;
    }

    // Goes through hard clip, soft clip, aligned part, soft clip, hard clip, or breaks.
    __device__ __forceinline__ void enter_section(int operation) {
        if (operation == kH) {
            if (section_ != kLeftHard) section_ = kRightHard;
        } else if (operation == kS) {
            if (section_ == kRightHard) is_broken_ = true;
            else if (section_ == kLeftHard) section_ = kLeftSoft;
            else if (section_ == kMiddle) section_ = kRightSoft;
        } else if (section_ == kRightSoft || section_ == kRightHard) {
            is_broken_ = true;
        } else {
            section_ = kMiddle;
        }
    }
};
