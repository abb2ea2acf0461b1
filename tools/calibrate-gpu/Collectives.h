// Measurements of collectives.
#pragma once

#include "Points.h"
#include "Runs.h"

// Measures collectives of 2, 4, .. and all devices of this machine. Returns nothing on a machine
// with one device, or without NCCL.
std::vector<MeasuredCollective> measureCollectives(const Settings &settings);
