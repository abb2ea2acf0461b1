// Inserts the events that order several streams of a program.
#pragma once

#include "dialects/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dtc {

// Adds events so that streams keep every conflict in program order: a record after the earlier
// instruction and a wait before the later one, unless an earlier wait already covers it.
// 1. If every run of a task uses other streams, each of them starts after stream 0 in each run, and
// stream 0 waits for it at the end of the run, so that runs follow each other.
// 2. A prefetch (stream kGatherStream) and transfers round a ring start when stream 0 reaches the
// place of their instruction.
// 3. Buffers of a collective are in use until stream 0 has waited for it, so stream 0 waits for
// older collectives from time to time, and for the sends of a step of a ring before those of the
// next one.
// 4. At the end of the step stream 0 waits for all streams.
class EventInsertion {
public:
  // `inFlight` limits the collectives of the step with buffers of their own that are in flight; 0:
  // no limit.
  EventInsertion(exec::ProgramOp program, size_t inFlight);

  // Inserts the events and returns their number.
  int64_t run();

private:
  struct Access {
    unsigned index;
    exec::BufferRange range;
    bool write;
  };
  // The state of a stream while the program is scanned.
  struct StreamState {
    // The last instruction of each other stream that this stream has waited for: in the last run of
    // a task, and in every run.
    llvm::SmallVector<int64_t, 3> synced, syncedInEveryRun;
    exec::TaskOp forkedIn;  // the last task in which it started after stream 0
    int64_t lastOfRun = -1; // its last instruction that every run of `lastTask` has
    exec::TaskOp lastTask;
    int64_t lastSend = -1;        // the last send of a ring
    std::vector<unsigned> starts; // collectives for which stream 0 has to wait (throttle)
  };

  int64_t lastConflict(unsigned index, int64_t stream);
  void remember(unsigned index);
  void fork(unsigned index);
  void throttle(unsigned index);
  void waitForSends(unsigned index);
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
  llvm::DenseMap<int64_t, exec::RecordOp> records; // keyed by recorded instruction
  int64_t numEvents = 0;
};

// The streams. Stream 0 computes; reductions of gradients and gathers once per step share one
// stream; gathers of every micro-batch have another, since neither waits for the other.
constexpr int64_t kCommunicationStream = 1, kGatherStream = 2;
// Sends and receives of a ring of ranks have a stream each, since a rank's send ends with the next
// rank's receive, which may wait for its own send.
constexpr int64_t kRingSendStream = 3, kRingReceiveStream = 4;

// Unit attribute of an exec.send or exec.receive by which tensors pass round a ring of ranks in the
// middle of a task, beside compute. It is removed when they get a stream.
constexpr llvm::StringLiteral kRingLabel = "exec.ring";

// Gives what passes round rings its streams. Returns the number of streams that the program then
// needs, 1 without rings.
int64_t assignRingStreams(exec::ProgramOp program);

} // namespace dtc
