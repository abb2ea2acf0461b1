// Writes the events of steps and evaluations for TensorBoard, on rank 0.
#pragma once

#include "runtime/metrics/EventFile.h"
#include "tools/dtrun/Report.h"

namespace dtc::rt {

// Writes events to a file. If that fails, training continues without them and stderr tells so once.
class StepEvents {
public:
  // Opens a file in `folder`, which must exist.
  void open(const std::string &folder);
  // Writes the scalars of a step.
  void write(const StepReport &report);
  // Writes the loss of an evaluation.
  void write(const EvaluationReport &report);

private:
  void check(const Status &status);

  EventFile file;
  bool isOver = false;
};

// Returns the scalars of a step, under names that TensorBoard sorts. Values that are unknown or not
// finite are left out.
std::vector<Scalar> scalarsOf(const StepReport &report);

} // namespace dtc::rt
