// The bases and the qualities per base of DeviceHmmReads of hapgpu/pairhmm/cuda/batches.py.

struct ReadColumns {
    unsigned char* bases;
    unsigned char* base_qualities;
    unsigned char* insertion_qualities;
    unsigned char* deletion_qualities;
};
