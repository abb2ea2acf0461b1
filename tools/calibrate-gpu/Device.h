// Asks the driver about a device.
#pragma once

#include "Points.h"

// Returns the properties of a device.
DeviceFacts factsOf(int device);
// Returns what NVML reports of a device now.
Moment momentOf(int device);
