// A bound on what any plan of a model could reach.
#include "compiler/price/estimate/Relaxation.h"

#include "compiler/price/cost/OpCost.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// Returns the work that each further sample of a micro-batch adds. Work done once for all samples,
// such as reading weights, is left out, as large micro-batches make it small.
OpWork workOfSample(const CellOp &op, const Topology &topology, const CellPrecision &precision) {
  OpCosting one = costOp(op, {/*samples=*/1}, topology, precision),
            two = costOp(op, {/*samples=*/2}, topology, precision);
  OpWork work = one.work;
  work.flops = (two.work.flops - one.work.flops) / one.sustained;
  work.bytes = two.work.bytes - one.work.bytes;
  // Attention with scores in memory is two matrix products, which do more than the blocked kernel.
  if (op.kind == WorkKind::Attention && !op.isBlocked)
    work.kind = WorkKind::Product;
  return work;
}

// Returns the seconds of one sample on the kind of device that is best at the op.
double leastOf(const CellOp &op, const Topology &topology, const CellPrecision &precision) {
  OpWork work = workOfSample(op, topology, precision);
  auto on = [&](const Topology &part) { return leastSecondsOf(work, part.device); };
  double least = on(topology);
  for (const Topology &part : topology.parts)
    least = std::min(least, on(part));
  return least / op.rateShare;
}

double leastOf(const BlockCell &cell, const Topology &topology, const CellPrecision &precision) {
  double sum = 0;
  for (const CellOp &op : cell.ops)
    sum += leastOf(op, topology, precision);
  return sum;
}

} // namespace

double relaxedStepSeconds(const ModelCells &whole, int64_t globalBatch, const Topology &topology,
                          const CellPrecision &precision) {
  double sample =
      leastOf(whole.embedding, topology, precision) + leastOf(whole.head, topology, precision);
  std::vector<double> blocks;
  for (const BlockCell &block : whole.blocks)
    blocks.push_back(leastOf(block, topology, precision));
  for (int block : whole.chain)
    sample += blocks[static_cast<size_t>(block)];
  return sample * static_cast<double>(globalBatch) / static_cast<double>(topology.numDevices());
}

} // namespace dtc
