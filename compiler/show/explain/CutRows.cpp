// The layers of each stage in few rows.
#include "compiler/show/explain/CutRows.h"

#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

using LayerRun = std::pair<int64_t, int64_t>; // first and last layer; first > last: none

std::vector<int64_t> layersOfChunks(const PlanStage &stage) {
  std::vector<int64_t> counts;
  for (auto [first, last] : stage.chunks)
    counts.push_back(std::max<int64_t>(0, last - first + 1));
  return counts;
}

// Joins the two where one follows the other in the model: a V goes down in its first chunks and up
// in the others.
bool extendRun(LayerRun &chunk, const LayerRun &next) {
  if (next.second < next.first)
    return true;
  if (chunk.second < chunk.first)
    chunk = next;
  else if (next.first == chunk.second + 1)
    chunk.second = next.second;
  else if (next.second == chunk.first - 1)
    chunk.first = next.first;
  else
    return false;
  return true;
}

std::string layerRanges(const std::vector<LayerRun> &chunks) {
  std::string text;
  for (auto [first, last] : chunks)
    if (first <= last)
      text += (text.empty() ? "" : ", ") + std::to_string(first) +
              (first < last ? "-" + std::to_string(last) : "");
  return text.empty() ? "none" : text;
}

} // namespace

std::vector<CutRow> cutRows(const Plan &plan) {
  std::vector<CutRow> rows;
  if (plan.stages.size() < 2)
    return rows;
  for (size_t first = 0, end = 0; first < plan.stages.size(); first = end) {
    std::vector<int64_t> counts = layersOfChunks(plan.stages[first]);
    std::vector<LayerRun> chunks = plan.stages[first].chunks;
    for (end = first + 1; end < plan.stages.size(); ++end) {
      const PlanStage &next = plan.stages[end];
      std::vector<LayerRun> all = chunks;
      if (layersOfChunks(next) != counts ||
          !llvm::all_of(llvm::zip(all, next.chunks),
                        [](auto pair) { return extendRun(std::get<0>(pair), std::get<1>(pair)); }))
        break;
      chunks = std::move(all);
    }
    rows.push_back({end == first + 1 ? std::to_string(first)
                                     : std::to_string(first) + "-" + std::to_string(end - 1),
                    figures::sumText(counts), layerRanges(chunks)});
  }
  return rows;
}

bool needsCutTable(const Plan &plan) {
  return plan.stages.size() > 1 &&
         llvm::any_of(plan.stages, [](const PlanStage &stage) { return stage.chunks.size() > 1; });
}

} // namespace dtc
