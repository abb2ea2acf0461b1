// Counts the rows that the experts of a rank get in a step.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Binding.h"

#include <cstdint>
#include <vector>

namespace dtc::rt {

// Copies the numbers of rows, which products of experts read, to the host: once for each layer of
// experts that a task has, and for each round of it, right behind the first of its products. Rounds
// of a layer follow each other and multiply by the same matrices. The instructions behind these
// are in the order of the device's stream, so that the numbers are still in place.
class ExpertRows {
public:
  // Allocates memory for the copies of a step. Copies nothing if no axis of the mesh has experts
  // apart: all ranks then have as many rows. Nor on GPUs, whose steps copy to the host at their end
  // alone.
  Status create(const format::Manifest &manifest, const BoundProgram &bound, Device &device);

  // Enqueues the copy that follows an issue of the entry `train`, if one does. The instruction has
  // been moved to the issue.
  Status enqueue(uint32_t issue, const BoundInstruction &instruction, Device &device,
                 const Mark &mark);

  // Returns the rows of each layer of experts of each task, of all micro-batches together, once the
  // step is done. Ranks with the same program have the same layers.
  std::vector<int64_t> read() const;
  // Returns the most rounds that had rows in a layer, once the step is done; 1 if no rows are
  // counted.
  int64_t rounds() const;
  // Returns the size of what read() returns.
  size_t numLayers() const { return layers; }

private:
  // The counts of one issue.
  struct Copy {
    char *host = nullptr;
    uint32_t layer = 0; // in the result of read()
    uint32_t round = 0; // of the layer's exchanges, from 0 on
    uint64_t counts = 0;
  };
  static int64_t rowsOf(const Copy &copy);

  std::vector<Copy> copies;
  std::vector<int32_t> copyOf; // by issue of the entry; -1: none
  uint32_t layers = 0;
};

// Returns true if experts are on several ranks.
bool hasExpertsApart(const format::Manifest &manifest);

} // namespace dtc::rt
