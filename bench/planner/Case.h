// Turns published rows into problems of the planner.
#pragma once

#include "bench/planner/Row.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "compiler/search/planner/PlacementSearch.h"

#include <map>
#include <memory>

namespace mlir {
class MLIRContext;
}

namespace dtc::published {

// The model of a row. `isMoe` has gated experts of `inner`; `isGated` has Llama's layers; otherwise
// the layers are GPT-2's.
struct ModelShape {
  bool isGated = false, isMoe = false, tied = true;
  int64_t layers = 0, width = 0, heads = 0, kvHeads = 0, headDim = 0, inner = 0, vocabulary = 0,
          sequence = 0, experts = 0, topK = 0;
  // The last of every `expertsEvery` layers has experts, and the others have a dense gate of
  // `denseInner`. 1: all have experts.
  int64_t expertsEvery = 1, denseInner = 0;
};

// A published row as a problem of the planner, with its measurements.
struct Case {
  const Row *row = nullptr;
  ModelShape model;
  Topology topology;
  Decisions decisions;
  Precision precision = Precision::F32;
  std::string stack, device; // device: the name that errors are reported under
  double memoryLimit = 0;
  int64_t globalBatch = 0;

  double seconds = 0;   // published; 0: the row has none
  std::string timeFrom; // "step time", "tokens/s", "TFLOP/s" or "MFU"
  double memory = 0;    // published, bytes; 0: none
  bool ranOutOfMemory = false;
  // Selective recomputation covers every op except matrix products, whatever the stack does by
  // default.
  bool recomputesPointwise = false;
  // Queries, keys and values are on the host until the backward pass, which recomputes the rest of
  // a layer.
  bool hasQueriesOnHost = false;
  std::string assumed; // values that the row leaves open and that are assumed here
  const ModelCells *cells = nullptr;
};

// Returns the device family by which compiler/price/cost's table of constants is indexed, the first
// word of the device: "A100" of "A100 40G".
inline std::string deviceFamily(const Case &item) {
  return llvm::StringRef(item.device).split(' ').first.str();
}

// Caches cells by the model and the decisions that they depend on.
class CellCache {
public:
  CellCache();
  ~CellCache();
  // Returns the cells; null if the model can't be built or partitioned that way, with the reason in
  // `reason`.
  const ModelCells *cellsOf(const ModelShape &model, const Decisions &decisions,
                            std::string &reason);
  size_t size() const { return cells.size(); }
  // Returns the model with one layer for all. Returns nullopt if it can't be built, with the reason
  // in `message`.
  std::optional<FoldedModel> foldedModel(const ModelShape &model, std::string &message);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::map<std::string, std::unique_ptr<ModelCells>> cells;   // of one layer; null: failed
  std::map<std::string, std::unique_ptr<ModelCells>> chained; // the same with all layers
  std::map<std::string, std::string> reasons;
};

// Copies the figures of a model to rows that only name it, from a row of the same name that has
// them.
void fillArchitectures(std::vector<Row> &rows);

// Returns the model of a row. Errors: a row that says too little to build it.
Result<ModelShape> shapeOf(const Row &row);

// Returns the devices and links of a row: an entry of the catalogue with the row's figures.
Result<Topology> topologyOf(const Row &row);

// Returns the whole case of a row. The error is one of a few sentences by which rows are counted.
Result<Case> makeCase(const Row &row, CellCache &cache);

// Sets `seconds` and `timeFrom` by the row's measurements; needs the cells. Leaves 0 if the row has
// none.
void readPublishedTime(Case &item);

} // namespace dtc::published
