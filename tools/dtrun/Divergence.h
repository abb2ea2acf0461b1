// Decides what a run does about losses and gradients that are not finite, and about losses that
// spike.
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

// Most steps that a run may skip in a row. A loss scale may need 24 to come down from its largest
// value, 2^24. If more are skipped, the scale is not the cause.
inline constexpr uint64_t kMostSkipped = 32;

// The loss of a step: usual, too large, or not finite.
enum class Spike { None, Finite, NotFinite };

// Follows the losses of a run and decides whether it ends or goes back.
class Divergence {
public:
  Divergence(const Options &options, Control &world) : options(options), world(world) {}

  // Continues from the state in `from`.
  void goOnFrom(const Checkpoints::Progress &from);
  // Fills in what a checkpoint must record of this.
  void fill(Checkpoints::Progress &progress) const;

  // Returns true if training ends after a step, as far as this rank knows. Sets in the report
  // whether the step was skipped. A skipped step has changed nothing, so the next one may succeed
  // whatever the loss was; but only kMostSkipped may follow one another. A loss that is not finite
  // ends training if the step was applied, or if it is the last one.
  bool ends(StepReport &report);
  // Prints on stderr what ended training on `rank`.
  void explain(const StepReport &report, int rank) const;

  // Decides whether the run must go back before this step because of its loss. `spike` holds this
  // rank's own finding before the call. Rank 0 knows the losses, and other ranks know whether a
  // step was skipped, whose loss does not count. Collective.
  Status judge(const StepReport &report, Spike &spike);

  // The ways to go on after a spike: go back, continue from where the run is, or end.
  enum class Way { Back, Stay, End };
  // Decides what follows a step with a spike. `target` is the checkpoint to which parameters and
  // state have been reset. Without one, a finite loss does not end training, unless `isChanged`
  // tells that parameters may have changed. Prints the decision, except for going back.
  Way afterSpike(const StepReport &report, Spike spike,
                 const std::optional<Checkpoints::Progress> &target, bool isChanged);
  // Prints and counts a roll-back. Call before goOnFrom(). `batches` is the number of batches that
  // are left out.
  void wentBack(const StepReport &report, const Checkpoints::Progress &target, uint64_t batches);
  uint64_t rollBacks() const { return count; }

private:
  void say(const StepReport &report, const std::string &what) const;

  const Options &options;
  Control &world;
  float skipped = 0;       // number of steps so far
  uint64_t skippedRow = 0; // number of last steps in a row
  LossMean meanLoss;       // rank 0's
  // number of roll-backs so far, and of the last ones to one checkpoint
  uint64_t count = 0, row = 0;
  uint64_t lastTarget = UINT64_MAX; // step of that checkpoint
};

} // namespace dtc::rt
