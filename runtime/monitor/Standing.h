// Where a rank stands, as its keeper reads it and tells others.
#pragma once

#include "runtime/monitor/Progress.h"

#include <vector>

namespace dtc::rt {

// A meeting with other ranks that the rank is in.
struct Waiting {
  uint32_t group = 0;
  Meets meets = Meets::Collective;
  uint64_t sequence = 0; // 0: not counted
  int peer = -1;         // of a transfer
  uint64_t bytes = 0;    // of its larger buffer
};

struct Standing {
  static constexpr size_t kWaits = 4;
  static constexpr size_t kPlaceBytes = 512;

  Activity activity = Activity::Starting;
  bool reportsStreams = false; // else nothing is known of what the device does
  bool computes = false;       // in an instruction that meets nobody
  bool isStopped = false;      // by a signal
  bool isInStep = false;       // of training
  uint64_t moves = 0;          // changes whenever the rank gets on
  uint64_t cpuMillis = 0;      // of all of its threads, ever
  uint32_t trainingStep = 0;
  std::vector<Waiting> waits;
  // Meetings begun so far, by group: collectives and sends, receives.
  std::array<std::array<uint64_t, 2>, ProgressPage::kGroups> started = {};
  WorkTotals work;
  std::string place; // "step 12, task 'forward', micro-batch 1, instruction 7, gemm (h.0.mlp)"
};

// What `page` says of `rank`; the place has words where `notes` has.
Standing standingOf(const ProgressPage &page, const ProgramNotes &notes, int rank);

// Whether the rank is in a step, for whose end it waits, on a device that does not tell where it is.
bool isInSilentStep(const Standing &standing);

// The words for a tag: "step 3, task 'step', micro-batch 0, instruction 4, gemm (h.0.mlp)".
std::string placeOf(const ProgressPage &page, const ProgramNotes &notes, uint64_t tag);

// `text` cut to `most` bytes, without what a terminal would take for a command.
std::string printable(std::string_view text, size_t most);

} // namespace dtc::rt
