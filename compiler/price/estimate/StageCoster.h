// The seconds and bytes of the stages of a cut whose layers have their ways. Internal to this
// folder.
#pragma once

#include "compiler/price/estimate/StageInputs.h"
#include "compiler/price/estimate/StageMemory.h"

#include <vector>

namespace dtc {

// The stages of a pipeline.
struct CostedStages {
  std::vector<StageEstimate> stages;
  // Exposed seconds of collectives inside the layers, of one micro-batch, by stage.
  std::vector<ExposedSeconds> exposed;
};

// Costs the stages of a cut: `chunks` has the layers of each chunk, `ways` what each layer
// recomputes and offloads, no less than the decisions' least. The bucket size of gradients is left
// open (chooseBuckets).
CostedStages costStages(const StageInputs &in, const LayerChunks &chunks,
                        llvm::ArrayRef<LayerWay> ways);

// Returns the stages of a cut, with the best bucket size.
std::vector<StageEstimate> stagesOfCut(const StageInputs &in, const LayerChunks &chunks,
                                       llvm::ArrayRef<LayerWay> ways);

// Returns the seconds that a vocabulary shared by all stages adds to a step on every stage: passes
// S and T of each micro-batch, and, once, their collectives, while nothing hides them yet. 0 if the
// vocabulary is on the first and the last stage.
//
// The passes take the same time on every stage, so that a pipeline with them is one of the layers
// alone that stops for them everywhere: "the same bubbles" (Yeung et al. 2024, section 5).
double vocabularySeconds(const StageInputs &in);

} // namespace dtc
