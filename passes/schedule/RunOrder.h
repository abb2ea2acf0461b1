// In which order the entries of a program run its tasks, and what that means for what micro-batches keep.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace dtc {

// Example: of "forward 0, forward 1, backward 0, backward 1" what goes from forward to backward is kept
// twice at once, so that it takes 2 slots; of "forward 0, backward 0, forward 1, backward 1" it takes
// none of its own, as no other micro-batch runs in between.
class RunOrder {
public:
  struct Run {
    exec::TaskOp task;
    int64_t microBatch; // -1: of none
  };

  explicit RunOrder(exec::ProgramOp program);

  const std::vector<std::vector<Run>> &getEntries() const { return entries; }

  // Whether runs of one micro-batch stand between those of another.
  bool isInterleaved() const { return interleaved; }

  // How many slots something takes that each micro-batch keeps from the first to the last of its runs
  // of `tasks`, micro-batch m in slot m mod so many; 0 where nothing else runs in between.
  int64_t getSlots(const std::vector<mlir::Operation *> &tasks) const;
  // Whether that many are enough, and every micro-batch runs the tasks in the order that they are
  // given in.
  bool areEnough(int64_t slots, const std::vector<mlir::Operation *> &tasks) const;

  // Whether some entry runs task `a` once more behind the last run of task `b`.
  bool runsBehind(mlir::Operation *a, mlir::Operation *b) const;

private:
  struct Interval {
    int64_t first = -1, last = -1;
  };
  using Intervals = std::map<int64_t, Interval>; // by micro-batch

  static Intervals find(const std::vector<Run> &entry, const std::vector<mlir::Operation *> &tasks);
  static bool isAlone(const std::vector<Run> &entry, const Intervals &intervals);
  static bool fits(const Intervals &intervals, int64_t slots);
  static bool keepsOrder(const std::vector<Run> &entry,
                         const std::vector<mlir::Operation *> &tasks);

  std::vector<std::vector<Run>> entries;
  std::vector<llvm::DenseMap<mlir::Operation *, size_t>> lastRuns; // of each entry, of each task
  int64_t numMicroBatches;
  bool interleaved = false;
  // Many buffers are kept by the same tasks.
  mutable std::map<std::vector<mlir::Operation *>, int64_t> known;
  mutable std::map<std::pair<int64_t, std::vector<mlir::Operation *>>, bool> knownEnough;
};

} // namespace dtc
