// The operations of a chunk, one per lane.

#include "longread/lines/batches.cuh"

// An operation of a lane, and where it starts in the aligned bases; lanes after the last operation
// have an M of no bases, which has no text.
struct LaneOperation {
    bool is_any;
    unsigned word;
    const unsigned char* queries;  // aligned bases
    const unsigned char* targets;
    long long query_size, target_size;
    long long query, target;

    __device__ unsigned length() const { return word >> 4; }
    __device__ unsigned kind() const { return word & 15; }
    __device__ int query_bases() const { return kind() == kD ? 0 : (int)length(); }
    __device__ int target_bases() const { return kind() == kI ? 0 : (int)length(); }
};

// Returns the mapping of a chunk.
__device__ inline const Mapping& mapping_of(
    const LineBlock& block, const Chunks& chunks, const Slot* slots, long long chunk
) {
    const long long slot = chunks.slots[chunk];
    return block.mappings[slot - slots[slot].read - 1];
}

// Returns the operation of this lane, without positions.
__device__ inline LaneOperation operation_of(
    const LineBlock& block, const Chunks& chunks, const Mapping& mapping, long long chunk
) {
    const long long first = (chunk - chunks.offsets[chunks.slots[chunk]]) * kWarpLanes;
    const long long k = first + lane_id();
    LaneOperation operation{};
    operation.is_any = k < mapping.operations;
    if (operation.is_any) operation.word = block.operations[mapping.first_operation + k];
    return operation;
}

// Returns the operation of this lane with its positions, after the chunks are summed.
__device__ inline LaneOperation placed_operation(
    const LineBlock& block, const Chunks& chunks, const Slot* slots, long long chunk
) {
    const Mapping& mapping = mapping_of(block, chunks, slots, chunk);
    LaneOperation operation = operation_of(block, chunks, mapping, chunk);
    const long long read = slots[chunks.slots[chunk]].read;
    const long long codes = block.reads.starts[read];
    const long long start = mapping.is_reverse
        ? codes + 2ll * block.spans.lengths[read] - mapping.query_end
        : codes + mapping.query_start;
    operation.queries = block.reads.codes + start;
    operation.targets =
        block.target_codes + block.targets[mapping.sequence].codes + mapping.target_start;
    operation.query_size = (long long)mapping.query_end - mapping.query_start;
    operation.target_size = (long long)mapping.target_end - mapping.target_start;
    int total;
    operation.query = chunks.queries[chunk] + sum_before(operation.query_bases(), total);
    operation.target = chunks.targets[chunk] + sum_before(operation.target_bases(), total);
    return operation;
}
