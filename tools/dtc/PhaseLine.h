// Shows on a terminal what a command is doing.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc {

// One line of stderr that is drawn again for each phase, and erased at the end. Prints nothing if
// stderr is not a terminal.
class PhaseLine {
public:
  PhaseLine();
  ~PhaseLine() { clear(); }
  PhaseLine(const PhaseLine &) = delete;
  PhaseLine &operator=(const PhaseLine &) = delete;

  // Shows "PHASE ...", until the next phase or clear().
  void enter(llvm::StringRef phase);
  // Erases the line, so that other text may be printed.
  void clear();
  // Shows nothing from now on, because other text goes to stderr.
  void disable();

private:
  bool isOn, isShown = false;
};

} // namespace dtc
