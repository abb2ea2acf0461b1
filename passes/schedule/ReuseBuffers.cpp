// Removes copies and joins buffers that can share memory (pass dtc-reuse-buffers).
#include "passes/schedule/BufferAssignment.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/Ordering.h"
#include "passes/schedule/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_REUSEBUFFERS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Lets the producer of a value that is only added to a sum add it itself: gemm,
// grouped_gemm and embedding_grad can.
unsigned foldSums(exec::ProgramOp program) {
  unsigned folded = 0;
  for (exec::CopyOp copy : getInstructionsOf<exec::CopyOp>(program)) {
    if (!copy.getAccumulate() || copy.getSizes().size() != 1 || copy.getSrcStrides()[0] != 1 ||
        copy.getDstStrides()[0] != 1)
      continue;
    exec::BufferRange src = exec::getRange(copy.getSrc());
    exec::BufferOp root = getRootOp(src.root);
    auto accesses = getAccesses(src.root);
    if (root.getPersistent() || src.bytes != static_cast<int64_t>(root.getBytes()) ||
        exec::getBytes(copy.getDst()) != src.bytes || accesses.size() != 2 || accesses[1] != copy ||
        accesses[0]->getBlock() != copy->getBlock() ||
        accesses[0].getWrittenBuffers().size() != 1 ||
        exec::getRange(accesses[0].getWrittenBuffers()[0]).root != src.root)
      continue;
    // Requires that nothing between producer and copy uses the sum.
    exec::InstructionOpInterface producer = accesses[0];
    Value sum = copy.getDst();
    bool usedBetween = llvm::any_of(getAccesses(exec::getRange(sum).root), [&](auto access) {
      return access != copy && !comesBefore(access, producer) && comesBefore(access, copy);
    });
    if (usedBetween || !producer.accumulateInto(sum, copy.getStartsSum()))
      continue;
    copy.erase();
    ++folded;
  }
  return folded;
}

class Program {
public:
  explicit Program(exec::ProgramOp program) : instructions(getInstructions(program)) {
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      indices[buffer] = buffers.size();
      buffers.push_back(buffer);
      list.buffers.push_back({static_cast<int64_t>(buffer.getBytes()), buffer.getPersistent(),
                              buffer.getCarried(), buffer.getHost()});
    }
    list.instructions.reserve(instructions.size());
    for (exec::InstructionOpInterface op : instructions) {
      AccessList::Instruction instruction;
      for (Value buffer : op.getReadBuffers())
        instruction.reads.push_back(use(buffer));
      for (Value buffer : op.getWrittenBuffers())
        instruction.writes.push_back(use(buffer));
      instruction.inPlace.append(op.getInPlacePairs());
      auto copy = dyn_cast<exec::CopyOp>(op.getOperation());
      instruction.isCopy = copy && copy.isWhole() && !copy.getAccumulate();
      instruction.isRepeated = isRepeated(op);
      list.instructions.push_back(std::move(instruction));
    }
  }

  AccessList::Use use(Value buffer) {
    exec::BufferRange range = exec::getRange(buffer);
    return {indices.lookup(range.root), range.offset, range.bytes};
  }

  std::vector<exec::InstructionOpInterface> instructions;
  std::vector<exec::BufferOp> buffers;
  llvm::DenseMap<Value, unsigned> indices;
  AccessList list;
};

// Returns the rank of a kind: a shared buffer takes the kind with the highest rank, persistent
// kinds before passing ones.
unsigned importance(exec::BufferKind kind) {
  switch (kind) {
  case exec::BufferKind::Temporary:
    return 0;
  case exec::BufferKind::Activation:
    return 1;
  case exec::BufferKind::Communication:
    return 2;
  default:
    return 3;
  }
}

void absorb(exec::BufferOp into, exec::BufferOp from) {
  if (from.getCarried() && !into.getPersistent())
    into.setCarried(true);
  if (from.getSlots() && !into.getPersistent())
    into.setSlots(std::max(*from.getSlots(), into.getSlots().value_or(1)));
  if (into.getPersistent() || importance(from.getKind()) <= importance(into.getKind()))
    return;
  into.setKind(from.getKind());
  into.setName(from.getName());
}

// Makes every view refer to its root, and moves buffers in front of views.
void tidyDeclarations(Block &block) {
  for (auto view : block.getOps<exec::ViewOp>()) {
    exec::BufferRange range = exec::getRange(view);
    view.getBaseMutable().assign(range.root);
    view.setOffset(range.offset);
  }
  Operation *last = nullptr;
  for (auto buffer : llvm::make_early_inc_range(block.getOps<exec::BufferOp>())) {
    if (last)
      buffer->moveAfter(last);
    else
      buffer->moveBefore(&block, block.begin());
    last = buffer;
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<exec::BufferOp, exec::ViewOp>(op) && op.use_empty())
      op.erase();
}

struct ReuseBuffers : dtc::impl::ReuseBuffersBase<ReuseBuffers> {
  void runOnOperation() override {
    foldedSums += foldSums(getOperation());
    Program program(getOperation());
    BufferAssignment assignment(program.list);
    assignment.run();
    apply(program, assignment);
    tidyDeclarations(getOperation().getBody().front());
  }

  void apply(Program &program, const BufferAssignment &assignment) {
    for (unsigned i = 0; i < program.instructions.size(); ++i)
      if (assignment.isRedundant(i)) {
        program.instructions[i].erase();
        ++removedCopies;
      }
    for (unsigned i = 0; i < program.buffers.size(); ++i) {
      BufferAssignment::Location location = assignment.getLocation(i);
      if (location.buffer == i)
        continue;
      exec::BufferOp from = program.buffers[i], into = program.buffers[location.buffer];
      absorb(into, from);
      Value replacement = into;
      if (location.offset != 0 || from.getBytes() != into.getBytes() ||
          from.getDtype() != into.getDtype()) {
        // Inserts the view in front of the old buffer's uses; it follows the new buffer once
        // buffers have moved to the front.
        OpBuilder builder(from);
        replacement =
            exec::ViewOp::create(builder, from.getLoc(), from.getType(), into, from.getName(),
                                 from.getDtype(), from.getBytes(), location.offset);
      }
      from.getResult().replaceAllUsesWith(replacement);
      ++joinedBuffers;
    }
  }
};
} // namespace
