// dtc's own software stack, for tests that do not care which.
#pragma once

#include "compiler/stack/SoftwareStack.h"

namespace dtc {

// What the graph says, next to nothing on top.
inline const SoftwareStack &ownStack() {
  static const SoftwareStack stack = *loadStack("dtc");
  return stack;
}

inline const SoftwareStack &ownStack(const DeviceKind &device) {
  static const SoftwareStack onGpu = *loadStack("dtc-gpu");
  return device.deviceClass == DeviceClass::Gpu ? onGpu : ownStack();
}

} // namespace dtc
