#include "runtime/exec/ExpertRows.h"

#include "runtime/format/Target.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace dtc::rt {
namespace {

constexpr size_t kCountsBuffer = 2; // of the buffers of a GroupedGemm

} // namespace

bool hasExpertsApart(const format::Manifest &manifest) {
  const auto *mesh = manifest.mesh();
  return mesh && std::any_of(mesh->begin(), mesh->end(), [](const format::Axis *axis) {
           return axis->name()->string_view() == "ep" && axis->size() > 1;
         });
}

Status ExpertRows::create(const format::Manifest &manifest, const BoundProgram &bound,
                          Device &device) {
  auto entry = bound.entries.find(format::EntryKind::train);
  bool isCounted = hasExpertsApart(manifest) && !format::isForGpu(manifest);
  if (!isCounted || entry == bound.entries.end())
    return {};
  // The first product of each task that reads a buffer of counts.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first;
  for (uint32_t task = 0; task < bound.tasks.size(); ++task)
    for (uint32_t i = 0; i < bound.tasks[task].instructions.size(); ++i)
      if (const auto *op = bound.tasks[task].instructions[i].command.source->op_as_GroupedGemm())
        first.try_emplace({task, op->counts()}, i);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> numbers;
  copyOf.assign(entry->second.issues.size(), -1);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < copyOf.size(); ++i) {
    const Issue &issue = entry->second.issues[i];
    uint32_t task = entry->second.runs[issue.run].task;
    const format::Instruction &source =
        *bound.tasks[task].instructions[issue.instruction].command.source;
    const auto *op = source.op_as_GroupedGemm();
    if (!op || first.at({task, op->counts()}) != issue.instruction)
      continue;
    auto next = static_cast<uint32_t>(numbers.size());
    uint32_t layer = numbers.try_emplace({task, op->counts(), issue.layer}, next).first->second;
    copyOf[i] = static_cast<int32_t>(copies.size());
    copies.push_back({nullptr, layer, op->samples() * op->groups()});
    bytes += copies.back().counts * sizeof(int32_t);
  }
  layers = static_cast<uint32_t>(numbers.size());
  char *memory = nullptr;
  if (bytes > 0)
    DTC_RETURN_IF_ERROR(device.allocateHost(bytes, memory));
  for (Copy &copy : copies) {
    copy.host = memory;
    memory += copy.counts * sizeof(int32_t);
  }
  return {};
}

Status ExpertRows::enqueue(uint32_t issue, const BoundInstruction &instruction, Device &device,
                           const Mark &mark) {
  if (issue >= copyOf.size() || copyOf[issue] < 0)
    return {};
  const Copy &copy = copies[static_cast<size_t>(copyOf[issue])];
  return device.enqueueCopyOut(instruction.stream, copy.host,
                               instruction.command.buffers[kCountsBuffer],
                               copy.counts * sizeof(int32_t), {mark.tag, nullptr});
}

std::vector<int64_t> ExpertRows::read() const {
  std::vector<int64_t> rows(layers);
  for (const Copy &copy : copies)
    for (uint64_t i = 0; i < copy.counts; ++i) {
      int32_t count = 0;
      std::memcpy(&count, copy.host + i * sizeof(count), sizeof(count));
      rows[copy.layer] += std::max(count, 0);
    }
  return rows;
}

} // namespace dtc::rt
