// Requirements for every backend of Comm. Each function is called on all ranks of `world` at the
// same time.
#pragma once

#include "runtime/comm/Comm.h"

namespace dtc::rt::conformance {

// A check, with its name for messages.
struct Check {
  const char *name;
  void (*run)(Comm &world);
};

// Holds all checks, in a fixed order.
extern const Check checks[];
extern const int numChecks;

} // namespace dtc::rt::conformance
