// The kinds of devices that stages are on, with the seconds of the model's parts there. Internal to
// this folder.
#pragma once

#include "compiler/price/estimate/GradientCollectives.h"
#include "compiler/price/estimate/ModelCost.h"
#include "compiler/price/estimate/PartTimes.h"
#include "compiler/price/estimate/SharedEstimates.h"

#include <algorithm>
#include <vector>

namespace dtc {

struct EstimateRequest;

// One kind of devices, and the model's parts on them.
struct StageKind {
  const ModelCost &model;
  const Topology &topology;
  size_t number = 0;      // index into StageDevices::kinds
  double memoryLimit = 0; // bytes of a device
  Decisions d;            // the decisions as stages on these devices have them
  ShardGroups shards{model.groups, d};
  // The number of ranks that shard dense and expert parameters.
  double dataRanks = static_cast<double>(d.zeroRanks() * d.cp),
         expertRanks = static_cast<double>(d.zeroRanksOfExpert());
  // Share: a stage's part of the vocabulary, if stages share it.
  PartTimes embedding{}, head{}, share{};
  std::vector<PartTimes> blocks{}; // by index of the model's blocks
  BlockCost headInChunks{};        // the head, if it computes the loss in chunks

  // Returns true if several ranks shard parameters.
  bool isShared() const { return std::max(dataRanks, expertRanks) > 1; }
  // Returns the number of parameters that a device updates, of so many in its stage.
  double ownOf(double dense, double expert) const {
    return d.zero >= 1 ? dense / dataRanks + expert / expertRanks : dense + expert;
  }
  // Returns the index of a layer's block.
  size_t blockIndex(int64_t layer) const {
    return static_cast<size_t>(model.cells->chain[static_cast<size_t>(layer)]);
  }
  // Returns the cost of a layer's block.
  const BlockCost &blockOf(int64_t layer) const { return model.blocks[blockIndex(layer)]; }
  // Returns the seconds of a layer.
  const PartTimes &timesOfLayer(int64_t layer) const { return blocks[blockIndex(layer)]; }
};

// Returns the cost of the embedding on the first chunk, without the part that stages share.
const BlockCost &embeddingOf(const ModelCost &cost, const Decisions &decisions);
// Returns the cost of the head on the last chunk, without the part that stages share.
const BlockCost &headOf(const StageKind &at);

// Returns the kinds of devices of a model's stages: one, or one for each of ModelCost::devices.
// They refer to the model and the topology. `known` has the seconds of ZeRO's gathers, and gains
// those that it lacks.
std::vector<StageKind> stageKindsOf(const ModelCost &model, const Decisions &decisions,
                                    const EstimateRequest &request, SharedEstimates::Parts &known);

} // namespace dtc
