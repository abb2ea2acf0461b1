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

// Bytes that the embedding reads, and the head: tokens and targets.
struct InputBytes {
  double embedding = 0, head = 0;
  double total() const { return embedding + head; }
};

// Of one rank of dp in one step.
double samplesOf(const Decisions &decisions);

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
  // `goodEnough`: bytes; what fits in these may in truth need less, by what a better arena spares.
  std::optional<MemoryParts> of(const Decisions &decisions, const SearchedPlacements &placements,
                                double goodEnough = 0);

  // What `of` says of no micro-batch and no recomputation up to the most is less. Live at once with one sample in a micro-batch,
  // tokens of all of the step's included, and without holes of an arena. 0 where `of` says nothing. One lowering answers
  // for all of them, and for all buckets.
  double leastBytes(const Decisions &decisions, const SearchedPlacements &placements);

  // That a micro-batch runs in a layer: no placement, recomputation or gathering makes it fewer. 0 where that is not
  // known. Takes a lowering.
  int64_t instructionsOfLayer();

  // A program has those of a whole step from its start to its end.
  InputBytes inputsOf(double samples) const {
    return {samples * ofSample.embedding, samples * ofSample.head};
  }
  int64_t numLowered() const { return lowered; }

private:
  using Key = std::tuple<int64_t, int64_t, bool, int, int64_t, int64_t, int64_t, int64_t, Recompute,
                         bool, int64_t, bool>;
  struct Bytes {
    BytesByKind onDevice;
    int64_t onHost;
  };
  static Key keyOf(const Decisions &decisions);
  bool isPlanned(const Decisions &decisions) const;
  // Of the short model; collectives are not in buckets yet.
  std::optional<OutlinedProgram> readShort(const Decisions &decisions,
                                           const SearchedPlacements &placements);
  // Of all layers.
  std::optional<StepOutline> outlineOf(const Decisions &decisions,
                                       const SearchedPlacements &placements);
  // The same of what buckets leave alike.
  static Key outlineKeyOf(Decisions decisions);
  const std::optional<BytesByKind> &liveOf(const Decisions &decisions,
                                           const SearchedPlacements &placements);
  std::optional<Bytes> bytesOf(const Decisions &decisions, const SearchedPlacements &placements,
                               double samples, double goodEnough);

  std::string optimizer, precision, gradDtype;
  bool onGpu;
  mlir::OwningOpRef<mlir::ModuleOp> shortModel;
  int64_t copies = 0; // of the middle layer
  bool isChain = false;
  InputBytes ofSample;
  int64_t lowered = 0;         // programs
  llvm::StringMap<int> layers; // of parameters
  std::map<Key, std::optional<Bytes>> known;
  std::map<Key, std::optional<BytesByKind>> knownLive;
  std::map<Key, std::optional<StepOutline>>
      knownOutlines; // of these; most are alike under all buckets
};

} // namespace dtc
