// The measurements of one device, and of all devices together.
#pragma once

#include "Points.h"
#include "Timer.h"

// The number of measurements, and the memory that they may take.
struct Settings {
  bool quick = false;
  int rounds = 5;        // over all measurements
  int samples = 3;       // samples of each measurement in a round
  int64_t coldBytes = 0; // least size of a pool: four times the second-level cache
  int64_t mostBytes = 0; // most device memory that one measurement may use
};

// Fills the `samples` of all entries. First it finds for each entry the number of runs that makes a
// sample, `batch`. Then all entries take turns in every round. run(entry) only enqueues on the
// stream.
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
