// The ranks of each axis of a mesh, and of the groups that follow from the axes.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

struct Decisions;

// The ranks of each axis.
struct AxisGroups {
  RankGroup tp, ep;        // inside a block
  RankGroup dense, expert; // ranks that share gradients of dense and of expert parameters
  RankGroup pp;            // stage to stage
  // Context parallelism inside a block: the ranks over which heads are spread, and those that hold
  // the keys and values of the same heads.
  RankGroup heads, keys;
  // Keys and values are gathered before their attention.
  bool gathersKeys = false;
};

// Returns the ranks of each axis under the decisions' order of axes.
AxisGroups groupsOf(const Decisions &decisions);

// Returns the number of ranks of a group.
double ranksOf(const RankGroup &group);

} // namespace dtc
