// Columns of DeviceRecords of hapgpu/io/bam/cuda/device_records.py.

struct Records {
    const unsigned char* data;
    long long* starts;
    int* name_lengths;
    int* cigar_lengths;
    int* base_counts;
    int* tag_lengths;
    long long* cigar_starts;
    long long* tag_starts;
    long long* long_cigars;  // -1 without one
    unsigned short* flags;
    int* reference_ids;
    int* positions;
    unsigned char* mapping_qualities;
    int count;
};
