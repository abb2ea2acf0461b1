// What every backend of Comm must do: each function is called on all ranks of `world` at once.
#pragma once

#include "runtime/comm/Comm.h"

namespace dtc::rt::conformance {

struct Check {
  const char *name;
  void (*run)(Comm &world);
};

// All checks, in a fixed order.
extern const Check checks[];
extern const int numChecks;

} // namespace dtc::rt::conformance
