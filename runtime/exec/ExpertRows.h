// Counts the rows that the experts of a rank get in a step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Binding.h"
#include "runtime/exec/ExpertCounts.h"

#include <cstdint>
#include <vector>

namespace dtc::rt {

// Copies the numbers of rows, which products of experts read, to the host: once for each layer of
// experts and each round of it, right behind the first product of a run that makes a gradient of
// its weights; in a program that trains no expert behind the first product of any kind. Rounds of a
// layer follow each other and make gradients of the same weights. The instructions behind these
// products are in the order of the device's stream, so that the numbers are still in place.
class ExpertRows {
public:
  // Allocates memory for the copies of a step. Copies nothing in a program without experts.
  Status create(const BoundProgram &bound, Device &device);

  // Enqueues the copy that follows an issue of the entry `train`, if one does. The instruction has
  // been moved to the issue.
  Status enqueue(uint32_t issue, const BoundInstruction &instruction, Device &device,
                 const Mark &mark);

  // Reads the rows once the step is done, into memory of `counts` if that suffices. Layers are in
  // the order of the program's layers. Ranks with the same program have the same layers.
  void read(ExpertCounts &counts);
  // Returns the numbers of layers and of experts of this rank, without rows.
  ExpertCounts sizes() const { return {.layers = layers, .experts = experts}; }

private:
  // The counts of one issue.
  struct Copy {
    char *host = nullptr;
    uint32_t layer = 0;   // in the result of read()
    uint32_t passage = 0; // the number of the layer's passage in one micro-batch
    uint64_t samples = 0, experts = 0;
  };
  // Calls visit(expert, rows) for each number of a copy, of the experts of each sample.
  template <typename Visit> static void forCounts(const Copy &copy, const Visit &visit);
  static uint64_t bytesOf(const Copy &copy) {
    return copy.samples * copy.experts * sizeof(int32_t);
  }
  std::vector<Copy> copies;
  std::vector<int32_t> copyOf;   // by issue of the entry; -1: none
  std::vector<int64_t> roundsOf; // those with rows, by passage
  uint32_t layers = 0, experts = 0;
};

} // namespace dtc::rt
