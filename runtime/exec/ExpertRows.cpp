#include "runtime/exec/ExpertRows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace dtc::rt {
namespace {

constexpr size_t kCountsBuffer = 2; // index among the buffers of a GroupedGemm

const format::GroupedGemm *productOf(const BoundProgram &bound, const BoundEntry &entry,
                                     const Issue &issue) {
  const BoundTask &task = bound.tasks[entry.runs[issue.run].task];
  return task.instructions[issue.instruction].command.source->op_as_GroupedGemm();
}

// Returns true if both have an element.
bool haveCommon(const std::set<uint32_t> &x, const std::set<uint32_t> &y) {
  return std::any_of(x.begin(), x.end(), [&y](uint32_t each) { return y.count(each) > 0; });
}

// Returns the buffer of counts of the first round of its layer for each buffer of counts, in the
// order of the products that make gradients if `trains` is set, else of all products. Rounds of a
// layer follow each other and multiply by the same weights.
std::map<uint32_t, uint32_t> findLayers(const BoundProgram &bound, bool trains) {
  std::map<uint32_t, std::set<uint32_t>> weights; // keyed by buffer of counts
  auto forProducts = [&bound](uint32_t task, const auto &visit) {
    for (const BoundInstruction &instruction : bound.tasks[task].instructions)
      if (const auto *op = instruction.command.source->op_as_GroupedGemm())
        visit(*op);
  };
  auto numTasks = static_cast<uint32_t>(bound.tasks.size());
  for (uint32_t task = 0; task < numTasks; ++task)
    forProducts(task, [&](const format::GroupedGemm &op) {
      if (!op.sums_rows())
        weights[op.counts()].insert(op.b());
    });
  std::map<uint32_t, uint32_t> layerOf;
  for (uint32_t task = 0; task < numTasks; ++task) {
    std::optional<uint32_t> before;
    forProducts(task, [&](const format::GroupedGemm &op) {
      uint32_t counts = op.counts();
      if (op.sums_rows() != trains || counts == before)
        return;
      bool isNext = before && haveCommon(weights[counts], weights[*before]);
      layerOf.try_emplace(counts, isNext ? layerOf.at(*before) : counts);
      before = counts;
    });
  }
  return layerOf;
}

} // namespace

Status ExpertRows::create(const BoundProgram &bound, Device &device) {
  auto found = bound.entries.find(format::EntryKind::train);
  if (found == bound.entries.end())
    return {};
  const BoundEntry &entry = found->second;
  bool trains = std::any_of(entry.issues.begin(), entry.issues.end(), [&](const Issue &issue) {
    const format::GroupedGemm *op = productOf(bound, entry, issue);
    return op && op->sums_rows();
  });
  copyOf.assign(entry.issues.size(), -1);
  std::map<uint32_t, uint32_t> layerOf = findLayers(bound, trains);
  // Layers by their first buffer of counts and their place in a repeat, and the copies of each run.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers, passages;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> copied;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < copyOf.size(); ++i) {
    const Issue &issue = entry.issues[i];
    const format::GroupedGemm *op = productOf(bound, entry, issue);
    if (!op || op->sums_rows() != trains ||
        !copied.emplace(entry.runs[issue.run].microBatch, op->counts(), issue.layer).second)
      continue;
    auto next = static_cast<uint32_t>(numbers.size());
    uint32_t layer =
        numbers.try_emplace({layerOf.at(op->counts()), issue.layer}, next).first->second;
    experts = std::max(experts, static_cast<uint32_t>(op->groups()));
    copyOf[i] = static_cast<int32_t>(copies.size());
    auto passage = static_cast<uint32_t>(passages.size());
    passage =
        passages.try_emplace({layer, entry.runs[issue.run].microBatch}, passage).first->second;
    copies.push_back({nullptr, layer, passage, op->samples(), op->groups()});
    bytes += bytesOf(copies.back());
  }
  layers = static_cast<uint32_t>(numbers.size());
  roundsOf.resize(passages.size());
  char *memory = nullptr;
  if (bytes > 0)
    DTC_RETURN_IF_ERROR(device.allocateHost(bytes, memory));
  for (Copy &copy : copies) {
    if (trains) // gradients come from the last layer to the first
      copy.layer = layers - 1 - copy.layer;
    copy.host = memory;
    memory += bytesOf(copy);
  }
  return {};
}

Status ExpertRows::enqueue(uint32_t issue, const BoundInstruction &instruction, Device &device,
                           const Mark &mark) {
  if (issue >= copyOf.size() || copyOf[issue] < 0)
    return {};
  const Copy &copy = copies[static_cast<size_t>(copyOf[issue])];
  return device.enqueueReadBack(instruction.stream, copy.host,
                                instruction.command.buffers[kCountsBuffer], bytesOf(copy),
                                {mark.tag, nullptr});
}

template <typename Visit> void ExpertRows::forCounts(const Copy &copy, const Visit &visit) {
  for (uint64_t i = 0; i < copy.samples * copy.experts; ++i) {
    int32_t count = 0;
    std::memcpy(&count, copy.host + i * sizeof(count), sizeof(count));
    visit(i % copy.experts, std::max(count, 0));
  }
}

void ExpertRows::read(ExpertCounts &counts) {
  counts.layers = layers, counts.experts = experts, counts.rounds = 1;
  counts.rows.assign(counts.layers * counts.experts, 0);
  std::fill(roundsOf.begin(), roundsOf.end(), 0);
  for (const Copy &copy : copies) {
    int64_t all = 0;
    forCounts(copy, [&](uint64_t expert, int64_t rows) {
      counts.rows[copy.layer * counts.experts + expert] += rows;
      all += rows;
    });
    if (all > 0)
      counts.rounds = std::max(counts.rounds, ++roundsOf[copy.passage]);
  }
}

} // namespace dtc::rt
