// Estimates of published cases, with constants that a fit may move.
#pragma once

#include "bench/planner/Case.h"
#include "compiler/uncertainty/ErrorTable.h"

#include <map>

namespace dtc::published {

// Factors on what compute/cost and the topology say of one device type; all 1 outside a fit. Those
// that a fit finds go into Constants.cpp.
struct DeviceFactors {
  double products = 1, memory = 1, insideBandwidth = 1, betweenBandwidth = 1, latency = 1;
};

// Constants in use: the files', unless a fit says otherwise.
class Knobs {
public:
  // Those of dtc's catalogue and of the stack files of a folder.
  static Result<Knobs> load(const std::string &stackFolder);
  std::vector<std::string> stackNames() const;
  SoftwareStack &stack(llvm::StringRef name) { return stacks.at(name.str()); }
  const SoftwareStack &stack(llvm::StringRef name) const { return stacks.at(name.str()); }
  bool hasStack(llvm::StringRef name) const { return stacks.count(name.str()); }
  DeviceFactors &device(llvm::StringRef name) { return devices[name.str()]; }
  DeviceFactors deviceOr(llvm::StringRef name) const {
    auto it = devices.find(name.str());
    return it == devices.end() ? DeviceFactors() : it->second;
  }

private:
  std::map<std::string, SoftwareStack> stacks;
  std::map<std::string, DeviceFactors> devices;
};

struct Outcome {
  const Case *item = nullptr;
  StepEstimate estimate;
  BlockCost layer; // of the first block
  ErrorClass key;
  double timeRatio() const { return estimate.stepSeconds / item->seconds; }
  // Sources read PyTorch's allocator unless their notes say otherwise, which does not see the
  // context and NCCL's buffers.
  double comparableBytes() const {
    const MemoryParts &memory = estimate.stages[estimate.fullestStage].memory;
    bool whole = item->row->notes("nvidia-smi");
    return estimate.peakBytes - (whole ? 0 : memory.communication + memory.reserved);
  }
  double memoryRatio() const { return comparableBytes() / item->memory; }
};

// Those of the row, which says nothing of the kind of context parallelism: it is the first that the software has, as
// all of them have it by default. Megatron-Core's is p2p (training/arguments.py), a ring.
Decisions decisionsOn(const SoftwareStack &software, const Case &item);

Outcome evaluate(const Case &item, const Knobs &knobs);

} // namespace dtc::published
