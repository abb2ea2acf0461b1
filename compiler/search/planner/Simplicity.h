// Says which of two plans is simpler, by the mechanisms that it needs besides data parallelism.
#pragma once

#include "compiler/decide/plan/Plan.h"

namespace dtc {

// The points of mechanisms, which the rows of decisions have (Decision::mechanism):
//
//     mechanism                      points
//     tensor parallelism             4: an axis of the mesh
//     pipeline parallelism           4
//     expert parallelism             4
//     context parallelism            5: an axis, and sequences in parts
//     a higher kind of ZeRO          the kind, of 2 and 3: ZeRO-1 sends no more than replicas do
//     ZeRO within groups             2
//     experts folded over tp         1
//     tp by device group             2: heterogeneous devices have tensor parallelism of their own
//     virtual stages                 2 up to four of a stage, 3 beyond
//     split backward passes          2: schedules of the zero-bubble kind
//     vocabulary over stages         3
//     recomputation                  2 where all layers do the same, selective or full; else 3
//     optimizer on the host          3
//     activations on the host        3
//     searched placements            1
//     another order of axes          1: than tp cp dp pp, from the innermost links out
//
// Sequence parallelism goes with tensor parallelism, and micro-batches with every batch: both are
// free.

// Returns the sum of the points of a plan. `decisions` are those of a finished plan (decisionsOf).
int complexityOf(const Decisions &decisions);

// Returns the least sum of points of the plans that the search may make of `decisions`, which are
// those of a candidate: they bound what layers may do.
int leastComplexityOf(const Decisions &decisions);

// The order of plans that tie: fewest points, then the smallest memory of a device, then the fewest
// expected seconds. The preferred plan compares least.
struct Simplicity {
  int complexity = 0;
  int64_t peakBytes = 0;
  double expectedSeconds = 0;
  auto operator<=>(const Simplicity &) const = default;
};

// Returns the rank of a plan among plans that tie. `expectedSeconds` are those of a step of the
// plan (Candidate::score).
Simplicity simplicityOf(const Plan &plan, double expectedSeconds);

// Names the mechanisms for which `other` has more points than `plan`: "pipeline parallelism,
// virtual stages".
std::string mechanismsBeyond(const Decisions &plan, const Decisions &other);

// Returns the disadvantages of the fastest plan against `plan`, which was taken in its place:
// mechanisms, or else "more memory". Empty if they are the same plan.
std::string reasonToPassOver(const Plan &fastest, const Plan &plan);

// Returns the largest relative difference of step times at which plans count as equally fast. It is
// 1 %, or half of `noise` if that is less. At a difference of `noise` one order of two plans in
// four is wrong (Uncertainty::noise). With errors that fall off exponentially two orders in five
// are wrong at 1 % for a noise of 3.2 %, and one in three at half of any noise.
double tieShare(double noise);

} // namespace dtc
