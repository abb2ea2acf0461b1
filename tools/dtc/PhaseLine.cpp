#include "tools/dtc/PhaseLine.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

namespace dtc {
namespace {

// Returns whether stderr is a terminal that can erase a line.
bool mayDraw() {
  const char *kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind && *kind && llvm::StringRef(kind) != "dumb";
}

constexpr const char *kEraseLine = "\r\x1b[K";

} // namespace

PhaseLine::PhaseLine() : isOn(mayDraw()) {}

void PhaseLine::enter(llvm::StringRef phase) {
  if (!isOn)
    return;
  llvm::errs() << kEraseLine << phase << " ...";
  isShown = true;
}

void PhaseLine::clear() {
  if (isShown)
    llvm::errs() << kEraseLine;
  isShown = false;
}

void PhaseLine::disable() {
  clear();
  isOn = false;
}

} // namespace dtc
