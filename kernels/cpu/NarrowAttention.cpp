// Attention of 16-bit floats: each task converts its part of one kv head to f32 in its own memory,
// runs the f32 kernels on it, and rounds the results once.
//
// Cost: that of f32, plus 6 bytes for every element read or written; the keys and values that a
// task sees are read once per task of the head.
#include "kernels/cpu/NarrowAttention.h"

#include "kernels/cpu/AttentionBias.h"
#include "kernels/cpu/AttentionDocuments.h"
#include "kernels/cpu/AttentionMask.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>

namespace dtc::cpu {

namespace {

thread_local Scratch tensorScratch, unitScratch;

constexpr int64_t kUnitsPerThread = 4; // evens out the longer rows of causal attention at the end

// The elements of `heads` heads from `head` on of tokens [begin, end) in [batch, tokens, allHeads,
// headDim]: rows of heads * headDim elements, allHeads * headDim apart.
struct Slice {
  int64_t first, stride, rows, columns; // in elements
  int64_t size() const { return rows * columns; }
};

Slice sliceOf(int64_t tokens, int64_t allHeads, int64_t headDim, int64_t batchIndex, int64_t head,
              int64_t heads, int64_t begin, int64_t end) {
  return {((batchIndex * tokens + begin) * allHeads + head) * headDim, allHeads * headDim,
          end - begin, heads * headDim};
}

// Returns the slice with tokens `row` elements apart; unchanged if `row` is 0, for tokens without
// gaps.
Slice inRows(Slice slice, int64_t row, int64_t batchIndex, int64_t firstColumn) {
  if (row == 0)
    return slice;
  return {batchIndex * slice.rows * row + firstColumn, row, slice.rows, slice.columns};
}

// Reads rows [begin, end) of a slice to where they are in the whole of it, which is returned.
float *read(ElementType type, const void *tensor, const Slice &slice, float *&to, int64_t begin,
            int64_t end) {
  float *result = to;
  for (int64_t row = begin; row < end; ++row)
    isaKernels().widen(type,
                       static_cast<const char *>(tensor) +
                           (slice.first + row * slice.stride) * bytesOf(type),
                       result + row * slice.columns, slice.columns);
  to += slice.size();
  return result;
}

float *read(ElementType type, const void *tensor, const Slice &slice, float *&to) {
  return read(type, tensor, slice, to, 0, slice.rows);
}

void write(ElementType type, void *tensor, const Slice &slice, const float *from) {
  for (int64_t row = 0; row < slice.rows; ++row)
    isaKernels().narrow(type, from + row * slice.columns,
                        static_cast<char *>(tensor) +
                            (slice.first + row * slice.stride) * bytesOf(type),
                        slice.columns);
}

// Returns the arguments of attention for `heads` query heads from `head` on, of one kv head.
AttentionArgs ofHeads(const AttentionArgs &args, int64_t batchIndex, int64_t head, int64_t heads) {
  AttentionArgs one = ofSample(args, batchIndex);
  one.batch = 1;
  one.heads = heads;
  one.kvHeads = 1;
  one.qRow = one.kRow = one.vRow = 0;
  one.globalBatch0 += batchIndex;
  one.globalHead0 += head;
  one.lse += (batchIndex * args.heads + head) * args.queries;
  one.lengths = one.documents = nullptr;
  BiasStrides strides = biasStrides(args);
  if (args.bias)
    one.bias += batchIndex * strides.batch + head * strides.head;
  one.biasSizes[0] = 1;
  one.biasSizes[1] = strides.head > 0 ? heads : 1;
  if (args.slopes)
    one.slopes += head;
  if (args.sinks)
    one.sinks += head;
  return one;
}

// Adds the gradient of the bias of one query head.
void addBiasGradient(const AttentionArgs &args, const NarrowTensors &tensors, float *scratch,
                     const AttentionGradRange &range, int64_t head) {
  int64_t batchIndex = range.batchIndex, kvHead = range.kvHead, dim = valueDim(args);
  auto slice = [&](int64_t tokens, int64_t ofAll, int64_t width, int64_t index) {
    return sliceOf(tokens, ofAll, width, batchIndex, index, 1, 0, tokens);
  };
  Slice query = slice(args.queries, args.heads, args.headDim, head);
  Slice key = slice(args.keys, args.kvHeads, args.headDim, kvHead);
  Slice value = slice(args.keys, args.kvHeads, dim, kvHead);
  Slice dout = slice(args.queries, args.heads, dim, head);
  AttentionGradArgs one{ofHeads(args, batchIndex, head, 1),
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        scratch + (batchIndex * args.heads + head) * args.queries};
  float *memory = tensorScratch.reserve(query.size() + key.size() + value.size() + dout.size());
  auto readRows = [&](const void *tensor, const Slice &of, int64_t begin, int64_t end) {
    return read(tensors.type, tensor, of, memory, begin, end);
  };
  int64_t first = range.queryBegin, last = range.queryEnd;
  one.forward.q =
      readRows(tensors.q, inRows(query, args.qRow, batchIndex, head * args.headDim), first, last);
  one.dout = readRows(tensors.dout, dout, first, last);
  one.forward.k = readRows(tensors.k, inRows(key, args.kRow, batchIndex, kvHead * args.headDim),
                           range.keyBegin, range.keyEnd);
  one.forward.v = readRows(tensors.v, inRows(value, args.vRow, batchIndex, kvHead * dim),
                           range.keyBegin, range.keyEnd);
  BiasStrides strides = biasStrides(args);
  one.dbias = tensors.dbias + batchIndex * strides.batch + head * strides.head;
  AttentionGradRange part = range;
  part.batchIndex = part.kvHead = 0;
  const IsaKernels &isa = isaKernels();
  isa.attentionBiasUnit(one, part, 0, unitScratch.reserve(isa.attentionGradWorkspace(one.forward)));
}

} // namespace

// Each task computes a range of queries and reads the keys that these see. Both stay where they are
// in the whole, since the position of a query decides which keys it sees.
void narrowAttention(const AttentionArgs &all, const NarrowTensors &tensors, ThreadPool &pool) {
  DocumentRanges documents(all);
  const AttentionArgs &args = documents.arguments();
  int64_t heads = args.batch * args.kvHeads,
          group = args.heads / std::max<int64_t>(1, args.kvHeads);
  if (heads == 0 || args.queries == 0)
    return;
  int64_t wanted = pool.size() == 1 ? 1 : (pool.size() * kUnitsPerThread + heads - 1) / heads;
  int64_t grains = (args.queries + kAttentionGrain - 1) / kAttentionGrain;
  int64_t perUnit = (grains + wanted - 1) / wanted * kAttentionGrain;
  int64_t units = (args.queries + perUnit - 1) / perUnit;
  pool.parallelFor(heads * units, 1, [&](int64_t begin, int64_t end) {
    const IsaKernels &isa = isaKernels();
    for (int64_t task = begin; task < end; ++task) {
      int64_t batchIndex = task % heads / args.kvHeads, kvHead = task % heads % args.kvHeads;
      int64_t first = (units - 1 - task / heads) * perUnit; // longest rows first
      int64_t last = std::min(args.queries, first + perUnit);
      auto slice = [&](int64_t tokens, int64_t ofAll, int64_t width, int64_t head, int64_t count) {
        return sliceOf(tokens, ofAll, width, batchIndex, head, count, 0, tokens);
      };
      int64_t dim = valueDim(args);
      Slice query = slice(args.queries, args.heads, args.headDim, kvHead * group, group);
      Slice key = slice(args.keys, args.kvHeads, args.headDim, kvHead, 1);
      Slice value = slice(args.keys, args.kvHeads, dim, kvHead, 1);
      int64_t queryColumn = kvHead * group * args.headDim, keyColumn = kvHead * args.headDim;
      AttentionArgs one = ofHeads(args, batchIndex, kvHead * group, group);
      float *memory = tensorScratch.reserve(query.size() + query.rows * group * dim + key.size() +
                                            value.size());
      int64_t firstSeen = firstKey(one, first) / kAttentionGrain * kAttentionGrain;
      int64_t endSeen = endKey(one, last - 1);
      one.q = read(tensors.type, tensors.q, inRows(query, args.qRow, batchIndex, queryColumn),
                   memory, first, last);
      one.k = read(tensors.type, tensors.k, inRows(key, args.kRow, batchIndex, keyColumn), memory,
                   firstSeen, endSeen);
      one.v = read(tensors.type, tensors.v, inRows(value, args.vRow, batchIndex, kvHead * dim),
                   memory, firstSeen, endSeen);
      one.out = memory;
      isa.attentionUnit(one, 0, 0, first, last, unitScratch.reserve(isa.attentionWorkspace(one)));
      Slice result =
          sliceOf(args.queries, args.heads, dim, batchIndex, kvHead * group, group, first, last);
      write(tensors.type, tensors.out, result, one.out + first * result.columns);
    }
  });
}

void narrowAttentionGrad(const AttentionArgs &all, const NarrowTensors &tensors, float *scratch,
                         ThreadPool &pool) {
  DocumentRanges documents(all);
  const AttentionArgs &args = documents.arguments();
  int64_t heads = args.batch * args.kvHeads,
          group = args.heads / std::max<int64_t>(1, args.kvHeads);
  pool.parallelFor(heads, 1, [&](int64_t begin, int64_t end) {
    const IsaKernels &isa = isaKernels();
    for (int64_t task = begin; task < end; ++task) {
      int64_t batchIndex = task / args.kvHeads, kvHead = task % args.kvHeads;
      int64_t dim = valueDim(args);
      Slice query = sliceOf(args.queries, args.heads, args.headDim, batchIndex, kvHead * group,
                            group, 0, args.queries);
      Slice result = sliceOf(args.queries, args.heads, dim, batchIndex, kvHead * group, group, 0,
                             args.queries);
      Slice key =
          sliceOf(args.keys, args.kvHeads, args.headDim, batchIndex, kvHead, 1, 0, args.keys);
      Slice value = sliceOf(args.keys, args.kvHeads, dim, batchIndex, kvHead, 1, 0, args.keys);
      AttentionGradArgs one{ofHeads(args, batchIndex, kvHead * group, group),
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            scratch + (batchIndex * args.heads + kvHead * group) * args.queries};
      if (tensors.dlse)
        one.dlse = tensors.dlse + (batchIndex * args.heads + kvHead * group) * args.queries;
      float *memory = tensorScratch.reserve(2 * query.size() + 2 * result.size() + 2 * key.size() +
                                            2 * value.size());
      auto queryRows = [&](int64_t row) {
        return inRows(query, row, batchIndex, kvHead * group * args.headDim);
      };
      auto keyRows = [&](int64_t row) {
        return inRows(key, row, batchIndex, kvHead * args.headDim);
      };
      one.forward.q = read(tensors.type, tensors.q, queryRows(args.qRow), memory);
      one.forward.k = read(tensors.type, tensors.k, keyRows(args.kRow), memory);
      auto valueRows = [&](int64_t row) { return inRows(value, row, batchIndex, kvHead * dim); };
      one.forward.v = read(tensors.type, tensors.v, valueRows(args.vRow), memory);
      one.forward.out = read(tensors.type, tensors.out, result, memory);
      one.dout = read(tensors.type, tensors.dout, result, memory);
      one.dq = memory;
      one.dk = one.dq + query.size();
      one.dv = one.dk + key.size();
      for (int64_t head = 0; head < group; ++head)
        isa.attentionDelta(one, 0, head);
      isa.attentionGradUnit(one, {0, 0, 0, args.queries, 0, args.keys, true, true},
                            unitScratch.reserve(isa.attentionGradWorkspace(one.forward)));
      write(tensors.type, tensors.dq, queryRows(tensors.dqRow), one.dq);
      write(tensors.type, tensors.dk, keyRows(tensors.dkRow), one.dk);
      write(tensors.type, tensors.dv, valueRows(tensors.dvRow), one.dv);
    }
  });
  if (tensors.dbias)
    biasGradient(args, tensors.dbias, pool, [&](const AttentionGradRange &range, int64_t head) {
      addBiasGradient(args, tensors, scratch, range, head);
    });
}

} // namespace dtc::cpu
