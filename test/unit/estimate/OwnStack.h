// dtc's own software stack, for tests that need any stack.
#pragma once

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/SoftwareStack.h"

namespace dtc {

// Returns the stack of dtc on CPUs, which adds next to nothing to the costs of the graph.
inline const SoftwareStack &ownStack() {
  static const SoftwareStack stack = *loadStack("dtc");
  return stack;
}

// Returns the stack of dtc for a device.
inline const SoftwareStack &ownStack(const DeviceKind &device) {
  static const SoftwareStack onGpu = *loadStack("dtc-gpu");
  return device.deviceClass == DeviceClass::Gpu ? onGpu : ownStack();
}

} // namespace dtc
