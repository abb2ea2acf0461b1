// The inputs of everything that is known about the stages of one set of decisions, and the shape of
// its pipeline. Internal to this folder.
#pragma once

#include "compiler/price/estimate/EstimateRequest.h"
#include "compiler/price/estimate/StageKind.h"
#include "compiler/price/estimate/StageSplit.h"

#include "llvm/ADT/SmallVector.h"

namespace dtc {

// A model, decisions, a request, and what follows from them for any cut into stages. Nothing here
// changes once it is made, but for the cache.
class StageInputs {
public:
  // Keeps the references.
  StageInputs(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request);
  StageInputs(const StageInputs &) = delete; // `known` may refer to `own`

  const ModelCost &model;
  const Decisions &d;
  const EstimateRequest &request;
  const Overlap &overlap;
  const ProcessMemory &process;
  const std::vector<int64_t> &bucketSizes; // bytes, as EstimateRequest::bucketSizesOf

private:
  SharedEstimates::Parts own; // used if the request shares none

public:
  // A cache of results that decisions share; no result depends on it.
  SharedEstimates::Parts &known;
  const std::vector<StageKind> kinds; // one, or one for each of ModelCost::devices

  // Returns the number of layers of the model.
  int64_t layers() const { return static_cast<int64_t>(model.cells->chain.size()); }
  // Returns the number of chunks of the pipeline.
  int64_t chunks() const { return d.pp * d.virtualStages; }
  // Returns true if all stages are on equal devices.
  bool isUniform() const { return kinds.size() == 1; }
  // Returns the devices of a stage.
  const StageKind &kindOf(size_t stage) const {
    return kinds[model.devices.empty() ? 0 : model.devices.kindOfStage[stage]];
  }
  // Returns the stage that has a chunk.
  size_t stageOf(size_t chunk) const;
  // Returns the chunks of a stage, in order.
  llvm::SmallVector<size_t, 8> chunksOn(size_t stage) const;
  // Returns true if the stage has the last chunk.
  bool holdsHead(size_t stage) const { return stage == stageOf(static_cast<size_t>(chunks() - 1)); }
  // Returns true if the output of a chunk is sent to another stage. At the turn of a V one stage
  // has both chunks, and sends nothing.
  bool isSent(size_t chunk) const;
  // Returns true if the first chunk may be the embedding alone.
  bool mayBeginWithoutLayers() const { return mayBeginEmpty(layers(), chunks()); }
  // Returns the fewest layers that a stage may have: one a chunk, but for chunks that may be
  // embedding or head alone.
  int64_t leastLayersOf(size_t stage) const;

  // Returns true if each stage has its share of the vocabulary.
  bool sharesVocabulary() const { return d.dividesVocabulary(); }
  // Returns what every layer recomputes and offloads at least.
  LayerWay leastWay() const { return {d.recompute, d.offloadsAllLayers()}; }
  // Returns true if every chunk recomputes the same number of layers. If some layers are offloaded,
  // they are those of the first chunks.
  bool recomputesEvenly() const { return d.evenRecompute && !d.offloadsSomeLayers(); }
  // Returns the seconds of a layer for one micro-batch, with the least that it recomputes and
  // offloads.
  double leastOf(const PartTimes &layer) const { return layer.total() + layer.againOf(leastWay()); }
  // Returns true if memory may affect the cut on equal devices: with one chunk per stage, or with
  // several chunks of equal layers.
  bool mayCutByMemory() const;
};

} // namespace dtc
