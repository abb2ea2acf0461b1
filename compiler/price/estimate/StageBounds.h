// Lower bounds of the seconds of stages, over all cuts of a model and all recomputation that the
// decisions allow. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StageInputs.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dtc {

// The bounds of one set of decisions, in seconds.
class StageBounds {
public:
  // Keeps the reference.
  explicit StageBounds(const StageInputs &in) : in(in) {}

  // Returns a lower bound of one micro-batch in all layers, embedding and head, with the least
  // recomputation.
  double model() const;
  // Returns the same without gradients of weights: the critical path from a micro-batch's start to
  // its end, where these may wait.
  double path() const;
  // Returns a lower bound of the slowest stage's seconds per micro-batch; 0 without layers.
  double slowestStage() const;
  // Returns a lower bound of all micro-batches on heterogeneous devices; 0 on homogeneous ones.
  double overDevices() const;
  // Returns a lower bound of what a micro-batch takes in the stages before `stage`: in its forward
  // pass if `isDownOnly`, else in both passes.
  double before(int64_t stage, bool isDownOnly) const;
  // Returns the mean of before() over all stages.
  double meanBefore(bool isDownOnly) const;
  // Returns the seconds of the embedding, forward and backward.
  double embedding() const { return in.kindOf(0).embedding.total(); }
  // Returns the smallest share of a layer's seconds that its forward pass takes.
  double forwardShare() const;
  // Returns a lower bound after the last micro-batch: the update if it is on the host, else 0.
  double oncePerStep() const;
  // Returns a lower bound of the update, on the device or on the host, from the mean stage.
  double update() const;
  // Returns a lower bound of an update on the host.
  double hostUpdate() const;

private:
  // Returns the sum of `ofPart` of embedding and head, and of the smallest `ofLayer` of each layer
  // over all kinds of devices.
  double sumOver(llvm::function_ref<double(const PartTimes &)> ofPart,
                 llvm::function_ref<double(const PartTimes &)> ofLayer) const;
  // Returns the parameters that a device of the mean stage updates; some stage has no fewer.
  double leastOwnOfMeanStage() const;

  const StageInputs &in;
};

} // namespace dtc
