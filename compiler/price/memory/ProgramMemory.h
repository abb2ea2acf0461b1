// Memory of programs that dtc compiles, before they are compiled.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/decide/plan/Plan.h"
#include "compiler/price/memory/MemoryParts.h"
#include "compiler/price/memory/ReadOutline.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>

namespace dtc {

// Returns a plan of the decisions that dtc compiles, with the fields that lowering reads; tensors
// are not placed yet.
Plan compiledPlan(const Decisions &d, Optimizer optimizer, Precision precision = Precision::F32,
                  GradientType gradDtype = GradientType::F32);

// Bytes that the embedding reads, and the head: tokens and targets.
struct InputBytes {
  double embedding = 0, head = 0;
  // Returns the bytes of all inputs.
  double total() const { return embedding + head; }
};

// Returns the samples of one dp rank per step.
double samplesOf(const Decisions &decisions);

// Predicts the static memory plan of a step without compiling it. A step with three layers is
// lowered as `dtc compile` does; its middle layer stands for all others. Collectives are bucketed
// and moved beside compute, and buffers placed in the arena, after all layers are added.
class ProgramMemory {
public:
  // `onGpu`: of ScheduleOptions, as of programs for GPUs.
  ProgramMemory(mlir::ModuleOp model, Optimizer optimizer, Precision precision = Precision::F32,
                GradientType gradDtype = GradientType::F32, bool onGpu = false);

  // Bytes of one rank. Nothing for decisions that dtc can't compile and for pipelines, after a
  // diagnostic where lowering fails, for models whose layers are of several kinds, and where layers
  // recompute differently.
  // `goodEnough`: bytes; what fits in these may in truth need less, by what a better arena spares.
  std::optional<MemoryParts> of(const Decisions &decisions, const SearchedPlacements &placements,
                                double goodEnough = 0);

  // Returns a lower bound of the bytes that `of` gives for any micro-batch and any recomputation up
  // to the most: the live bytes with one sample per micro-batch, including the tokens of the whole
  // step, without gaps of an arena. 0 if `of` returns nullopt. One lowering answers for all of
  // them, and for all bucket sizes.
  double leastBytes(const Decisions &decisions, const SearchedPlacements &placements);

  // Returns the least number of instructions that a micro-batch runs in a layer, under any
  // placement, recomputation or gathering; 0 if not known. Takes a lowering.
  int64_t instructionsOfLayer();

  // A program has those of a whole step from its start to its end.
  InputBytes inputsOf(double samples) const {
    return {samples * ofSample.embedding, samples * ofSample.head};
  }
  int64_t numLowered() const { return lowered; }

private:
  struct Bytes {
    BytesByKind onDevice;
    int64_t onHost;
  };
  bool isPlanned(const Decisions &decisions) const;
  // Returns the outline of the short model; collectives are not bucketed yet.
  std::optional<OutlinedProgram> readShort(const Decisions &decisions,
                                           const SearchedPlacements &placements);
  // Returns the outline of all layers.
  std::optional<StepOutline> outlineOf(const Decisions &decisions,
                                       const SearchedPlacements &placements);
  // The same of the bytes that do not depend on buckets.
  static Decisions outlineKeyOf(Decisions decisions);
  const std::optional<BytesByKind> &liveOf(const Decisions &decisions,
                                           const SearchedPlacements &placements);
  std::optional<Bytes> bytesOf(const Decisions &decisions, const SearchedPlacements &placements,
                               double samples, double goodEnough);

  Optimizer optimizer;
  Precision precision;
  GradientType gradDtype;
  bool onGpu;
  mlir::OwningOpRef<mlir::ModuleOp> shortModel;
  int64_t copies = 0; // additional copies of the middle layer
  bool isChain = false;
  InputBytes ofSample;
  int64_t lowered = 0;         // programs
  llvm::StringMap<int> layers; // layer of each parameter
  std::map<Decisions, std::optional<Bytes>> known;
  std::map<Decisions, std::optional<BytesByKind>> knownLive;
  std::map<Decisions, std::optional<StepOutline>>
      knownOutlines; // outlines before bucketing; most are equal for all bucket sizes
};

} // namespace dtc
