// Moves collectives that may overlap with compute, and what passes round rings of ranks, to streams
// of their own (pass dtc-assign-streams).
#include "passes/schedule/EventInsertion.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
struct AssignStreams : dtc::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;

  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    int64_t numStreams = assignRingStreams(program);
    for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program)) {
      bool ofMicroBatch = getExecution(collective).has_value();
      if (!collective.getAsync() || (!ofMicroBatch && (isRepeated(collective) || !once)))
        continue;
      bool prefetches = ofMicroBatch && isParameterGather(collective);
      int64_t stream = prefetches ? kGatherStream : kCommunicationStream;
      numStreams = std::max(numStreams, stream + 1);
      collective.setStream(stream);
      // Moves the unpacking too: readers of a gathered tensor need it unpacked, and readers of a
      // sum need everything that adds to it.
      if (ofMicroBatch || collective.getKind() == exec::CollectiveKind::AllGather)
        for (exec::CopyOp unpack : getUnpacking(collective))
          unpack.setStream(stream);
      if (prefetches)
        for (exec::InstructionOpInterface pack : getPacking(collective))
          setStream(pack, stream);
    }
    if (numStreams == 1)
      return;
    program.setStreams(numStreams);
    program.setEvents(EventInsertion(program, inFlight).run());
  }

  static void setStream(Operation *packing, int64_t stream) {
    if (auto copy = dyn_cast<exec::CopyOp>(packing))
      copy.setStream(stream);
    else
      cast<exec::ZeroOp>(packing).setStream(stream);
  }
};
} // namespace
