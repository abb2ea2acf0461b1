// Checks a planned program for errors of order and memory (pass dtc-verify-exec).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RunConflicts.h"
#include "passes/schedule/UnrollLayers.h"

namespace dtc {
#define GEN_PASS_DEF_VERIFYEXEC
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace dtc;

namespace {
struct Access {
  unsigned instruction;
  bool write;
  int64_t begin, end; // bytes in the root buffer
};

// The uses of a buffer by instructions that follow each other: those of one task on one stream, of
// which every run has all or only the last run. What is over before the first of them, or starts
// after the last, is so for all.
struct Span {
  exec::TaskOp task;
  bool taskRepeated, repeated; // the task, and these instructions of it
  int64_t stream;
  unsigned first, last;
};

class Verifier {
public:
  Verifier(exec::ProgramOp program, const Ordering &ordering)
      : program(program), ordering(ordering), order(program) {
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      indices[buffer] = buffers.size();
      buffers.push_back(buffer);
    }
    accesses.resize(buffers.size());
    spans.resize(buffers.size());
    for (unsigned i = 0; i < ordering.size(); ++i)
      addAccesses(i);
    for (auto task : program.getBody().getOps<exec::TaskOp>())
      if (llvm::any_of(task.getBody().front(), [](Operation &op) {
            return isa<exec::SendOp, exec::ReceiveOp>(op) &&
                   cast<exec::InstructionOpInterface>(op).getInstructionStream() != 0;
          }))
        transferTasks.insert(task);
  }

  LogicalResult run() {
    if (!program.getArenaBytes())
      return program.emitOpError() << "has no arena size; run dtc-plan-memory first";
    for (unsigned buffer = 0; buffer < buffers.size(); ++buffer) {
      if (!buffers[buffer].getOffset())
        return buffers[buffer].emitOpError()
               << "'" << buffers[buffer].getName() << "' has no offset; run dtc-plan-memory first";
      if (failed(checkOrder(buffer)) || failed(checkWritten(buffer)) || failed(checkRuns(buffer)) ||
          failed(checkSums(buffer)))
        return failure();
    }
    if (failed(checkStreams()) || failed(checkSlots()) || failed(checkSharing()))
      return failure();
    return program.getStreams() > 1 ? ::checkRuns(program, order) : success();
  }

private:
  void addAccesses(unsigned i) {
    exec::InstructionOpInterface op = ordering.getInstruction(i);
    auto task = cast<exec::TaskOp>(op->getParentOp());
    int64_t stream = op.getInstructionStream();
    Span span = {task, task.isRepeated(), isRepeated(op), stream, i, i};
    for (Value buffer : op.getReadBuffers()) {
      exec::BufferRange range = exec::getRange(buffer);
      if (op.startsSum() && llvm::is_contained(op.getWrittenBuffers(), buffer))
        continue; // the first run does not read it
      unsigned root = indices[range.root];
      accesses[root].push_back({i, false, range.offset, range.offset + range.bytes});
      addToSpan(root, span);
    }
    for (auto [index, buffer] : llvm::enumerate(op.getWrittenBuffers())) {
      exec::BufferRange range = exec::getRange(buffer);
      auto [offset, bytes] = op.getWrittenRange(index);
      int64_t begin = range.offset + offset;
      unsigned root = indices[range.root];
      accesses[root].push_back({i, true, begin, begin + bytes});
      addToSpan(root, span);
    }
  }

  // Adds a use that comes after all others of the buffer.
  void addToSpan(unsigned buffer, const Span &use) {
    for (Span &span : spans[buffer])
      if (span.task == use.task && span.repeated == use.repeated && span.stream == use.stream) {
        span.last = use.last;
        return;
      }
    spans[buffer].push_back(use);
  }

  InFlightDiagnostic emitPair(unsigned later, unsigned earlier, const Twine &message) {
    InFlightDiagnostic diagnostic = ordering.getInstruction(later)->emitOpError() << message;
    diagnostic.attachNote(ordering.getInstruction(earlier)->getLoc()) << "the other instruction";
    return diagnostic;
  }

  // Checks that uses of the same bytes, one of them a write, are ordered for any timing of the
  // streams.
  LogicalResult checkOrder(unsigned buffer) {
    ArrayRef<Access> uses = accesses[buffer];
    if (program.getStreams() == 1 || isTransferred(buffer))
      return success();
    for (size_t later = 0; later < uses.size(); ++later)
      for (size_t earlier = 0; earlier < later; ++earlier) {
        const Access &a = uses[earlier], &b = uses[later];
        if (a.instruction == b.instruction || (!a.write && !b.write) || a.end <= b.begin ||
            b.end <= a.begin || ordering.isBefore(a.instruction, b.instruction))
          continue;
        return emitPair(b.instruction, a.instruction,
                        "uses '" + Twine(buffers[buffer].getName()) +
                            "' at the same time as an instruction of another stream");
      }
    return success();
  }

  // True if a separate task sends or receives the buffer: runs of several micro-batches order such
  // transfers.
  bool isTransferred(unsigned buffer) {
    return llvm::any_of(accesses[buffer],
                        [&](const Access &use) { return transferTasks.contains(taskOf(use)); });
  }

  static bool startsFilled(exec::BufferKind kind) {
    return kind == exec::BufferKind::Parameter || kind == exec::BufferKind::Optimizer ||
           kind == exec::BufferKind::Input;
  }

  // Checks that every byte was written before it is read. The bytes that a strided copy skips count
  // as written.
  LogicalResult checkWritten(unsigned buffer) {
    if (buffers[buffer].getPersistent() && startsFilled(buffers[buffer].getKind()))
      return success();
    SmallVector<std::pair<int64_t, int64_t>> written; // disjoint, ascending
    ArrayRef<Access> uses = accesses[buffer];
    for (const Access &use : uses) {
      if (use.write) {
        addRange(written, use.begin, use.end);
        continue;
      }
      bool covered = llvm::any_of(written, [&](std::pair<int64_t, int64_t> range) {
        return range.first <= use.begin && use.end <= range.second;
      });
      if (!covered)
        return ordering.getInstruction(use.instruction)->emitOpError()
               << "reads bytes " << use.begin << " to " << use.end << " of '"
               << buffers[buffer].getName() << "', which are not all written before";
    }
    return success();
  }

  exec::TaskOp taskOf(const Access &use) {
    return cast<exec::TaskOp>(ordering.getInstruction(use.instruction)->getParentOp());
  }

  // Checks that one run of a task stands for all: only sums are passed from one run to the next, or
  // from the runs to a task that runs once.
  LogicalResult checkRuns(unsigned buffer) {
    exec::BufferOp op = buffers[buffer];
    if (op.getPersistent())
      return success();
    exec::TaskOp writer; // the last task that writes the whole buffer
    bool writesAlways = false;
    for (const Access &use : accesses[buffer]) {
      exec::InstructionOpInterface instruction = ordering.getInstruction(use.instruction);
      if (!use.write) {
        bool fromRuns = writer && writer.isRepeated();
        if (fromRuns && writesAlways && !op.getCarried() && !taskOf(use).isRepeated())
          return instruction->emitOpError()
                 << "reads '" << op.getName() << "', of which each run of task '"
                 << writer.getSymName() << "' has another; only what is carried adds up";
        if (fromRuns && !writesAlways && isRepeated(instruction))
          return instruction->emitOpError()
                 << "reads '" << op.getName()
                 << "' in every run of its task, but it is written in the last alone";
        continue;
      }
      bool always = isRepeated(instruction);
      if (op.getCarried() && always && !instruction.accumulates())
        return instruction->emitOpError()
               << "overwrites '" << op.getName() << "', to which every run of its task should add";
      writesAlways = always || (writesAlways && writer == taskOf(use));
      writer = taskOf(use);
    }
    return success();
  }

  // Checks that a run of a task is complete before the next one starts, whatever streams it uses:
  // it forks from stream 0 and joins it again. Instructions of the last run alone may continue
  // until the end of the step.
  LogicalResult checkStreams() {
    for (unsigned i = 0; i < ordering.size(); ++i) {
      exec::InstructionOpInterface op = ordering.getInstruction(i);
      if (op.getInstructionStream() == 0 || !isRepeated(op) ||
          isa<exec::RecordOp, exec::WaitOp>(op.getOperation()) ||
          transferTasks.contains(op->getParentOp()))
        continue;
      if (!ordering.isForked(i))
        return op->emitOpError()
               << "runs on stream " << op.getInstructionStream()
               << " in every run of its task, but waits for nothing that stream 0 "
                  "does in that run; the run before may still be under way";
      if (!ordering.isJoined(i))
        return op->emitOpError()
               << "runs on stream " << op.getInstructionStream()
               << " in every run of its task, but stream 0 does not wait for it in "
                  "that run; the next run may start before it is over";
    }
    return success();
  }

  // Returns the tasks of a micro-batch that use the buffer, in program order.
  std::vector<Operation *> tasksOf(unsigned buffer) {
    std::vector<Operation *> tasks;
    for (const Access &use : accesses[buffer])
      if (exec::TaskOp task = taskOf(use);
          task.isRepeated() && (tasks.empty() || tasks.back() != task))
        tasks.push_back(task);
    return tasks;
  }

  // Checks that a buffer that a micro-batch keeps from task to task while others run has enough
  // slots for the order, and that these share no byte with others.
  LogicalResult checkSlots() {
    for (unsigned buffer = 0; buffer < buffers.size(); ++buffer) {
      exec::BufferOp op = buffers[buffer];
      std::vector<Operation *> tasks = tasksOf(buffer);
      if (!op.getSlots()) {
        if (!op.getPersistent() && !op.getCarried() && tasks.size() > 1 &&
            order.getSlots(tasks) > 0)
          return op.emitOpError() << "'" << op.getName()
                                  << "' is kept from task to task while other micro-batches run, "
                                     "but has no slots";
        continue;
      }
      for (const Access &use : accesses[buffer])
        if (!taskOf(use).getPerMicroBatch())
          return ordering.getInstruction(use.instruction)->emitOpError()
                 << "uses '" << op.getName() << "', of which each slot has one, in a task of all";
      if (!order.areEnough(static_cast<int64_t>(*op.getSlots()), tasks))
        return op.emitOpError() << "'" << op.getName() << "' has " << *op.getSlots()
                                << " slots, in which the order keeps two micro-batches at once or "
                                   "reads what is not there yet";
    }
    return success();
  }

  // Checks that a sum over micro-batches starts before anything else is added, and is read after
  // the last addend.
  LogicalResult checkSums(unsigned buffer) {
    exec::BufferOp op = buffers[buffer];
    if (!op.getCarried())
      return success();
    for (const std::vector<RunOrder::Run> &runs : order.getEntries()) {
      llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> span; // first and last run
      for (auto [index, run] : llvm::enumerate(runs)) {
        auto at = static_cast<int64_t>(index);
        span.try_emplace(run.task, at, at).first->second.second = at;
      }
      int64_t start = -1, lastAdded = -1;
      for (const Access &use : accesses[buffer]) {
        exec::InstructionOpInterface instruction = ordering.getInstruction(use.instruction);
        auto found = span.find(taskOf(use));
        if (found == span.end() || !isRepeated(instruction) || !use.write)
          continue;
        auto [first, last] = found->second;
        if (instruction.startsSum())
          start = first;
        else if (first < start)
          return instruction->emitOpError()
                 << "adds to '" << op.getName()
                 << "' before the run that starts the sum, which would lose it";
        lastAdded = std::max(lastAdded, last);
      }
      for (const Access &use : accesses[buffer]) {
        exec::InstructionOpInterface instruction = ordering.getInstruction(use.instruction);
        auto found = span.find(taskOf(use));
        if (found != span.end() && !isRepeated(instruction) && found->second.second < lastAdded)
          return instruction->emitOpError()
                 << "uses '" << op.getName() << "' before the last run that adds to it";
      }
    }
    return success();
  }

  static void addRange(SmallVectorImpl<std::pair<int64_t, int64_t>> &ranges, int64_t begin,
                       int64_t end) {
    SmallVector<std::pair<int64_t, int64_t>> merged;
    for (auto range : ranges) {
      if (range.second < begin || end < range.first) {
        merged.push_back(range);
        continue;
      }
      begin = std::min(begin, range.first);
      end = std::max(end, range.second);
    }
    merged.emplace_back(begin, end);
    llvm::sort(merged);
    ranges.assign(merged.begin(), merged.end());
  }

  // True if every use of `a` is complete before any use of `b`. False if the runs before the last
  // have left a sum in `b`.
  bool isOver(unsigned a, unsigned b) {
    if (exec::BufferOp(buffers[b]).getCarried())
      return false;
    if (exec::BufferOp(buffers[a]).getCarried() &&
        llvm::any_of(spans[b], [](const Span &span) { return span.repeated; }))
      return false;
    return llvm::all_of(spans[a], [&](const Span &first) {
      return llvm::all_of(spans[b], [&](const Span &second) {
        return ordering.isBefore(first.last, second.first) && !runsBehind(first, second);
      });
    });
  }

  // True if the task of `first` runs again after the last run of the task of `second`, in which
  // alone `second` is executed.
  bool runsBehind(const Span &first, const Span &second) {
    return first.task != second.task && first.taskRepeated && second.taskRepeated &&
           !second.repeated && order.runsBehind(first.task, second.task);
  }

  // Returns the bytes from the first to the last one of a buffer, in all slots.
  static uint64_t reachOf(exec::BufferOp buffer) {
    return static_cast<uint64_t>(buffer.getAllBytes());
  }

  // Checks that buffers that share bytes are never live at the same time. Many layers share bytes,
  // so that pairs are many: what is looked up for one has to be little.
  LogicalResult checkSharing() {
    struct Extent {
      bool host;
      uint64_t begin, end;
      unsigned buffer;
      bool kept;
    };
    std::vector<Extent> extents;
    for (auto [index, buffer] : llvm::enumerate(buffers))
      extents.push_back({buffer.getHost(), *buffer.getOffset(),
                         *buffer.getOffset() + reachOf(buffer), static_cast<unsigned>(index),
                         buffer.getPersistent() || buffer.getSlots()});
    llvm::sort(extents, [](const Extent &a, const Extent &b) {
      return std::tuple(a.host, a.begin, a.buffer) < std::tuple(b.host, b.begin, b.buffer);
    });
    for (size_t i = 0; i < extents.size(); ++i) {
      const Extent &low = extents[i];
      for (size_t j = i + 1; j < extents.size(); ++j) {
        const Extent &high = extents[j];
        if (high.host != low.host || high.begin >= low.end)
          break;
        if (!low.kept && !high.kept &&
            (isOver(low.buffer, high.buffer) || isOver(high.buffer, low.buffer)))
          continue;
        exec::BufferOp first = buffers[low.buffer], second = buffers[high.buffer];
        InFlightDiagnostic diagnostic = second.emitOpError()
                                        << "'" << second.getName() << "' shares bytes with '"
                                        << first.getName() << "', and both are live at one time";
        diagnostic.attachNote(first.getLoc()) << "the other buffer";
        return diagnostic;
      }
    }
    return success();
  }

  exec::ProgramOp program;
  const Ordering &ordering;
  RunOrder order;
  llvm::SmallPtrSet<Operation *, 8> transferTasks; // tasks of transfers on streams of their own
  std::vector<exec::BufferOp> buffers;
  llvm::DenseMap<Value, unsigned> indices;
  std::vector<std::vector<Access>> accesses; // per buffer, in the order of instructions
  std::vector<SmallVector<Span, 2>> spans;   // per buffer
};

struct VerifyExec : dtc::impl::VerifyExecBase<VerifyExec> {
  void runOnOperation() override {
    if (failed(hasLayers(getOperation()) ? verifyUnrolled() : verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult verify(exec::ProgramOp program) {
    FailureOr<Ordering> ordering = Ordering::create(program);
    return success(succeeded(ordering) && succeeded(Verifier(program, *ordering).run()));
  }

  // Checks every layer separately, and the verifiers of the unrolled instructions, which a repeat
  // only runs for its first layer.
  LogicalResult verifyUnrolled() {
    OwningOpRef<exec::ProgramOp> unrolled(cast<exec::ProgramOp>(getOperation()->clone()));
    unrollLayers(*unrolled);
    return success(succeeded(mlir::verify(*unrolled)) && succeeded(verify(*unrolled)));
  }
};
} // namespace
