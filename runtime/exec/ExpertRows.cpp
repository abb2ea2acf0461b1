#include "runtime/exec/ExpertRows.h"

#include "runtime/format/Target.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace dtc::rt {
namespace {

constexpr size_t kCountsBuffer = 2; // of the buffers of a GroupedGemm

using CountsBuffer = std::pair<uint32_t, uint32_t>; // task, buffer

// The products that read a buffer of counts.
struct Use {
  uint32_t first = 0;            // instruction
  std::set<uint32_t> matrices;   // buffers that rows are multiplied by
  bool isReadBack = false;       // by the backward pass, too: not where that has counts of its own
  uint32_t layer = 0, round = 0; // the layer of the task, and the round of it
};

// Finds the uses of a task's buffers of counts, in the order of their first products.
void findUses(uint32_t task, const BoundTask &bound, std::map<CountsBuffer, Use> &uses) {
  std::vector<Use *> inOrder;
  for (uint32_t i = 0; i < bound.instructions.size(); ++i) {
    const auto *op = bound.instructions[i].command.source->op_as_GroupedGemm();
    if (!op)
      continue;
    auto [it, isNew] = uses.try_emplace({task, op->counts()});
    if (isNew) {
      it->second.first = i;
      inOrder.push_back(&it->second);
    }
    it->second.isReadBack |= op->sums_rows() || !it->second.matrices.insert(op->b()).second;
  }
  for (size_t i = 1; i < inOrder.size(); ++i) {
    const Use &before = *inOrder[i - 1];
    bool isNext =
        before.isReadBack && !before.matrices.empty() && inOrder[i]->matrices == before.matrices;
    inOrder[i]->layer = before.layer + (isNext ? 0 : 1);
    inOrder[i]->round = isNext ? before.round + 1 : 0;
  }
}

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
  std::map<CountsBuffer, Use> uses;
  for (uint32_t task = 0; task < bound.tasks.size(); ++task)
    findUses(task, bound.tasks[task], uses);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> numbers;
  copyOf.assign(entry->second.issues.size(), -1);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < copyOf.size(); ++i) {
    const Issue &issue = entry->second.issues[i];
    uint32_t task = entry->second.runs[issue.run].task;
    const format::Instruction &source =
        *bound.tasks[task].instructions[issue.instruction].command.source;
    const auto *op = source.op_as_GroupedGemm();
    if (!op)
      continue;
    const Use &use = uses.at({task, op->counts()});
    if (use.first != issue.instruction)
      continue;
    auto next = static_cast<uint32_t>(numbers.size());
    uint32_t layer = numbers.try_emplace({task, use.layer, issue.layer}, next).first->second;
    copyOf[i] = static_cast<int32_t>(copies.size());
    copies.push_back({nullptr, layer, use.round, op->samples() * op->groups()});
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

int64_t ExpertRows::rowsOf(const Copy &copy) {
  int64_t rows = 0;
  for (uint64_t i = 0; i < copy.counts; ++i) {
    int32_t count = 0;
    std::memcpy(&count, copy.host + i * sizeof(count), sizeof(count));
    rows += std::max(count, 0);
  }
  return rows;
}

std::vector<int64_t> ExpertRows::read() const {
  std::vector<int64_t> rows(layers);
  for (const Copy &copy : copies)
    rows[copy.layer] += rowsOf(copy);
  return rows;
}

int64_t ExpertRows::rounds() const {
  int64_t most = 1;
  for (const Copy &copy : copies)
    if (copy.round >= most && rowsOf(copy) > 0)
      most = copy.round + 1;
  return most;
}

} // namespace dtc::rt
