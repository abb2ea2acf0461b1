// All that a proof of values knows of one program in one entry, as far as the program has gone.
#pragma once

#include "compiler/prove/verify/Channels.h"
#include "compiler/prove/verify/Memory.h"

namespace dtc {

// The state that flow functions read and change, one instruction after the other.
class ProgramState {
public:
  ProgramState(const Steps &steps, const GroupAxes &groups, Board &board)
      : steps(steps), groups(groups), initial(steps, groups), at(steps),
        clocks(steps.program.num_streams(), steps.program.num_events()),
        memory(at, clocks, initial), channels(at, groups, board) {}
  ProgramState(const ProgramState &) = delete;

  // Returns the axes on which ranks of the program differ.
  AxisSet varying() const { return groups.varying(steps.index); }
  // Returns the axes on which the scalars of the instruction depend.
  AxisSet scalarAxes() const { return at.source->scalarAxes & varying(); }
  // Returns the names of axes, for messages.
  std::string namesOf(AxisSet axes) const { return axisNames(steps.manifest, axes); }

  const Steps &steps;
  const GroupAxes &groups;
  const InitialTensors initial;
  Execution at;
  Clocks clocks;
  Memory memory;
  Channels channels;
  bool isBlocked = false;             // the instruction waits for another program
  uint64_t executed = 0, skipped = 0; // instructions; the skipped ones count as executed
};

} // namespace dtc
