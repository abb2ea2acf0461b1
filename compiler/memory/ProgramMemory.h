// Memory of programs that dtc compiles, before they are compiled.
#pragma once

#include "compiler/memory/MemoryParts.h"
#include "compiler/memory/ReadOutline.h"
#include "compiler/plan/Decisions.h"
#include "compiler/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>

namespace dtc {

// Of decisions that dtc compiles: what lowering reads of a plan, tensors not placed yet.
Plan compiledPlan(const Decisions &d, const std::string &optimizer,
                  const std::string &precision = "f32", const std::string &gradDtype = "f32");

// What the static plan of a step will need, without making it. The step with three layers is
// lowered as `dtc compile` does; its middle layer stands for all others. Collectives are put into
// buckets and beside compute, and buffers into the arena, once all layers are there.
class ProgramMemory {
public:
  // `onGpu`: of ScheduleOptions, as of programs for GPUs.
  ProgramMemory(mlir::ModuleOp model, std::string optimizer, std::string precision = "f32",
                std::string gradDtype = "f32", bool onGpu = false);

  // Bytes of one rank. Nothing for decisions that dtc can't compile and for pipelines, after a
  // diagnostic where lowering fails, for models whose layers are of several kinds, and where layers
  // recompute unlike each other.
  std::optional<MemoryParts> of(const Decisions &decisions, const SearchedPlacements &placements);

private:
  using Key = std::tuple<int64_t, int64_t, bool, int, int64_t, int64_t, int64_t, int64_t, Recompute,
                         bool, int64_t, bool>;
  struct Bytes {
    BytesByKind onDevice;
    int64_t onHost;
  };
  std::optional<Bytes> bytesOf(const Decisions &decisions, const SearchedPlacements &placements,
                               int64_t microBatches);

  std::string optimizer, precision, gradDtype;
  bool onGpu;
  mlir::OwningOpRef<mlir::ModuleOp> shortModel;
  int64_t copies = 0; // of the middle layer
  bool isChain = false;
  llvm::StringMap<int> layers; // of parameters
  std::map<Key, std::optional<Bytes>> known;
};

} // namespace dtc
