// The location and the reason of a failed proof.
#pragma once

#include <cstdint>
#include <string>

namespace dtc {

// An instruction of a rank, in a run of its task, and what is wrong with it.
struct Fault {
  // "communication": matched collectives agree, and none waits forever; "memory": what is read is
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

} // namespace dtc
