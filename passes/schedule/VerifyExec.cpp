// Checks that a planned program cannot go wrong (pass dtc-verify-exec).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_VERIFYEXEC
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
struct Access {
  unsigned instruction;
  bool write;
  int64_t begin, end; // bytes in the root buffer
};

class Verifier {
public:
  Verifier(exec::ProgramOp program, const Ordering &ordering)
      : program(program), ordering(ordering) {
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      indices[buffer] = buffers.size();
      buffers.push_back(buffer);
    }
    accesses.resize(buffers.size());
    for (unsigned i = 0; i < ordering.size(); ++i)
      addAccesses(i);
  }

  LogicalResult run() {
    if (!program.getArenaBytes())
      return program.emitOpError() << "has no arena size; run dtc-plan-memory first";
    for (unsigned buffer = 0; buffer < buffers.size(); ++buffer) {
      if (!buffers[buffer].getOffset())
        return buffers[buffer].emitOpError()
               << "'" << buffers[buffer].getName() << "' has no offset; run dtc-plan-memory first";
      if (failed(checkOrder(buffer)) || failed(checkWritten(buffer)))
        return failure();
    }
    return checkSharing();
  }

private:
  void addAccesses(unsigned i) {
    exec::InstructionOpInterface op = ordering.getInstruction(i);
    for (Value buffer : op.getReadBuffers()) {
      exec::BufferRange range = exec::getRange(buffer);
      accesses[indices[range.root]].push_back({i, false, range.offset, range.offset + range.bytes});
    }
    for (auto [index, buffer] : llvm::enumerate(op.getWrittenBuffers())) {
      exec::BufferRange range = exec::getRange(buffer);
      auto [offset, bytes] = op.getWrittenRange(index);
      int64_t begin = range.offset + offset;
      accesses[indices[range.root]].push_back({i, true, begin, begin + bytes});
    }
  }

  InFlightDiagnostic emitPair(unsigned later, unsigned earlier, const Twine &message) {
    InFlightDiagnostic diagnostic = ordering.getInstruction(later)->emitOpError() << message;
    diagnostic.attachNote(ordering.getInstruction(earlier)->getLoc()) << "the other instruction";
    return diagnostic;
  }

  // Uses of the same bytes, one of them a write, are in order whatever the streams do.
  LogicalResult checkOrder(unsigned buffer) {
    ArrayRef<Access> uses = accesses[buffer];
    if (program.getStreams() == 1)
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

  static bool startsFilled(exec::BufferKind kind) {
    return kind == exec::BufferKind::Parameter || kind == exec::BufferKind::Optimizer ||
           kind == exec::BufferKind::Input;
  }

  // Every byte that is read was written before. The bytes that a strided copy skips count as
  // written with it.
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

  // Whether every use of `a` is over before any use of `b`.
  bool isOver(unsigned a, unsigned b) {
    return llvm::all_of(accesses[a], [&](const Access &first) {
      return llvm::all_of(accesses[b], [&](const Access &second) {
        return ordering.isBefore(first.instruction, second.instruction);
      });
    });
  }

  // Buffers that share bytes are never live together.
  LogicalResult checkSharing() {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, buffers.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(*buffers[a].getOffset(), a) < std::pair(*buffers[b].getOffset(), b);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      exec::BufferOp low = buffers[order[i]];
      for (size_t j = i + 1; j < order.size(); ++j) {
        exec::BufferOp high = buffers[order[j]];
        if (*high.getOffset() >= *low.getOffset() + low.getBytes())
          break;
        bool kept = low.getPersistent() || high.getPersistent();
        if (!kept && (isOver(order[i], order[j]) || isOver(order[j], order[i])))
          continue;
        InFlightDiagnostic diagnostic = high.emitOpError()
                                        << "'" << high.getName() << "' shares bytes with '"
                                        << low.getName() << "', and both are live at one time";
        diagnostic.attachNote(low.getLoc()) << "the other buffer";
        return diagnostic;
      }
    }
    return success();
  }

  exec::ProgramOp program;
  const Ordering &ordering;
  std::vector<exec::BufferOp> buffers;
  llvm::DenseMap<Value, unsigned> indices;
  std::vector<std::vector<Access>> accesses;
};

struct VerifyExec : dtc::impl::VerifyExecBase<VerifyExec> {
  void runOnOperation() override {
    FailureOr<Ordering> ordering = Ordering::create(getOperation());
    if (failed(ordering) || failed(Verifier(getOperation(), *ordering).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
