// Estimates published cases, with constants that a fit may change.
#pragma once

#include "bench/planner/Case.h"
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/price/uncertainty/ErrorTable.h"

#include <map>

namespace dtc::published {

// Factors on the figures of compiler/price/cost and the topology for one device type; all 1 outside
// of a fit. The results of a fit go into Constants.cpp.
struct DeviceFactors {
  double products = 1, memory = 1, insideBandwidth = 1, betweenBandwidth = 1, latency = 1;
};

// The constants in use: those of the files, unless a fit changes them.
class Knobs {
public:
  // Returns the constants of dtc's catalogue and of the stack files of a folder.
  static Result<Knobs> load(const std::string &stackFolder);
  // Returns the names of all stacks.
  std::vector<std::string> stackNames() const;
  // Returns a stack, which must exist.
  SoftwareStack &stack(llvm::StringRef name) { return stacks.at(name.str()); }
  const SoftwareStack &stack(llvm::StringRef name) const { return stacks.at(name.str()); }
  // Returns true if the stack exists.
  bool hasStack(llvm::StringRef name) const { return stacks.count(name.str()); }
  // Returns the factors of a device, to be changed.
  DeviceFactors &device(llvm::StringRef name) { return devices[name.str()]; }
  // Returns the factors of a device; all 1 if none were set.
  DeviceFactors deviceOr(llvm::StringRef name) const {
    auto it = devices.find(name.str());
    return it == devices.end() ? DeviceFactors() : it->second;
  }

private:
  std::map<std::string, SoftwareStack> stacks;
  std::map<std::string, DeviceFactors> devices;
};

// The estimate of a case.
struct CaseResult {
  const Case *item = nullptr;
  StepEstimate estimate;
  BlockCost layer; // cost of the first block
  ErrorClass key;
  // Returns estimated over published seconds.
  double timeRatio() const { return estimate.stepSeconds / item->seconds; }
  // Returns the estimated bytes as the source measures them. Sources read PyTorch's allocator,
  // which does not see the context and NCCL's buffers, unless their notes say otherwise.
  double comparableBytes() const {
    const MemoryParts &memory = estimate.stages[estimate.fullestStage].memory;
    bool whole = item->row->notes("nvidia-smi");
    return estimate.peakBytes - (whole ? 0 : memory.communication + memory.reserved);
  }
  // Returns estimated over published bytes.
  double memoryRatio() const { return comparableBytes() / item->memory; }
};

// Returns the decisions of the row. Rows do not give the kind of context parallelism, so it is the
// first that the software has, which is the default of all of them. Megatron-Core's is p2p
// (training/arguments.py), a ring.
Decisions decisionsOn(const SoftwareStack &software, const Case &item);

// Estimates a case.
CaseResult evaluate(const Case &item, const Knobs &knobs);

} // namespace dtc::published
