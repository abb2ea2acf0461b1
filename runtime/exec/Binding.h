// A program made ready for one rank: addresses, rank scalars and communicators in place of indices.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Groups.h"
#include "runtime/format/Operands.h"

#include <vector>

namespace dtc::rt {

struct BoundInstruction {
  Command command;
  uint32_t index = 0; // in Program.instructions
  TimeClass timeClass = TimeClass::Kernel;
  int stream = 0;
  int event = -1;       // Record, Wait
  int ordinal = 0;      // Wait: which record of its event, from 1
  Comm *comm = nullptr; // Collective
};

struct BoundProgram {
  std::vector<BoundInstruction> instructions; // in program order
  std::vector<std::vector<uint32_t>> streams; // indices of `instructions`
};

std::vector<uint32_t> meshSizes(const format::Manifest &manifest);

// What a tensor of the file is to initialisation, --init and --dump-params.
TensorSpec tensorSpec(const format::Tensor &tensor);

DataType dataType(format::DType type);

// base + sum of stride * coordinate on the axis of each term; 0 for null.
int64_t resolve(const format::RankScalar *scalar, const std::vector<uint32_t> &coordinates);

// Binds `program` to the arena of `device` and loads its kernels' symbols, whose code segments the
// device has loaded: `codeSegments` maps Kernel.code_segment to the device's number of it.
Status bindProgram(const format::Manifest &manifest, const format::Program &program,
                   const std::vector<uint32_t> &coordinates, const Groups &groups,
                   const std::vector<int> &codeSegments, Device &device, BoundProgram &bound);

} // namespace dtc::rt
