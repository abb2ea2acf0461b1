// Splits attention and its gradient over the pool.
#include "kernels/cpu/Attention.h"

#include "kernels/cpu/AttentionBias.h"
#include "kernels/cpu/AttentionDocuments.h"
#include "kernels/cpu/AttentionMask.h"
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>

namespace dtc::cpu {

namespace {

thread_local Scratch attentionScratch;

// Units per thread that even out the longer rows of causal attention at the end.
constexpr int64_t kUnitsPerThread = 4;

// Equal pieces of [0, size) that begin at multiples of kAttentionGrain: about `wanted` of them.
struct Cuts {
  int64_t size, piece, count;

  Cuts(int64_t size, int64_t wanted) : size(size) {
    int64_t grains = std::max<int64_t>(1, (size + kAttentionGrain - 1) / kAttentionGrain);
    wanted = std::clamp<int64_t>(wanted, 1, grains);
    int64_t perPiece = (grains + wanted - 1) / wanted;
    piece = perPiece * kAttentionGrain;
    count = (grains + perPiece - 1) / perPiece;
  }
  int64_t begin(int64_t index) const { return index * piece; }
  int64_t end(int64_t index) const { return std::min(size, (index + 1) * piece); }
};

// The backward pass of a whole head takes 5 matrix products; separate units for dq and for (dk, dv)
// take 3 and 4, as both need scores and dP, but can be cut further.
constexpr int64_t kProductsWhole = 5, kProductsApart = 7;

void gradByHeads(const AttentionGradArgs &args, const IsaKernels &isa, ThreadPool &pool) {
  const AttentionArgs &forward = args.forward;
  pool.parallelFor(forward.batch * forward.kvHeads, 1, [&](int64_t begin, int64_t end) {
    float *workspace = attentionScratch.reserve(isa.attentionGradWorkspace(forward));
    for (int64_t head = begin; head < end; ++head)
      isa.attentionGradUnit(args,
                            {head / forward.kvHeads, head % forward.kvHeads, 0, forward.queries, 0,
                             forward.keys, true, true},
                            workspace);
  });
}

// Shrinks the side of a range that is not cut to what window and documents let the other side see.
void leaveOutUnseen(const AttentionArgs &all, AttentionGradRange &range) {
  AttentionArgs args = ofSample(all, range.batchIndex);
  auto floored = [](int64_t index) { return index / kAttentionGrain * kAttentionGrain; };
  if (range.keyGradients) {
    range.queryEnd = endQuery(args, range.keyEnd - 1);
    range.queryBegin = std::min(range.queryEnd, floored(firstQuery(args, range.keyBegin)));
  } else {
    range.keyEnd = endKey(args, range.queryEnd - 1);
    range.keyBegin = std::min(range.keyEnd, floored(firstKey(args, range.queryBegin)));
  }
}

void gradByRanges(const AttentionGradArgs &args, const IsaKernels &isa, ThreadPool &pool) {
  const AttentionArgs &forward = args.forward;
  int64_t heads = forward.batch * forward.kvHeads;
  int64_t wanted = (pool.size() * kUnitsPerThread / 2 + heads - 1) / heads;
  Cuts keys(forward.keys, wanted), queries(forward.queries, wanted);
  pool.parallelFor(heads * (keys.count + queries.count), 1, [&](int64_t begin, int64_t end) {
    float *workspace = attentionScratch.reserve(isa.attentionGradWorkspace(forward));
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t head = unit % heads, index = unit / heads;
      AttentionGradRange range{head / forward.kvHeads,
                               head % forward.kvHeads,
                               0,
                               forward.queries,
                               0,
                               forward.keys,
                               false,
                               false};
      if (index < keys.count) {
        range.keyBegin = keys.begin(index), range.keyEnd = keys.end(index);
        range.keyGradients = true;
      } else {
        int64_t last = keys.count + queries.count - 1; // longest rows first
        range.queryBegin = queries.begin(last - index), range.queryEnd = queries.end(last - index);
        range.queryGradients = true;
      }
      if (forward.window > 0 || forward.documents)
        leaveOutUnseen(forward, range);
      isa.attentionGradUnit(args, range, workspace);
    }
  });
}

} // namespace

void attention(const AttentionArgs &all, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  DocumentRanges documents(all);
  const AttentionArgs &args = documents.arguments();
  int64_t heads = args.batch * args.kvHeads;
  if (heads == 0 || args.queries == 0)
    return;
  // Makes units as long as load balance allows: packing keys and values costs 2 * keys * headDim
  // per unit.
  int64_t wanted = pool.size() == 1 ? 1 : pool.size() * kUnitsPerThread;
  Cuts cuts(args.queries, (wanted + heads - 1) / heads);
  pool.parallelFor(heads * cuts.count, 1, [&](int64_t begin, int64_t end) {
    float *workspace = attentionScratch.reserve(isa.attentionWorkspace(args));
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t cut = cuts.count - 1 - unit / heads, head = unit % heads; // longest rows first
      isa.attentionUnit(args, head / args.kvHeads, head % args.kvHeads, cuts.begin(cut),
                        cuts.end(cut), workspace);
    }
  });
}

void attentionGrad(const AttentionGradArgs &all, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  DocumentRanges documents(all.forward);
  AttentionGradArgs args = all;
  args.forward = documents.arguments();
  const AttentionArgs &forward = args.forward;
  int64_t units = forward.batch * forward.kvHeads;
  if (units == 0) {
    if (args.dbias)
      biasGradient(forward, args.dbias, pool, [](const AttentionGradRange &, int64_t) {});
    return;
  }
  pool.parallelFor(forward.batch * forward.heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t head = begin; head < end; ++head)
      isa.attentionDelta(args, head / forward.heads, head % forward.heads);
  });
  int64_t rounds = (units + pool.size() - 1) / pool.size();
  if (rounds * pool.size() * kProductsWhole <= units * kProductsApart)
    gradByHeads(args, isa, pool);
  else
    gradByRanges(args, isa, pool);
  if (args.dbias)
    biasGradient(forward, args.dbias, pool, [&](const AttentionGradRange &range, int64_t head) {
      float *workspace = attentionScratch.reserve(isa.attentionGradWorkspace(forward));
      isa.attentionBiasUnit(args, range, head, workspace);
    });
}

} // namespace dtc::cpu
