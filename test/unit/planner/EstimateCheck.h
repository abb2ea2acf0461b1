// Compares the choices of an estimate (the cut into stages, the layers that recompute more) with
// all that it could have made, and its pipeline time with an event simulation.
#pragma once

#include "compiler/price/estimate/StepEstimate.h"

namespace dtc {

// Checks an estimate whose pipeline was simulated. Fails the calling test if a choice is not the
// best.
void checkEstimate(const ModelCost &model, const Decisions &decisions,
                   const EstimateRequest &request, const StepEstimate &step);

// Describes the decisions, for messages.
std::string textOf(const Decisions &decisions);

} // namespace dtc
