// Alignments of queries with references: ALIGNMENTS of hapgpu/cigar/cuda.py.

#include "common/rows.cuh"

struct Alignments {
    Rows<unsigned char> bases;
    const long long* rows;  // of bases, for each alignment
    Rows<unsigned> cigars;
    const long long* positions;
    Rows<unsigned char> references;
    const int* reference_index;  // -1 for none
};
