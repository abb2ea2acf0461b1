// A rank's flight recorder as JSON, in the keys of PyTorch's (version 2.4 of its format).
#pragma once

#include "runtime/monitor/Progress.h"

namespace dtc::rt {

// The fields of a flight record that describe the rank and the job.
struct FlightHeader {
  int rank = 0, process = 0;
  int ranks = 1; // all ranks of the job; they form the group "control"
  std::string host = {}, position = {};
  std::string reason = {}; // reason for writing the record
  double timeoutSeconds = 0;
};

// Top: version, pg_config, pg_status, entries, nccl_comm_state. An entry has record_id, pg_id,
// process_group, collective_seq_id, p2p_seq_id, op_id, is_p2p, profiling_name, input_sizes,
// input_dtypes, output_sizes, output_dtypes, time_created_ns, time_discovered_started_ns,
// time_discovered_completed_ns, duration_ms, timeout_ms, state, retired and frames. What those
// have no place for is under "dtc": step, task, micro-batch, instruction, layer, bytes, name.
std::string flightJson(const ProgressPage &page, const ProgramNotes &notes,
                       const FlightHeader &header);

// Writes it to `folder`/flight-rank-R.json, which appears when it is whole.
Status writeFlights(const std::string &folder, const ProgressPage &page, const ProgramNotes &notes,
                    const FlightHeader &header);

} // namespace dtc::rt
