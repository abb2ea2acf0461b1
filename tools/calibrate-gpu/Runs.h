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

// Fills the `samples` of all entries: each finds the `batch` of runs that makes a sample, then all
// take turns in every round. run(entry) only enqueues on the stream.
template <typename Entry, typename Run>
void takeSamples(std::vector<Entry> &entries, const Settings &settings, cudaStream_t stream,
                 const Run &run) {
  Timer timer(stream);
  for (Entry &entry : entries)
    entry.batch = timer.calibrateBatch([&] { run(entry); });
  for (int round = 0; round < settings.rounds; ++round)
    for (Entry &entry : entries)
      for (int i = 0; i < settings.samples; ++i)
        entry.samples.push_back(timer.sample([&] { run(entry); }, entry.batch));
}

// All print what they leave out, and why, on stderr.
// Of the types that the device has units for.
std::vector<MeasuredProduct> measureProducts(const Settings &settings, const DeviceFacts &facts);
std::vector<MeasuredMemory> measureMemory(const Settings &settings);
std::vector<MeasuredLaunch> measureLaunch(const Settings &settings);
// Of 2, 4, .. and all devices of this machine; empty where there is one, or without NCCL.
std::vector<MeasuredCollective> measureCollectives(const Settings &settings);
