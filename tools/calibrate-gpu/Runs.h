// The measurements of one device, and of all devices together.
#pragma once

#include "Points.h"
#include "Timer.h"

struct Settings {
  bool quick = false;
  int rounds = 5;        // over all measurements
  int samples = 3;       // of each in a round
  int64_t coldBytes = 0; // that a pool has at least: four times the second-level cache
  int64_t mostBytes = 0; // of device memory that one measurement may use
};

// All print what they leave out, and why, on stderr.
// Of the types that the device has units for.
std::vector<MeasuredProduct> measureProducts(const Settings &settings, const DeviceFacts &facts);
std::vector<MeasuredMemory> measureMemory(const Settings &settings);
std::vector<MeasuredLaunch> measureLaunch(const Settings &settings);
// Of 2, 4, .. and all devices of this machine; empty where there is one, or without NCCL.
std::vector<MeasuredCollective> measureCollectives(const Settings &settings);
