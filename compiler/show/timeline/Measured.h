// Compares measurements of 'dtrun --profile' with the simulation.
#pragma once

#include "compiler/show/timeline/ProgramSimulation.h"

namespace dtc {

// An instruction of a task: all its runs and layers in a step.
struct ComparedInstruction {
  std::string task, name; // "gemm at model.mlir:3:1 (h.0.mlp)"
  std::string kind;       // "gemm", "collective", ...
  uint32_t instruction = 0;
  uint64_t runs = 0; // a step
  double measuredSeconds = 0, simulatedSeconds = 0;
};

// The measured and the simulated step of one rank.
struct Comparison {
  uint32_t rank = 0;
  uint64_t steps = 0;      // number of steps that the means are over
  double measuredStep = 0; // mean seconds from the first begin to the last end
  std::vector<ComparedInstruction> instructions; // in the order of the program
};

// Reads the Chrome trace in `text`, named `file`, of one rank of the program, and puts its
// instructions beside those of the rank's class. The first step, which warms up, is left out where
// there are more. Errors: no such trace; a trace of another program.
Result<Comparison> compareWithTrace(const format::Manifest &manifest,
                                    const ProgramSimulation &simulation, const std::string &text,
                                    const std::string &file);

} // namespace dtc
