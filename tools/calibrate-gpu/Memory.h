// Measurements of memory traffic and of launches.
#pragma once

#include "Points.h"
#include "Runs.h"

// Measures the patterns of memory traffic.
std::vector<MeasuredMemory> measureMemory(const Settings &settings);
// Measures kernel launches on a stream and in a graph.
std::vector<MeasuredLaunch> measureLaunch(const Settings &settings);
