// Puts the events that several streams need into a program.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dtc {

// Adds the events that make streams keep every conflict in program order: a record after the
// earlier instruction, a wait before the later one, unless an earlier wait already covers it.
// 1. Where every run of a task uses other streams, each of them starts behind stream 0 in each run,
//    and stream 0 waits for it at the run's end, so that runs follow each other.
// 2. What prefetches (stream kGatherStream) starts when stream 0 has come to where it stands.
// 3. Memory that is sent is taken until stream 0 has waited for it, so it waits now and then.
// 4. At the end of the step stream 0 waits for all.
class EventInsertion {
public:
  // `inFlight`: how many collectives of the step with buffers of their own may be under way; 0: any.
  EventInsertion(exec::ProgramOp program, size_t inFlight);

  // Returns the number of events.
  int64_t run();

private:
  struct Access {
    unsigned index;
    exec::BufferRange range;
    bool write;
  };
  // What is known of a stream while the program is gone through.
  struct StreamState {
    // The last instruction of each other stream that it has waited for: in the last run of a task, and
    // in each.
    llvm::SmallVector<int64_t, 3> synced, syncedInEveryRun;
    exec::TaskOp forkedIn;  // the last task in which it has started behind stream 0
    int64_t lastOfRun = -1; // of its instructions, that every run of `lastTask` has
    exec::TaskOp lastTask;
    std::vector<unsigned> starts; // of collectives that stream 0 has to wait for now and then
  };

  int64_t lastConflict(unsigned index, int64_t stream);
  void remember(unsigned index);
  void fork(unsigned index);
  void throttle(unsigned index);
  void join(exec::TaskOp task);
  void joinAtEnd();
  void sync(int64_t stream, int64_t other, int64_t index, mlir::Operation *before,
            mlir::Block *block = nullptr);
  exec::RecordOp createRecord(mlir::OpBuilder &builder, mlir::Location location, int64_t stream,
                              bool last);
  exec::TaskOp taskOf(unsigned index) const;

  exec::ProgramOp program;
  size_t inFlight;
  int64_t numStreams;
  std::vector<exec::InstructionOpInterface> instructions;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, std::vector<Access>> accesses;
  std::vector<StreamState> streams;
  llvm::DenseMap<int64_t, exec::RecordOp> records; // by recorded instruction
  int64_t numEvents = 0;
};

// Stream 0 computes. Reductions of gradients, and what a step gathers once, go beside it on one
// stream; what every micro-batch gathers, on another, since neither waits for the other.
constexpr int64_t kCommunicationStream = 1, kGatherStream = 2;

} // namespace dtc
