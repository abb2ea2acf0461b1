// Splits attention and its gradient over the pool.
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>

namespace dtc::cpu {

namespace {

thread_local Scratch attentionScratch;

// Units per thread that even out causal attention's longer rows at the end.
constexpr int64_t kUnitsPerThread = 4;
// A multiple of every block of queries, so that a cut does not move blocks.
constexpr int64_t kQueryGrain = 48;

} // namespace

void attention(const AttentionArgs &args, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  int64_t heads = args.batch * args.kvHeads;
  if (heads == 0 || args.queries == 0)
    return;
  // Packing keys and values costs 2 * keys * headDim per unit, so units are as long as balance
  // lets.
  int64_t wanted = pool.size() == 1 ? 1 : pool.size() * kUnitsPerThread;
  int64_t blocks = (args.queries + kQueryGrain - 1) / kQueryGrain;
  int64_t cuts = std::clamp<int64_t>((wanted + heads - 1) / heads, 1, blocks);
  int64_t blocksPerCut = (blocks + cuts - 1) / cuts;
  cuts = (blocks + blocksPerCut - 1) / blocksPerCut;
  pool.parallelFor(heads * cuts, 1, [&](int64_t begin, int64_t end) {
    float *workspace = attentionScratch.reserve(isa.attentionWorkspace(args));
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t cut = cuts - 1 - unit / heads, head = unit % heads; // longest rows first
      int64_t first = cut * blocksPerCut * kQueryGrain;
      int64_t last = std::min(args.queries, first + blocksPerCut * kQueryGrain);
      isa.attentionUnit(args, head / args.kvHeads, head % args.kvHeads, first, last, workspace);
    }
  });
}

void attentionGrad(const AttentionGradArgs &args, ThreadPool &pool) {
  const IsaKernels &isa = isaKernels();
  const AttentionArgs &forward = args.forward;
  int64_t heads = forward.batch * forward.kvHeads;
  pool.parallelFor(heads, 1, [&](int64_t begin, int64_t end) {
    float *workspace = attentionScratch.reserve(isa.attentionGradWorkspace(forward));
    for (int64_t head = begin; head < end; ++head)
      isa.attentionGradUnit(args, head / forward.kvHeads, head % forward.kvHeads, workspace);
  });
}

} // namespace dtc::cpu
