// Asks the driver about a device.
#pragma once

#include "Points.h"

DeviceFacts factsOf(int device);
Moment momentOf(int device);
