// Properties of collectives that may be merged into buckets.
#include "passes/schedule/BucketMember.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/GradientCollectives.h"
#include "passes/schedule/Ordering.h"

using namespace mlir;
using namespace dtc;

bool dtc::isWholeTemporary(Value buffer) {
  exec::BufferRange range = exec::getRange(buffer);
  exec::BufferOp root = getRootOp(buffer);
  return !root.getPersistent() && range.offset == 0 &&
         range.bytes == static_cast<int64_t>(root.getBytes());
}

bool dtc::isBucketMember(exec::CollectiveOp collective) {
  if (isParameterGather(collective))
    return true;
  if (!isGradientReduction(collective))
    return false;
  return collective.getKind() != exec::CollectiveKind::AllReduce ||
         (isWholeTemporary(collective.getSrc()) &&
          exec::getRange(collective.getSrc()).root == exec::getRange(collective.getDst()).root);
}

bool dtc::reducesScattered(exec::CollectiveOp collective) {
  if (collective.getKind() != exec::CollectiveKind::AllReduce)
    return false;
  auto isScattered = [](Value root) {
    return llvm::any_of(getAccesses(root), [](exec::InstructionOpInterface access) {
      auto other = dyn_cast<exec::CollectiveOp>(access.getOperation());
      return other && other.getKind() == exec::CollectiveKind::ReduceScatter;
    });
  };
  Value sum = exec::getRange(collective.getSrc()).root;
  // True for copies that add a scattered result to the sum: each micro-batch that scatters adds its
  // part.
  auto addsScattered = [&](exec::InstructionOpInterface access) {
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    return copy && exec::getRange(copy.getDst()).root == sum &&
           isScattered(exec::getRange(copy.getSrc()).root);
  };
  return isScattered(sum) || llvm::any_of(getAccesses(sum), addsScattered);
}

BucketMember dtc::makeBucketMember(exec::CollectiveOp collective) {
  if (collective.getKind() == exec::CollectiveKind::AllReduce)
    return {collective, {}};
  return {collective, getUnpacking(collective)};
}

std::string dtc::getBucketKey(exec::CollectiveOp collective) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << exec::stringifyCollectiveKind(collective.getKind()) << ' '
         << (isRepeated(collective) ? "repeated " : "")
         << exec::stringifyReduceKind(collective.getReduce()) << ' '
         << exec::getDtype(collective.getSrc());
  if (std::optional<int64_t> execution = getExecution(collective))
    stream << " of " << *execution;
  for (int64_t axis : collective.getAxes())
    stream << ' ' << axis;
  if (auto lists = collective.getOver())
    stream << ' ' << *lists;
  return key;
}

int64_t dtc::getBucketBytes(exec::CollectiveOp collective) {
  return std::max(exec::getBytes(collective.getSrc()), exec::getBytes(collective.getDst()));
}

int64_t dtc::getNumRanks(exec::CollectiveOp collective) {
  bool isScatter = collective.getKind() == exec::CollectiveKind::ReduceScatter;
  Value whole = isScatter ? collective.getSrc() : collective.getDst();
  return exec::getBytes(whole) / exec::getElementBytes(exec::getDtype(whole)) /
         static_cast<int64_t>(collective.getCount());
}

int dtc::getRankDim(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, int64_t ranks,
                    int64_t count) {
  int dim = -1;
  int64_t reach = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (dim < 0 && sizes[i] == ranks && strides[i] == count)
      dim = static_cast<int>(i);
    else
      reach += (sizes[i] - 1) * strides[i];
  }
  return reach < count ? dim : -1;
}

exec::CopyOp dtc::getMovablePack(exec::CollectiveOp collective) {
  SmallVector<exec::InstructionOpInterface> accesses =
      getAccesses(exec::getRange(collective.getSrc()).root);
  if (!isWholeTemporary(collective.getSrc()) || accesses.size() != 2)
    return nullptr;
  auto pack = dyn_cast<exec::CopyOp>(accesses[0].getOperation());
  if (!pack || pack.getAccumulate() || !pack.getDstOffset().isConstant() ||
      pack.getDstOffset().getBase() != 0 || pack.getDst() != collective.getSrc())
    return nullptr;
  int dim = getRankDim(pack.getSizes(), pack.getDstStrides(), getNumRanks(collective),
                       static_cast<int64_t>(collective.getCount()));
  return dim >= 0 ? pack : nullptr;
}
