// Rules out kinds of context parallelism that another kind of the same mesh is never worse than.
// Internal to this folder.
#pragma once

#include "compiler/price/estimate/ModelCost.h"

namespace dtc {

// Remembers the context-parallel kinds of one mesh. All kinds of a mesh are passed in a row; the
// next mesh starts anew.
class ContextKinds {
public:
  // Returns true if an earlier kind of the same mesh is no worse: no pass of any stage takes longer
  // under it and none needs more memory, whatever else is decided. Otherwise remembers the kind.
  // Example: if nothing overlaps, a ring among 4 ranks with few keys and values for many queries
  // rules out an all-to-all, which also moves the queries; with as many heads for keys it is the
  // reverse.
  bool isRuledOut(const Decisions &mesh, const ModelCost &cost);

private:
  // Bounds of the seconds that context parallelism adds to a pass: overlapped communication slows
  // compute, and lengthens the time that may hide ZeRO's gathers.
  struct Pass {
    double least = 0, most = 0;
  };
  struct Part {
    Pass forward, backward;
    double forwardTransient = 0, transient = 0; // bytes
    bool isNoWorseThan(const Part &other) const;
  };
  struct Kind {
    int placement;
    bool hasTwoGroups; // of ranks of context parallelism
    std::vector<Part> parts;
  };
  static void addParts(const ModelCost &cost, std::vector<Part> &parts);

  Decisions mesh; // The last mesh, with default values for its kind and placement.
  std::vector<Kind> kinds;
};

} // namespace dtc
