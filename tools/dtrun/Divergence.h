// What a run does about losses and gradients that are not finite, and about losses that spike.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Control.h"
#include "tools/dtrun/Checkpoints.h"
#include "tools/dtrun/Options.h"
#include "tools/dtrun/Report.h"
#include "tools/dtrun/Spikes.h"

#include <cstdint>
#include <optional>

namespace dtc::rt {

// Steps that a run may skip one after another. A loss scale may need 24 to come down from its
// largest value, 2^24; where more are skipped, the scale is not what is wrong.
inline constexpr uint64_t kMostSkipped = 32;

enum class Spike { None, Finite, NotFinite };

class Divergence {
public:
  Divergence(const Options &options, Control &world) : options(options), world(world) {}

  // The run stands where `from` says.
  void goOnFrom(const Checkpoints::Progress &from);
  // What a checkpoint is to know of this.
  void fill(Checkpoints::Progress &progress) const;

  // Whether training ends after a step, as far as this rank knows; the report is told whether the step was skipped.
  // A step that was skipped has changed nothing, so the next one may go well, whatever its loss was;
  // not for ever. A loss that is not finite ends training where the step was applied, or the last.
  bool ends(StepReport &report);
  // On stderr, what ended it on `rank`.
  void explain(const StepReport &report, int rank) const;

  // Whether the loss of a step is one to go back before; `spike` comes in as this rank's own. Rank 0
  // knows the losses, and others whether a step was skipped, whose loss does not count. Collective.
  Status judge(const StepReport &report, Spike &spike);

  enum class Way { Back, Stay, End };
  // What follows a step with a spike, where `target` is the checkpoint that parameters and state are
  // of again. Where there is none, a finite loss is no reason to end, unless `isChanged` says that
  // parameters may no longer be what they were. Says it, but for where it goes back to.
  Way afterSpike(const StepReport &report, Spike spike,
                 const std::optional<Checkpoints::Progress> &target, bool isChanged);
  // Says so and counts it, before goOnFrom(); `batches` of data are left out.
  void wentBack(const StepReport &report, const Checkpoints::Progress &target, uint64_t batches);
  uint64_t rollBacks() const { return count; }

private:
  void say(const StepReport &report, const std::string &what) const;

  const Options &options;
  Control &world;
  float skipped = 0;                // steps so far
  uint64_t skippedRow = 0;          // the last steps, one after another
  LossMean meanLoss;                // of rank 0
  uint64_t count = 0, row = 0;      // roll-backs so far; the last ones to one checkpoint
  uint64_t lastTarget = UINT64_MAX; // its step
};

} // namespace dtc::rt
