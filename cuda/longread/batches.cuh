// Columns and sizes of batches, in the order of the classes of hapgpu/longread/batches.py.

struct Minimizers {
    const unsigned long long* keys;
    const unsigned* positions;
    const long long* offsets;
    int reads;
};

struct Seeds {
    unsigned* positions;
    unsigned char* spans;
    unsigned char* is_tandem;
    long long* first_occurrences;
    int* occurrence_counts;
    const long long* offsets;
    int reads;
};

struct Anchors {
    const unsigned long long* x;
    const unsigned long long* y;
    const long long* offsets;
    long long count;
    int reads;
};

struct ChainScores {
    int* scores;
    int* predecessors;
};

struct Chains {
    unsigned long long* x;
    unsigned long long* y;
    long long* anchor_offsets;
    int* scores;
    const long long* offsets;
    long long anchors;
    int count, reads;
};
