// The numbers that go into a step, and the results and times that come out of it.
#pragma once

#include "runtime/exec/ExpertCounts.h"
#include "runtime/format/Instructions.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace dtc::rt {

// The class that time counts under; only on stream 0, but for collectives, which count on any
// stream.
using format::TimeClass;
inline constexpr size_t numTimeClasses = 7;
// Returns the name of a time class, for reports.
const char *nameOf(TimeClass timeClass);

// The numbers that change from step to step.
struct StepScalars {
  uint64_t step = 1; // from 1
  uint64_t totalSteps = 1;
  float baseLr = 0;
  uint64_t seed = 0;
};

// The results and times of one step.
struct StepResult {
  float loss = 0, gradNorm = 0, learningRate = 0, skippedSteps = 0, lossScale = 0;
  float lossWeight = 0;    // number that the loss, but for lossBeside, was divided by
  float lossBeside = 0;    // terms of the loss that are not divided by it
  float gradientScale = 1; // factor from the program's gradients to those of the loss
  bool hasLoss = false, hasGradNorm = false, hasLearningRate = false, hasSkippedSteps = false,
       hasLossScale = false, hasGradientScale = false, hasLossWeight = false,
       hasLossBeside = false; // true if the program reports the value
  double seconds = 0;
  // The seconds in which stream 0 ran or waited for a collective and computed nothing.
  double exposedCommSeconds = 0;
  std::array<double, numTimeClasses> classSeconds = {};
  // The rows of this rank's experts in a training step. Without rows if the program has none, or if
  // another step was enqueued before this one was collected.
  ExpertCounts experts = {};
};

// The field of a result for each role of an output.
struct StepOutput {
  format::OutputRole role;
  float StepResult::*value;
  bool StepResult::*isThere;
};
inline constexpr StepOutput stepOutputs[] = {
    {format::OutputRole::loss, &StepResult::loss, &StepResult::hasLoss},
    {format::OutputRole::grad_norm, &StepResult::gradNorm, &StepResult::hasGradNorm},
    {format::OutputRole::learning_rate, &StepResult::learningRate, &StepResult::hasLearningRate},
    {format::OutputRole::gradient_scale, &StepResult::gradientScale, &StepResult::hasGradientScale},
    {format::OutputRole::skipped_steps, &StepResult::skippedSteps, &StepResult::hasSkippedSteps},
    {format::OutputRole::loss_scale, &StepResult::lossScale, &StepResult::hasLossScale},
    {format::OutputRole::loss_weight, &StepResult::lossWeight, &StepResult::hasLossWeight},
    {format::OutputRole::loss_beside, &StepResult::lossBeside, &StepResult::hasLossBeside}};
static_assert(std::size(stepOutputs) == static_cast<size_t>(format::OutputRole::MAX) + 1);

} // namespace dtc::rt
