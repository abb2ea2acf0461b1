// The result of following an instruction.
#pragma once

#include "compiler/prove/verify/Fault.h"

#include <optional>
#include <utility>

namespace dtc {

// The result of a flow function. The instruction was followed, has a fault, or waits for what
// another program is going to contribute, and is then followed again.
struct FlowResult {
  FlowResult() = default;
  FlowResult(std::optional<Fault> fault) : fault(std::move(fault)) {}

  // Returns the result of an instruction that waits.
  static FlowResult waiting() {
    FlowResult result;
    result.waits = true;
    return result;
  }

  std::optional<Fault> fault;
  bool waits = false;
};

} // namespace dtc
