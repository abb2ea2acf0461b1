// Rules out kinds of context parallelism that another kind of the same mesh is never worse than. Internal to this
// folder.
#pragma once

#include "compiler/estimate/ModelCost.h"

namespace dtc {

// Told of the kinds of one mesh after the other, each mesh's together.
class ContextKinds {
public:
  // Whether under a kind that was told of before no pass of any part takes longer and none needs more memory, whatever
  // else is decided. Example: where nothing is hidden, a ring among 4 ranks that have few keys and values for many
  // queries rules an all-to-all out, which takes the queries along; with as many heads for keys it is the other way.
  bool isRuledOut(const Decisions &mesh, const ModelCost &cost);

private:
  // Of a pass, seconds that context parallelism makes it longer at the least and at the most: what runs beside compute
  // slows it, and lengthens what may hide the gathers of ZeRO.
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
    bool isBoth;
    std::vector<Part> parts;
  };
  static void addParts(const ModelCost &cost, std::vector<Part> &parts);

  Decisions mesh; // but for its kind and placement
  std::vector<Kind> kinds;
};

} // namespace dtc
