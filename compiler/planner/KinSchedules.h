// Derives bounds between schedules that compute the same in the same stages but keep different
// numbers of micro-batches alive: ZB-V for V-Half, both for V-Min, H1 for ZB-2p. Most of the latter
// need not be costed then.
#pragma once

#include "compiler/estimate/StepEstimate.h"

#include <array>

namespace dtc {

// Lower bounds for equivalent schedules, for the details of one mesh under one cost model.
class KinSchedules {
public:
  // Notes what a step, costed for alike devices, says of its kin.
  void note(const Decisions &decisions, const StepEstimate &step);
  // Notes what no cut and no recomputation of these decisions beats (lowerBoundSeconds): it is the
  // same of their kin.
  void noteBound(const Decisions &decisions, double seconds);
  // Seconds that the step of these decisions takes at least; 0 where nothing is known of its kin.
  double leastOf(const Decisions &decisions) const;
  // Forgets all bounds.
  void clear() { least.fill(0); }

private:
  static size_t indexOf(ScheduleKind kind, const Decisions &decisions);
  void raise(ScheduleKind kind, const Decisions &decisions, double seconds);

  // indexed by kind, ZeRO, least and most recomputation, location of activations and of the
  // optimizer
  std::array<double, size_t(3) * 4 * kNumRecomputes * kNumRecomputes * 3 * 2> least{};
};

} // namespace dtc
