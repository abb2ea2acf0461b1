// Expands the order in which the entries of a program run its tasks.
#include "passes/schedule/RunOrder.h"

using namespace mlir;
using namespace dtc;

RunOrder::RunOrder(exec::ProgramOp program)
    : numMicroBatches(static_cast<int64_t>(program.getMicroBatches())) {
  llvm::DenseMap<StringRef, exec::TaskOp> tasks;
  std::vector<Operation *> repeated;
  for (auto task : program.getBody().getOps<exec::TaskOp>()) {
    tasks[task.getSymName()] = task;
    if (task.isRepeated())
      repeated.push_back(task);
  }
  for (auto entry : program.getBody().getOps<exec::EntryOp>()) {
    std::vector<Run> &runs = entries.emplace_back();
    for (auto [symbol, microBatch] :
         llvm::zip(entry.getTasks().getAsRange<FlatSymbolRefAttr>(), entry.getMicroBatches()))
      runs.push_back({tasks.lookup(symbol.getValue()), microBatch});
    auto &last = lastRuns.emplace_back();
    for (auto [index, run] : llvm::enumerate(runs))
      last[run.task] = index;
  }
  interleaved = getSlots(repeated) > 0;
}

RunOrder::Intervals RunOrder::find(const std::vector<Run> &entry,
                                   const std::vector<Operation *> &tasks) {
  Intervals intervals;
  llvm::SmallPtrSet<Operation *, 8> wanted(tasks.begin(), tasks.end());
  for (size_t i = 0; i < entry.size(); ++i) {
    if (!wanted.contains(entry[i].task) || entry[i].microBatch < 0)
      continue;
    Interval &interval = intervals[entry[i].microBatch];
    if (interval.first < 0)
      interval.first = static_cast<int64_t>(i);
    interval.last = static_cast<int64_t>(i);
  }
  return intervals;
}

bool RunOrder::isAlone(const std::vector<Run> &entry, const Intervals &intervals) {
  for (const auto &[microBatch, interval] : intervals)
    for (int64_t i = interval.first; i <= interval.last; ++i)
      if (entry[i].microBatch != microBatch)
        return false;
  return true;
}

// True if micro-batches that share a slot are kept one after another.
bool RunOrder::fits(const Intervals &intervals, int64_t slots) {
  std::map<int64_t, std::vector<Interval>> bySlot;
  for (const auto &[microBatch, interval] : intervals)
    bySlot[microBatch % slots].push_back(interval);
  for (auto &[slot, kept] : bySlot) {
    llvm::sort(kept, [](const Interval &a, const Interval &b) { return a.first < b.first; });
    for (size_t i = 1; i < kept.size(); ++i)
      if (kept[i].first <= kept[i - 1].last)
        return false;
  }
  return true;
}

int64_t RunOrder::getSlots(const std::vector<Operation *> &tasks) const {
  auto [entry, isNew] = known.try_emplace(tasks, 0);
  if (!isNew)
    return entry->second;
  for (const std::vector<Run> &runs : entries) {
    Intervals intervals = find(runs, tasks);
    if (isAlone(runs, intervals))
      continue;
    int64_t slots = std::max<int64_t>(entry->second, 1);
    while (slots < numMicroBatches && !fits(intervals, slots))
      ++slots;
    entry->second = slots;
  }
  return entry->second;
}

bool RunOrder::keepsOrder(const std::vector<Run> &entry, const std::vector<Operation *> &tasks) {
  llvm::DenseMap<Operation *, size_t> position;
  for (auto [index, task] : llvm::enumerate(tasks))
    position[task] = index;
  std::map<int64_t, size_t> last; // keyed by micro-batch
  for (const Run &run : entry) {
    auto found = position.find(run.task);
    if (found == position.end() || run.microBatch < 0)
      continue;
    auto [before, isFirst] = last.try_emplace(run.microBatch, found->second);
    if (!isFirst && found->second < before->second)
      return false;
    before->second = found->second;
  }
  return true;
}

bool RunOrder::areEnough(int64_t slots, const std::vector<Operation *> &tasks) const {
  auto [known, isNew] = knownEnough.try_emplace({slots, tasks}, false);
  if (!isNew)
    return known->second;
  return known->second = llvm::all_of(entries, [&](const std::vector<Run> &entry) {
           return fits(find(entry, tasks), slots) && keepsOrder(entry, tasks);
         });
}

bool RunOrder::runsBehind(Operation *a, Operation *b) const {
  return llvm::any_of(lastRuns, [&](const auto &last) {
    auto ofA = last.find(a), ofB = last.find(b);
    return ofA != last.end() && ofB != last.end() && ofA->second > ofB->second;
  });
}
