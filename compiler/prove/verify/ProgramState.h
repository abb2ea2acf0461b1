// All that a proof of values knows of one program in one entry, as far as the program has gone.
#pragma once

#include "compiler/prove/verify/Channels.h"
#include "compiler/prove/verify/Memory.h"
#include "compiler/prove/verify/RowCounts.h"

#include <array>
#include <set>
#include <utility>

namespace dtc {

// The rows that were added to gradients in one run of a task: who wrote both operands of each
// product, and where they are.
struct AddedRows {
  using Source = std::array<int64_t, 3>; // run, position in its task, address
  uint32_t run = 0;
  std::map<int64_t, std::set<std::pair<Source, Source>>> sources; // key: address of a gradient
};

// The state that flow functions read and change, one instruction after the other.
class ProgramState {
public:
  ProgramState(const Steps &steps, const GroupAxes &groups, Board &board)
      : steps(steps), groups(groups), initial(steps, groups), at(steps),
        clocks(steps.program.num_streams(), steps.program.num_events()),
        memory(at, clocks, initial), channels(at, groups, board),
        countStorages(storagesOfCounts(steps.program)) {}
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
  RowOrders rowOrders;
  const std::set<uint32_t> countStorages; // that have numbers of rows of experts
  AddedRows addedRows;
  // The task whose choices are followed: the first that makes one. Others may recompute them.
  std::optional<uint32_t> choosingTask;
  bool isBlocked = false;             // the instruction waits for another program
  uint64_t executed = 0, skipped = 0; // instructions; the skipped ones count as executed
};

} // namespace dtc
