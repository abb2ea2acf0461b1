// What rank 0 tells TensorBoard of each step and evaluation.
#pragma once

#include "runtime/metrics/EventFile.h"
#include "tools/dtrun/Report.h"

namespace dtc::rt {

// Training goes on without events where they can't be written: stderr says so, once.
class StepEvents {
public:
  // Into `folder`, which is there.
  void open(const std::string &folder);
  void write(const StepReport &report);
  void write(const EvaluationReport &report);

private:
  void check(const Status &status);

  EventFile file;
  bool isOver = false;
};

// What is shown of a step, by the names that TensorBoard sorts by; what is not known or not finite is left out.
std::vector<Scalar> scalarsOf(const StepReport &report);

} // namespace dtc::rt
