// Writes planned exec.programs to the bytes of a .dte file.
#pragma once

#include "compiler/build/emit/ProgramCode.h"
#include "compiler/support/Error.h"
#include "dialects/exec/Exec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc {

// The facts of a file that the program itself does not have. Batch and micro-batches are those of
// its inputs.
struct EmitInfo {
  std::string modelName;
  uint64_t sequenceLength = 0; // tokens of a sample; 0: the model has no sequences
  double defaultLearningRate = 0;
  double modelFlopsPerStep = 0;  // flops of the whole job, as Megatron-LM counts them
  double peakFlopsPerDevice = 0; // 0: unknown
  std::string planJson;
  std::string config; // the Hugging Face config.json that the model was made from; empty: of none
  // Per position of the mesh, counted row-major, its rank; empty: each rank is at the position of
  // its number. Programs number their ranks by position, whatever it says here.
  std::vector<uint32_t> meshRanks;
};

// Writes `programs`, those of all ranks, the code of their kernels (symbols as in exec.kernel) and
// `info` as an executable that passes all of dtrun's checks. The same input gives the same bytes.
// Errors: a program has no memory plan, programs are not of one mesh with a program for each rank,
// or a rule of the format is broken; the message names the program or the instruction.
Result<std::vector<uint8_t>> emitExecutable(llvm::ArrayRef<exec::ProgramOp> programs,
                                            const ProgramCode &code, const EmitInfo &info);

} // namespace dtc
