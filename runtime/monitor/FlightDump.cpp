#include "runtime/monitor/FlightDump.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/format/JsonString.h"
#include "runtime/monitor/Standing.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

namespace dtc::rt {
using format::text;

namespace {

// Returns PyTorch's name of a type.
const char *torchType(const std::string &dtype) {
  constexpr std::pair<const char *, const char *> names[] = {{"f32", "Float"}, {"bf16", "BFloat16"},
                                                             {"f16", "Half"},  {"i32", "Int"},
                                                             {"i64", "Long"},  {"u8", "Byte"}};
  for (auto [ours, theirs] : names)
    if (dtype == ours)
      return theirs;
  return "Undefined";
}

int64_t realtimeMinusMonotonic() {
  timespec now = {};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec - monotonicNanos();
}

class FlightWriter {
public:
  FlightWriter(const ProgressPage &page, const ProgramNotes &notes, const FlightHeader &header)
      : page(page), notes(notes), header(header), toRealtime(realtimeMinusMonotonic()) {}
  std::string write();

private:
  struct GroupStatus {
    uint64_t enqueued = 0, started = 0, completed = 0;
  };

  std::string groupName(uint32_t group) const {
    return group == ProgressPage::kHostGroup ? "control"
           : group < notes.groups.size()     ? notes.groups[group].name
                                             : text("group ", group);
  }
  std::string time(int64_t nanos) const {
    return nanos ? std::to_string(nanos + toRealtime) : "null";
  }
  void entry(const FlightEvent &event);
  void config();

  const ProgressPage &page;
  const ProgramNotes &notes;
  const FlightHeader &header;
  int64_t toRealtime;
  std::string out;
  std::map<uint32_t, GroupStatus> groups;
};

void FlightWriter::entry(const FlightEvent &event) {
  uint32_t group = event.group & ~kReceives;
  bool isHost = event.tag & kHostTag;
  uint32_t kind = event.entry;
  const NotedInstruction *found =
      isHost ? nullptr : notes.find(kind, static_cast<uint32_t>(event.tag));
  NotedInstruction note = found ? *found : NotedInstruction();
  if (isHost)
    note.kind = nameOf(static_cast<HostCall>(static_cast<uint32_t>(event.tag)));
  bool isTransfer = note.meets == Meets::Send || note.meets == Meets::Receive;
  std::string name = note.kind.empty() ? "unknown" : note.kind;
  if (isTransfer) {
    int peer = notes.peerOf(group, note.meets, static_cast<uint32_t>(header.rank));
    bool sends = note.meets == Meets::Send;
    name = text(sends ? "send " : "recv ", sends ? header.rank : peer, "->",
                sends ? peer : header.rank);
  }
  const char *state = event.completed ? "completed" : event.started ? "started" : "scheduled";
  GroupStatus &status = groups[group];
  status.enqueued = std::max(status.enqueued, event.sequence);
  if (event.started)
    status.started = std::max(status.started, event.sequence);
  if (event.completed)
    status.completed = std::max(status.completed, event.sequence);
  std::string pg = format::jsonString(groupName(group)),
              type = format::jsonString(torchType(note.dtype));
  out += text("{\"record_id\": ", event.id - 1, ", \"pg_id\": ", group, ", \"process_group\": [\"",
              group, "\", ", pg, "], \"collective_seq_id\": ", isTransfer ? 0 : event.sequence,
              ", \"p2p_seq_id\": ", isTransfer ? event.sequence : 0, ", \"op_id\": ", event.id,
              ", \"is_p2p\": ", isTransfer,
              ", \"profiling_name\": ", format::jsonString("nccl:" + name));
  out += text(", \"input_sizes\": [[", note.inElements, "]], \"input_dtypes\": [", type,
              "], \"output_sizes\": [[", note.outElements, "]], \"output_dtypes\": [", type,
              "], \"time_created_ns\": ", time(event.created),
              ", \"time_discovered_started_ns\": ", time(event.started),
              ", \"time_discovered_completed_ns\": ", time(event.completed));
  if (event.started && event.completed)
    out += text(", \"duration_ms\": ", static_cast<double>(event.completed - event.started) * 1e-6);
  else
    out += ", \"duration_ms\": null";
  out += text(
      ", \"timeout_ms\": ", static_cast<uint64_t>(std::min(header.timeoutSeconds, 1e12) * 1000),
      ", \"state\": \"", state, "\", \"retired\": ", event.completed != 0,
      ", \"frames\": [{\"name\": ", format::jsonString(note.op),
      ", \"filename\": ", format::jsonString(note.file), ", \"line\": ", note.line, "}]");
  out += text(", \"dtc\": {\"name\": ", format::jsonString(note.name), ", \"bytes\": ", note.bytes,
              ", \"task\": ", format::jsonString(note.task), ", \"instruction\": ", note.index);
  if (found) {
    const NotedIssue &issue = notes.issues[kind][static_cast<uint32_t>(event.tag)];
    out += text(", \"step\": ", event.step, ", \"micro_batch\": ", issue.microBatch,
                ", \"layer\": ", issue.layer);
  }
  out += "}}";
}

void FlightWriter::config() {
  std::string config, status;
  for (const auto &[group, each] : groups) {
    std::string ranks;
    auto add = [&](uint32_t rank) { ranks += text(ranks.empty() ? "" : ", ", rank); };
    if (group == ProgressPage::kHostGroup)
      for (int rank = 0; rank < header.ranks; ++rank)
        add(static_cast<uint32_t>(rank));
    else
      for (uint32_t rank : notes.listOf(group, static_cast<uint32_t>(header.rank)))
        add(rank);
    const char *comma = config.empty() ? "" : ", ";
    config += text(comma, "\"", group, "\": {\"name\": \"", group,
                   "\", \"desc\": ", format::jsonString(groupName(group)), ", \"ranks\": \"[",
                   ranks, "]\"}");
    status += text(comma, "\"", group, "\": {\"last_enqueued_collective\": ", each.enqueued,
                   ", \"last_started_collective\": ", each.started,
                   ", \"last_completed_collective\": ", each.completed, "}");
  }
  out += text("], \"pg_config\": {", config, "}, \"pg_status\": {", status,
              "}, \"nccl_comm_state\": {}}\n");
}

std::string FlightWriter::write() {
  out = text("{\"version\": \"2.4\", \"dtc\": {\"rank\": ", header.rank,
             ", \"host\": ", format::jsonString(header.host), ", \"process\": ", header.process,
             ", \"reason\": ", format::jsonString(header.reason),
             ", \"place\": ", format::jsonString(header.position), "}, \"entries\": [");
  bool first = true;
  for (const FlightEvent &event : page.flights.read()) {
    out += first ? "\n" : ",\n";
    first = false;
    entry(event);
  }
  config();
  return std::move(out);
}

} // namespace

std::string flightJson(const ProgressPage &page, const ProgramNotes &notes,
                       const FlightHeader &header) {
  return FlightWriter(page, notes, header).write();
}

Status writeFlights(const std::string &folder, const ProgressPage &page, const ProgramNotes &notes,
                    const FlightHeader &header) {
  AtomicFile file;
  DTC_RETURN_IF_ERROR(file.open(text(folder, "/flight-rank-", header.rank, ".json")));
  std::string json = flightJson(page, notes, header);
  DTC_RETURN_IF_ERROR(file.write(json.data(), json.size()));
  return file.commit();
}

} // namespace dtc::rt
