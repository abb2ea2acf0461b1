// Repeats of a task: instructions that run once for each of several equal layers.
#pragma once

#include "runtime/format/Operands.h"

#include <cstdint>
#include <vector>

namespace dtc::format {

// Calls visit(instruction, layer) for each of `instructions`, ascending indices of the task, as
// often as it runs and in that order, until it returns false. Returns true if it never did.
// Example: 0 1 2 3 with the repeat [1, 3) x 2 is 0/0, 1/0, 2/0, 1/1, 2/1, 3/0.
template <typename Visit>
bool visitLayers(const Task &task, const std::vector<uint32_t> &instructions, Visit &&visit) {
  size_t next = 0, size = instructions.size();
  for (uint32_t i = 0; i < sizeOf(task.repeats()); ++i) {
    const Repeat &repeat = *task.repeats()->Get(i);
    for (; next < size && instructions[next] < repeat.begin(); ++next)
      if (!visit(instructions[next], 0u))
        return false;
    size_t begin = next;
    while (next < size && instructions[next] < repeat.end())
      ++next;
    for (uint32_t layer = 0; begin < next && layer < repeat.count(); ++layer)
      for (size_t k = begin; k < next; ++k)
        if (!visit(instructions[k], layer))
          return false;
  }
  for (; next < size; ++next)
    if (!visit(instructions[next], 0u))
      return false;
  return true;
}

// Returns the event of a Record or Wait in a layer and micro-batch; `slots` was checked to be 1 or
// more.
template <typename Op> uint32_t eventOf(const Op &op, uint32_t layer, uint32_t microBatch) {
  return static_cast<uint32_t>(op.event() + static_cast<int64_t>(op.layer_stride()) * layer +
                               microBatch % op.slots());
}

// Returns, per instruction of the task, the number of layers in which it runs; 1 outside of
// repeats.
std::vector<uint32_t> countLayers(const Task &task);

} // namespace dtc::format
