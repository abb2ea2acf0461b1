// Bytes of one device by what they hold.
#pragma once

namespace dtc {

// Bytes of one device, by purpose.
struct MemoryParts {
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, temporaries = 0,
         communication = 0, reserved = 0;
  double onHost = 0; // in the host's memory, and no part of the total
  // Returns the bytes on the device.
  double total() const {
    return parameters + gradients + optimizer + activations + temporaries + communication +
           reserved;
  }
};

} // namespace dtc
