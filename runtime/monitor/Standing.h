// The position of a rank, as its keeper reads and sends it.
#pragma once

#include "runtime/monitor/Progress.h"

#include <vector>

namespace dtc::rt {

// A collective or transfer that the rank is in.
struct Waiting {
  uint32_t group = 0;
  Meets meets = Meets::Collective;
  uint64_t sequence = 0; // 0: not counted
  int peer = -1;         // peer of a transfer
  uint64_t bytes = 0;    // bytes of its larger buffer
};

// The position of a rank and of its streams.
struct Standing {
  static constexpr size_t kWaits = 4;
  static constexpr size_t kPositionBytes = 512;

  Activity activity = Activity::Starting;
  bool reportsStreams = false; // false: the device's position is unknown
  bool computes = false;       // in an instruction that meets nobody
  bool isStopped = false;      // stopped by a signal
  bool isInStep = false;       // within a training step
  uint64_t moves = 0;          // changes whenever the rank gets on
  uint64_t cpuMillis = 0;      // processor time of all its threads since their start
  uint32_t trainingStep = 0;
  std::vector<Waiting> waits;
  // Communications begun so far, by group: collectives and sends, receives.
  std::array<std::array<uint64_t, 2>, ProgressPage::kGroups> started = {};
  WorkTotals work;
  std::string position; // "step 12, task 'forward', micro-batch 1, instruction 7, gemm (h.0.mlp)"
};

// Returns the position of `rank` as published in `page`, with names if `notes` has them.
Standing standingOf(const ProgressPage &page, const ProgramNotes &notes, int rank);

// Returns true if the rank waits for the end of a step on a device that does not report its
// position.
bool isInSilentStep(const Standing &standing);

// The words for a tag: "step 3, task 'step', micro-batch 0, instruction 4, gemm (h.0.mlp)".
std::string positionOf(const ProgressPage &page, const ProgramNotes &notes, uint64_t tag);

// `text` cut to `most` bytes, without what a terminal would take for a command.
std::string printable(std::string_view text, size_t most);

} // namespace dtc::rt
