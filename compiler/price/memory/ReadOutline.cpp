// Reads the outline of a step off its exec.program.
#include "compiler/price/memory/ReadOutline.h"

#include "passes/schedule/BucketMember.h"
#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/MemoryPlan.h"
#include "passes/schedule/Ordering.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtc {
namespace {

class OutlineReader {
public:
  OutlineReader(exec::ProgramOp program, const llvm::StringMap<int> &layers,
                const Ordering &ordering)
      : program(program), layers(layers), ordering(ordering),
        instructions(getInstructions(program)) {}

  std::optional<OutlinedProgram> run() {
    result.outline.length = static_cast<int64_t>(instructions.size());
    for (auto [index, instruction] : llvm::enumerate(instructions)) {
      times[instruction] = static_cast<int64_t>(index);
      if (isRepeated(instruction))
        result.outline.lastRepeated = static_cast<int64_t>(index);
    }
    for (auto buffer : program.getBody().getOps<exec::BufferOp>())
      addBuffer(buffer);
    findUses();
    for (exec::InstructionOpInterface instruction : instructions)
      if (auto collective = dyn_cast<exec::CollectiveOp>(instruction.getOperation()))
        if (!getExecution(collective) &&
            (isGradientReduction(collective) || isParameterGather(collective)))
          addCollective(collective);
    if (!findRuns())
      return std::nullopt;
    return std::move(result);
  }

private:
  // Returns the layer of a parameter, its states or its gradient; -1 if it belongs to no layer.
  int layerOf(exec::BufferOp buffer) const {
    StringRef name = buffer.getName();
    if (buffer.getKind() == exec::BufferKind::Optimizer)
      name = name.rsplit('.').first;
    else if (!name.consume_front("grad ") && buffer.getKind() != exec::BufferKind::Parameter)
      return -1;
    auto found = layers.find(name);
    return found == layers.end() ? -1 : found->second;
  }

  void addBuffer(exec::BufferOp buffer) {
    auto bytes = static_cast<int64_t>(buffer.getBytes());
    layerOfBuffer[buffer] = layerOf(buffer);
    if (!buffer.getPersistent()) {
      indices[buffer] = static_cast<int>(result.outline.buffers.size());
      result.outline.buffers.push_back({bytes, result.outline.length, -1, buffer.getKind(),
                                        buffer.getCarried(), buffer.getHost()});
      return;
    }
    auto kind = static_cast<size_t>(buffer.getKind());
    auto aligned =
        static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(bytes), kBufferAlignment));
    bool isOnHost = buffer.getHost();
    (isOnHost ? result.outline.persistentOnHost : result.outline.persistent[kind]) += aligned;
    if (layerOfBuffer[buffer] == 1)
      (isOnHost ? result.middleOnHost : result.middlePersistent[kind]) += aligned;
  }

  // Extends the lifetime of buffers that other streams use until stream 0 waits for them.
  void findUses() {
    for (unsigned index = 0; index < instructions.size(); ++index) {
      exec::InstructionOpInterface instruction = instructions[index];
      bool computes = instruction.getInstructionStream() == 0;
      if (!computes)
        followParameters(instruction);
      for (Value operand : instruction->getOperands()) {
        Value root = exec::getRange(operand).root;
        if (int layer = layerOfBuffer.lookup(root); computes && layer >= 0)
          noteLayer(layer, index);
        auto found = indices.find(root);
        if (found == indices.end())
          continue;
        StepOutline::Buffer &buffer = result.outline.buffers[static_cast<size_t>(found->second)];
        buffer.begin = std::min(buffer.begin, computes ? index : ordering.getStart(index) + 1);
        buffer.end = std::max(buffer.end, ordering.getEnd(index));
      }
    }
  }

  // Assigns gathered parameters to the layer of the parameter.
  void followParameters(exec::InstructionOpInterface instruction) {
    for (Value from : instruction.getReadBuffers())
      if (int layer = layerOfBuffer.lookup(exec::getRange(from).root); layer >= 0)
        for (Value to : instruction.getWrittenBuffers())
          layerOfBuffer[exec::getRange(to).root] = layer;
  }

  // A layer begins with what stands in front of it on other streams.
  void noteLayer(int layer, int64_t time) {
    if (!changes.empty() && changes.back().first == layer)
      return;
    auto computes = [&](exec::InstructionOpInterface instruction) {
      return instruction.getInstructionStream() == 0 &&
             !isa<exec::RecordOp, exec::WaitOp>(instruction.getOperation());
    };
    while (time > 0 && !computes(instructions[static_cast<size_t>(time) - 1]))
      --time;
    changes.push_back({layer, time});
  }

  // The first instruction after `time` that depends on what the collective writes, `unpacks` left
  // aside.
  int64_t firstNeed(Value written, int64_t time, ArrayRef<exec::CopyOp> unpacks) const {
    for (exec::InstructionOpInterface access : getAccesses(exec::getRange(written).root))
      if (times.lookup(access) > time && !llvm::is_contained(unpacks, access.getOperation()))
        return times.lookup(access);
    return result.outline.length;
  }

  void addCollective(exec::CollectiveOp op) {
    BucketMember member = makeBucketMember(op);
    StepOutline::Collective collective;
    collective.kind = op.getKind();
    collective.isMember = isBucketMember(op);
    collective.reducesScattered = reducesScattered(op);
    collective.key = getBucketKey(op);
    collective.bucketBytes = getBucketBytes(op);
    collective.partBytes =
        static_cast<int64_t>(op.getCount()) * exec::getElementBytes(exec::getDtype(op.getSrc()));
    collective.time = collective.packedAt = times.lookup(op);
    collective.src = indexOf(op.getSrc());
    collective.dst = indexOf(op.getDst());
    collective.movesSource = isWholeTemporary(op.getSrc());
    collective.movesDestination = isWholeTemporary(op.getDst());
    bool isReduction = op.getKind() == exec::CollectiveKind::AllReduce;
    collective.ranks = isReduction ? 1 : getNumRanks(op);
    if (op.getKind() == exec::CollectiveKind::ReduceScatter) {
      exec::CopyOp pack = getMovablePack(op);
      collective.movesSource = pack != nullptr;
      if (pack)
        collective.packedAt = times.lookup(pack);
    }
    int64_t done = collective.time;
    for (exec::CopyOp unpack : member.unpacks)
      done = std::max(done, times.lookup(unpack));
    collective.neededAt = firstNeed(op.getDst(), done, member.unpacks);
    for (exec::CopyOp unpack : member.unpacks)
      collective.neededAt =
          std::min(collective.neededAt, firstNeed(unpack.getDst(), done, member.unpacks));
    result.outline.collectives.push_back(std::move(collective));
  }

  int indexOf(Value buffer) const {
    auto found = indices.find(exec::getRange(buffer).root);
    return found == indices.end() ? -1 : found->second;
  }

  // Middle layers are where two changes in one direction follow each other.
  bool findRuns() {
    if (llvm::none_of(layers, [](const auto &entry) { return entry.second == 2; }))
      return true; // fewer than three
    for (size_t i = 0; i + 1 < changes.size(); ++i) {
      int from = changes[i].first, to = changes[i + 1].first;
      if (from == 1) { // instructions after the middle layer differ from those before it
        if (i == 0 || changes[i - 1].first == to)
          return false;
        result.runs.push_back({changes[i].second, changes[i + 1].second, to == 0});
      }
    }
    return changes.empty() || changes.back().first != 1;
  }

  exec::ProgramOp program;
  const llvm::StringMap<int> &layers;
  const Ordering &ordering;
  std::vector<exec::InstructionOpInterface> instructions;
  llvm::DenseMap<Operation *, int64_t> times;
  llvm::DenseMap<Value, int> layerOfBuffer;
  llvm::DenseMap<Value, int> indices;           // in outline.buffers
  std::vector<std::pair<int, int64_t>> changes; // layer, and since when
  OutlinedProgram result;
};

} // namespace

std::optional<OutlinedProgram> readOutline(exec::ProgramOp program,
                                           const llvm::StringMap<int> &layers) {
  FailureOr<Ordering> ordering = Ordering::create(program);
  if (failed(ordering))
    return std::nullopt;
  return OutlineReader(program, layers, *ordering).run();
}

} // namespace dtc
