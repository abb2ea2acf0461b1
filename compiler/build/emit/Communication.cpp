// Sums the bytes that the ranks of a program send in a training step.
#include "compiler/build/emit/Communication.h"

#include "runtime/format/Repeats.h"

#include <algorithm>

namespace dtc {

uint64_t leastBytesSent(format::CollectiveKind kind, uint64_t bytes, uint64_t ranks) {
  uint64_t passes = kind == format::CollectiveKind::all_reduce ? 2 : 1;
  // A buffer of n blocks divides by n; that of an all_reduce need not, and the odd bytes count.
  return (passes * (ranks - 1) * bytes + ranks - 1) / ranks;
}

namespace {
struct Sent {
  const char *kind = nullptr; // null: nothing, as a receive
  uint64_t bytes = 0;
};

Sent sentBy(const format::Manifest &manifest, const format::Instruction &instruction) {
  if (const format::Transfer *op = instruction.op_as_Transfer()) {
    if (op->kind() == format::TransferKind::receive)
      return {};
    return {EnumNameTransferKind(op->kind()), op->count() * format::bytesOf(op->dtype())};
  }
  const format::Collective &op = *instruction.op_as_Collective();
  uint64_t ranks = manifest.groups()->Get(op.group())->size();
  bool isWhole = op.kind() == format::CollectiveKind::all_reduce;
  uint64_t bytes = op.count() * format::bytesOf(op.dtype()) * (isWhole ? 1 : ranks);
  return {EnumNameCollectiveKind(op.kind()), leastBytesSent(op.kind(), bytes, ranks)};
}
} // namespace

std::vector<Traffic> trafficOf(const format::Manifest &manifest, const format::Program &program) {
  std::vector<Traffic> all;
  std::vector<uint32_t> runs =
      format::countRuns(program, *format::findEntry(program, format::EntryKind::train));
  auto add = [&](const format::Instruction &instruction, uint32_t taskRuns, uint64_t layers) {
    std::optional<format::Communication> communication = format::communicationOf(instruction);
    uint64_t times = instruction.runs() == format::Runs::last ? std::min(taskRuns, 1u) : taskRuns;
    times *= layers;
    if (!communication || times == 0)
      return;
    Sent sent = sentBy(manifest, instruction);
    if (!sent.kind)
      return;
    std::string group = format::groupName(manifest, communication->group);
    auto found = std::find_if(all.begin(), all.end(), [&](const Traffic &traffic) {
      return traffic.group == group && traffic.kind == sent.kind &&
             traffic.role == communication->role;
    });
    if (found == all.end())
      found = all.insert(all.end(), Traffic{group, sent.kind, communication->role});
    found->count += times;
    found->bytes += times * sent.bytes;
  };
  for (uint32_t task = 0; task < program.tasks()->size(); ++task) {
    std::vector<uint32_t> layers = format::countLayers(*program.tasks()->Get(task));
    for (uint32_t i = 0; i < program.tasks()->Get(task)->instructions()->size(); ++i)
      add(*program.tasks()->Get(task)->instructions()->Get(i), runs[task], layers[i]);
  }
  return all;
}

} // namespace dtc
