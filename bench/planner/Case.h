// A published row as the planner sees it.
#pragma once

#include "bench/planner/Row.h"
#include "compiler/estimate/StepEstimate.h"
#include "compiler/planner/PlacementSearch.h"

#include <map>
#include <memory>

namespace mlir {
class MLIRContext;
}

namespace dtc::published {

// The model of a row. `isMoe` has gated experts of `inner`; `isGated` Llama's layers, otherwise
// GPT-2's.
struct ModelShape {
  bool isGated = false, isMoe = false, tied = true;
  int64_t layers = 0, width = 0, heads = 0, kvHeads = 0, headDim = 0, inner = 0, vocabulary = 0,
          sequence = 0, experts = 0, topK = 0;
  // Of each so many layers all but the last have a dense gate of `denseInner` instead of experts;
  // 1: all have experts.
  int64_t expertsEvery = 1, denseInner = 0;
};

struct Case {
  const Row *row = nullptr;
  ModelShape model;
  Topology topology;
  Decisions decisions;
  std::string precision, stack, device; // device: the name that errors are reported under
  double memoryLimit = 0;
  int64_t globalBatch = 0;

  double seconds = 0;   // published; 0: the row has none
  std::string timeFrom; // "step time", "tokens/s", "TFLOP/s" or "MFU"
  double memory = 0;    // published, bytes; 0: none
  bool ranOutOfMemory = false;
  // Selective recomputation is of all that costs no product, whatever is usual in the stack.
  bool recomputesPointwise = false;
  // Queries, keys and values are on the host until the backward pass, which runs all else of a layer again.
  bool hasQueriesOnHost = false;
  std::string assumed; // what the row leaves open and is filled in here
  const ModelCells *cells = nullptr;
};

// The row of compiler/cost's table of constants that a case's device has, by its first word: "A100"
// of "A100 40G".
inline std::string deviceFamily(const Case &item) {
  return llvm::StringRef(item.device).split(' ').first.str();
}

// Cells by what they depend on.
class CellCache {
public:
  CellCache();
  ~CellCache();
  // Null where the model can't be built or partitioned that way; `reason` says why.
  const ModelCells *cellsOf(const ModelShape &model, const Decisions &decisions,
                            std::string &reason);
  size_t size() const { return cells.size(); }
  // The model with one layer for all. Nothing where it can't be built; `message` says why.
  std::optional<FoldedModel> foldedModel(const ModelShape &model, std::string &message);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::map<std::string, std::unique_ptr<ModelCells>> cells;   // of one layer; null: failed
  std::map<std::string, std::unique_ptr<ModelCells>> chained; // the same with all layers
  std::map<std::string, std::string> reasons;
};

// Rows that name a model without its figures get those of a row of the same
// name that has them.
void fillArchitectures(std::vector<Row> &rows);

// The model that a row names, or why it can't be built from what the row says.
Result<ModelShape> shapeOf(const Row &row);

// Devices and links of a row: an entry of the catalogue with the row's figures.
Result<Topology> topologyOf(const Row &row);

// Fills in all of a case. The error is one of a few sentences that rows are counted under.
Result<Case> makeCase(const Row &row, CellCache &cache);

// Sets `seconds` and `timeFrom` by what the row has; wants cells. Leaves 0 where it has nothing.
void readPublishedTime(Case &item);

} // namespace dtc::published
