// Steps whose layers have round numbers, so that all other figures can be computed by hand.
#pragma once

#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/OpCost.h"
#include "compiler/price/estimate/StepEstimate.h"
#include "test/unit/estimate/OwnStack.h"

#include "gtest/gtest.h"

namespace dtc {

// A model of four equal layers of 2 + 3 + 4 = 9 seconds a micro-batch, 18 for a stage of two. In
// f32 with AdamW a parameter has 4 bytes, 4 of gradient and 8 of states.
class RoundLayers : public testing::Test {
protected:
  RoundLayers() {
    topology = *loadTopology("dgx-h100", 1, 8);
    cells.chain = {0, 0, 0, 0};
    cells.overlap = {};
    BlockCost layer;
    layer.forward = 2;
    layer.backwardInput = 3;
    layer.backwardWeight = 4;
    layer.selective = 0.5;
    layer.input = 10;
    layer.kept = 100;
    layer.keptSelective = 60;
    layer.transient = 7;
    model.cells = &cells;
    model.blocks = {layer};
    request.topology = &topology;
    request.software = &ownStack();
    request.memoryLimit = 1e18;
  }

  BlockCost &layer() { return model.blocks.front(); }

  static Decisions pipeline(ScheduleKind kind, int64_t virtualStages, int64_t microBatches) {
    Decisions d;
    d.pp = 2;
    d.schedule = kind;
    d.virtualStages = virtualStages;
    d.numMicroBatches = microBatches;
    return d;
  }

  StepEstimate estimate(const Decisions &d) {
    model.groups = groupsOf(d);
    model.overlap = cells.overlap;
    model.allDense =
        model.embedding.denseParameters + model.head.denseParameters + 4 * layer().denseParameters;
    model.allExpert = 4 * layer().expertParameters;
    return estimateStep(model, d, request);
  }

  double updateSeconds(double bytes) const {
    OpWork work;
    work.bytes = bytes;
    return secondsOf(work, topology.device);
  }

  Topology topology;
  ModelCells cells;
  ModelCost model;
  EstimateRequest request;
};

} // namespace dtc
