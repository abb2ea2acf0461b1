// The tensors that memory holds before a step: parameters, state, inputs and scalars.
#pragma once

#include "compiler/prove/verify/GroupAxes.h"
#include "compiler/prove/verify/Steps.h"

#include <string>
#include <vector>

namespace dtc {

// A tensor that is there before the step.
struct InitialTensor {
  uint32_t buffer = 0;
  std::string name;
  AxisSet shards = 0; // axes along which ranks hold different parts of it
  uint64_t elements = 0;
  bool isShared = false; // other programs have it, too
  bool isInput = false;
  bool isRest = false;                    // what each rank has of a gradient and has not sent yet
  const format::Tensor *tensor = nullptr; // null for inputs and scalars, which do not persist
};

// The initial tensors of a program, and along which axes they are split.
class InitialTensors {
public:
  InitialTensors(const Steps &steps, const GroupAxes &groups);

  // Returns all tensors. Where the memory of two overlaps, the later one is there.
  const std::vector<InitialTensor> &all() const { return tensors; }
  // Returns the axes that split samples or parts of them, in any program.
  AxisSet batchAxes() const { return batch; }
  // Returns those of them that split no sample from another, but the parts of each.
  AxisSet contextAxes() const { return context; }
  // Returns the axes that split the dims of a tensor.
  AxisSet
  shardsOf(const flatbuffers::Vector<flatbuffers::Offset<format::ShardedDim>> *shards) const;
  // Returns the segments of a buffer whose address is fixed.
  SegmentSpan spanOf(uint32_t buffer) const;

private:
  void add(InitialTensor tensor);
  void addPersistent();

  const Steps &steps;
  AxisSet varying; // axes on which ranks of the program differ
  AxisSet batch = 0, context = 0;
  std::vector<InitialTensor> tensors;
};

} // namespace dtc
