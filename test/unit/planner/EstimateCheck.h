// What an estimate decides by itself (the cut into stages, which layers recompute more) and how long it
// says that the pipeline takes, against all that it could have decided and an event simulation.
#pragma once

#include "compiler/estimate/StepEstimate.h"

namespace dtc {

// Wants a step that is refined. Fails the test that calls it where something is not as it should be.
void checkEstimate(const ModelCost &model, const Decisions &decisions,
                   const EstimateRequest &request, const StepEstimate &step);

// The decisions, for messages.
std::string textOf(const Decisions &decisions);

} // namespace dtc
