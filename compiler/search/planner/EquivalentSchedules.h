// Derives bounds between schedules that compute the same in the same stages but keep different
// numbers of micro-batches alive: ZB-V bounds V-Half, both bound V-Min, and H1 bounds ZB-2p. Most
// of the latter need not be costed then. Internal to this folder.
#pragma once

#include "compiler/price/estimate/StepEstimate.h"

#include <array>

namespace dtc {

// Lower bounds for equivalent schedules, for the details of one mesh under one cost model.
class EquivalentSchedules {
public:
  // Derives the bounds of equivalent schedules from a step that was costed for homogeneous devices.
  void note(const Decisions &decisions, const StepEstimate &step);
  // Derives the same bounds from a lower bound on the seconds of these decisions under any cut and
  // any recomputation (lowerBoundSeconds).
  void noteBound(const Decisions &decisions, double seconds);
  // Returns a lower bound in seconds of the step of these decisions; 0 if no equivalent schedule
  // was noted.
  double leastOf(const Decisions &decisions) const;
  // Forgets all bounds.
  void clear() { least.fill(0); }

private:
  static size_t indexOf(ScheduleKind kind, const Decisions &decisions);
  void raise(ScheduleKind kind, const Decisions &decisions, double seconds);

  // Indexed by kind, ZeRO, least and most recomputation, location of activations and of the
  // optimizer.
  std::array<double, size_t(3) * 4 * kNumRecomputes * kNumRecomputes * 3 * 2> least{};
};

} // namespace dtc
