// The order in which the entries of a program run its tasks, and the number of slots that it
// requires.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace dtc {

// The runs of each entry. Example: in "forward 0, forward 1, backward 0, backward 1" a value that
// goes from forward to backward exists twice at once, so it takes 2 slots; in "forward 0, backward
// 0, forward 1, backward 1" it takes no slots, as no other micro-batch runs in between.
class RunOrder {
public:
  // One run of a task.
  struct Run {
    exec::TaskOp task;
    int64_t microBatch; // -1: the task belongs to no micro-batch
  };

  explicit RunOrder(exec::ProgramOp program);

  const std::vector<std::vector<Run>> &getEntries() const { return entries; }

  // True if runs of one micro-batch stand between those of another.
  bool isInterleaved() const { return interleaved; }

  // Returns the number of slots of a value that each micro-batch keeps from the first to the last
  // of its runs of `tasks`; micro-batch m uses slot m mod this number. Returns 0 if nothing else
  // runs in between.
  int64_t getSlots(const std::vector<mlir::Operation *> &tasks) const;
  // True if that many slots are enough, and every micro-batch runs the tasks in the given order.
  bool areEnough(int64_t slots, const std::vector<mlir::Operation *> &tasks) const;

  // True if some entry runs task `a` once more after the last run of task `b`.
  bool runsBehind(mlir::Operation *a, mlir::Operation *b) const;

private:
  struct Interval {
    int64_t first = -1, last = -1;
  };
  using Intervals = std::map<int64_t, Interval>; // keyed by micro-batch

  static Intervals find(const std::vector<Run> &entry, const std::vector<mlir::Operation *> &tasks);
  static bool isAlone(const std::vector<Run> &entry, const Intervals &intervals);
  static bool fits(const Intervals &intervals, int64_t slots);
  static bool keepsOrder(const std::vector<Run> &entry,
                         const std::vector<mlir::Operation *> &tasks);

  std::vector<std::vector<Run>> entries;
  std::vector<llvm::DenseMap<mlir::Operation *, size_t>> lastRuns; // per entry, keyed by task
  int64_t numMicroBatches;
  bool interleaved = false;
  // Caches, since the same tasks keep many buffers.
  mutable std::map<std::vector<mlir::Operation *>, int64_t> known;
  mutable std::map<std::pair<int64_t, std::vector<mlir::Operation *>>, bool> knownEnough;
};

} // namespace dtc
