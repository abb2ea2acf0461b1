// The decisions that the user fixes with --fix.
#pragma once

#include "compiler/estimate/StepEstimate.h"
#include "compiler/support/Error.h"

#include <map>

namespace dtc {

// The decisions that --fix sets; all others are open.
struct Pins {
  std::optional<int64_t> dp, tp, pp, cp, ep, sp, zero, zeroGroup, microBatch, virtualStages,
      vocabOverPp, contextInner;
  std::optional<ScheduleKind> schedule;   // ZeroBubbleH1 stands for ZeroBubbleV too.
  std::optional<ContextKind> contextKind; // Both if `contextInner` is given.
  std::optional<Recompute> recompute;
  // Searched placements over tensor parallelism (true), or Megatron's (false). If `sp` is given,
  // they are Megatron's as well.
  std::optional<bool> searchedPlacements;
  // Overlap of gradients with the backward pass, and the size of their buckets.
  std::optional<int64_t> overlap, bucketMebibytes;
  std::optional<int64_t> offload;            // optimizer states in the host's memory
  std::optional<int64_t> offloadActivations; // Activations of all layers, or of none.
  std::optional<AxisOrder> order;
  std::optional<bool> foldedExperts;          // only for meshes with tensor parallelism
  std::optional<TensorOfParts> tensorOfParts; // all 0: even
  // Returns true if pipeline stages have different tensor-parallel degrees.
  bool isUneven() const { return tensorOfParts && *tensorOfParts != TensorOfParts{}; }

  // Returns default decisions with the pinned ones set.
  Decisions decisions() const;
  // Returns true if a pin asks for a feature that 'dtc compile' does not lower yet.
  bool beyondExecutable() const;
  // Returns true if the pins permit the schedule.
  bool allows(ScheduleKind kind) const;
};

// A key of --fix: a whole number from `low` to `high`, or one of `words`.
struct PinKey {
  llvm::StringRef name, meaning;
  std::optional<int64_t> Pins::*number = nullptr;
  int64_t low = 0, high = 0;
  llvm::StringRef words = "";

  // Returns the accepted values. Example: "0 to 3", "1 or more", "megatron or searched".
  std::string values() const;
};

// Returns all keys of --fix.
llvm::ArrayRef<PinKey> pinKeys();

// Returns a line for each key, for --help: "zero  0 to 3: ...".
std::string pinKeysText();

// Reads the keys and values of --fix. Errors: a key that does not exist, a value that is not of its
// kind.
Result<Pins> readPins(const std::map<std::string, std::string> &fixed);

} // namespace dtc
