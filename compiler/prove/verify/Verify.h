// Proves over all ranks' programs of an executable that a step does what it should: see README.md.
#pragma once

#include "runtime/format/dte_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc {

// The location and the reason of a failed proof: an instruction of a rank, in a run of its task.
struct Fault {
  // "meetings": matched collectives agree, and none waits forever; "memory": what is read is
  // what was written for it, in order; "values": what is added up is added up once, replicas stay
  // equal.
  std::string check;
  std::string entry; // "train", "evaluate"
  uint32_t program = 0, rank = 0;
  std::string task;
  uint32_t microBatch = 0, instruction = 0, layer = 0;
  std::string op;     // "gemm at model.mlir:3:1 (h.0.mlp)"
  std::string source; // location of the op in the model: "h.0.mlp"
  std::string message, note;

  // "rank 0, task 'forward', micro-batch 1, instruction 17, gemm at ...: message"
  std::string text() const;
};

// The result of verifying all programs of a file.
struct VerifyReport {
  std::optional<Fault> fault; // the first one
  uint64_t ranks = 0, programs = 0, classes = 0;
  uint64_t instructions = 0; // executed instructions, in all programs and entries
  uint64_t followed = 0; // instructions that were not skipped as a repetition: see SkipPeriods.h
};

// `manifest` has passed format::verifyManifest. `skips` is false in tests of what may be skipped.
VerifyReport verifyPrograms(const format::Manifest &manifest, bool skips = true);

} // namespace dtc
