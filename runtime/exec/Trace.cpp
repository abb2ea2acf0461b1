#include "runtime/exec/Trace.h"

#include "runtime/base/Text.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/JsonString.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace dtc::rt {
namespace {

using format::text;

std::string micros(double seconds) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.3f", seconds * 1e6);
  return digits;
}

void appendMetadata(std::string &out, const char *what, int rank, size_t stream,
                    const std::string &name) {
  out += text("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", rank, ",\"tid\":", stream,
              ",\"args\":{\"name\":", format::jsonString(name), "}},\n");
}

// Returns the fields of a collective or transfer, as this rank ran it: "bytes" are those of the
// larger buffer.
std::string communicated(const format::Manifest &manifest, const BoundInstruction &instruction) {
  const format::Instruction &source = *instruction.command.source;
  std::optional<format::Communication> communication = format::communicationOf(source);
  if (!communication)
    return "";
  const format::Group &group = *manifest.groups()->Get(communication->group);
  uint64_t ranks = group.size();
  const char *kind = nullptr;
  uint64_t bytes = 0;
  if (const format::Transfer *op = source.op_as_Transfer()) {
    kind = EnumNameTransferKind(op->kind());
    bytes = op->count() * format::bytesOf(op->dtype());
  } else {
    const format::Collective &collective = *source.op_as_Collective();
    uint64_t blocks = collective.kind() == format::CollectiveKind::all_reduce ? 1 : ranks;
    kind = EnumNameCollectiveKind(collective.kind());
    bytes = collective.count() * blocks * format::bytesOf(collective.dtype());
  }
  return text(",\"kind\":\"", kind, "\",\"role\":\"", EnumNameCollectiveRole(communication->role),
              "\",\"group\":", format::jsonString(group.name()->string_view()),
              ",\"ranks\":", ranks, ",\"bytes\":", bytes);
}

} // namespace

Status writeChromeTrace(AtomicFile &file, int rank, const format::Manifest &manifest,
                        const BoundProgram &program,
                        const std::vector<std::vector<TraceEvent>> &streams) {
  auto ofRank = manifest.rank_program()->Get(static_cast<uint32_t>(rank));
  const auto &tasks = *manifest.programs()->Get(ofRank)->tasks();
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t stream = 0; stream < streams.size(); ++stream) {
    appendMetadata(out, "thread_name", rank, stream,
                   stream == 0 ? "compute" : text("communication ", stream));
    for (const TraceEvent &event : streams[stream]) {
      const BoundInstruction &instruction =
          program.tasks[event.task].instructions[event.instruction];
      out += text("{\"ph\":\"X\",\"name\":",
                  format::jsonString(format::describe(manifest, *instruction.command.source)),
                  ",\"cat\":\"", nameOf(instruction.timeClass), "\",\"pid\":", rank,
                  ",\"tid\":", stream, ",\"ts\":", micros(event.beginSeconds),
                  ",\"dur\":", micros(event.endSeconds - event.beginSeconds),
                  ",\"args\":{\"step\":", event.step,
                  ",\"task\":", format::jsonString(tasks.Get(event.task)->name()->string_view()),
                  ",\"micro_batch\":", event.microBatch, ",\"instruction\":", event.instruction,
                  instruction.layers > 1 ? text(",\"layer\":", event.layer) : "",
                  communicated(manifest, instruction), "}},\n");
    }
  }
  appendMetadata(out, "process_name", rank, 0, text("rank ", rank));
  out.erase(out.size() - 2); // the last comma
  out += "\n]}\n";
  DTC_RETURN_IF_ERROR(file.write(out.data(), out.size()));
  return file.commit();
}

} // namespace dtc::rt
