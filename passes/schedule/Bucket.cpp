// Merges several collectives into one.
#include "passes/schedule/Bucket.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/MemoryPlan.h"
#include "passes/schedule/Ordering.h"

using namespace mlir;
using namespace dtc;

namespace {
bool isAtZero(exec::RankScalarAttr offset) { return offset.isConstant() && offset.getBase() == 0; }

// Builds one bucket: the data of its members are side by side in one buffer. `starts[i]` is the
// first element of member i in the buffer, or in each rank's block of it if there are several
// blocks.
class BucketBuilder {
public:
  BucketBuilder(exec::ProgramOp program, ArrayRef<BucketMember> members, const Twine &number)
      : program(program), members(members), number(number.str()), first(members.front().collective),
        last(members.back().collective), repeated(isRepeated(first)), builder(last) {
    for (const BucketMember &member : members) {
      exec::CollectiveOp collective = member.collective;
      starts.push_back(count);
      int64_t unit = kBufferAlignment / elementBytes();
      int64_t aligned = llvm::alignTo(collective.getCount(), unit);
      hasGaps |= aligned != static_cast<int64_t>(collective.getCount());
      count += aligned;
    }
  }

  void build() {
    switch (first.getKind()) {
    case exec::CollectiveKind::AllReduce:
      return buildAllReduce();
    case exec::CollectiveKind::ReduceScatter:
      return buildReduceScatter();
    case exec::CollectiveKind::AllGather:
      return buildAllGather();
    case exec::CollectiveKind::AllToAll:
      llvm_unreachable("isBucketMember takes no all_to_all");
    }
  }

private:
  int64_t elementBytes() { return exec::getElementBytes(exec::getDtype(first.getSrc())); }

  Value createBuffer(StringRef name, exec::BufferKind kind, int64_t elements) {
    OpBuilder front = OpBuilder::atBlockBegin(&program.getBody().front());
    return exec::BufferOp::create(front, first.getLoc(), first.getSrc().getType(),
                                  (name + number).str(), kind, exec::getDtype(first.getSrc()),
                                  elements * elementBytes(),
                                  /*persistent=*/false, /*carried=*/false, /*host=*/false,
                                  /*slots=*/IntegerAttr(), IntegerAttr());
  }

  // Makes a whole buffer a view of `bucket` from element `start` on.
  void moveInto(Value buffer, Value bucket, int64_t start) {
    exec::BufferOp root = getRootOp(buffer);
    OpBuilder front(root);
    Value view = exec::ViewOp::create(front, root.getLoc(), root.getType(), bucket, root.getName(),
                                      root.getDtype(), root.getBytes(), start * elementBytes());
    root.getResult().replaceAllUsesWith(view);
    if (root.getCarried())
      getRootOp(bucket).setCarried(true);
    root.erase();
  }

  // Creates an instruction of the bucket, which runs with every micro-batch or the last one, as its
  // members do.
  template <typename Op, typename... Args>
  Op add(OpBuilder &at, Location location, Args &&...args) {
    auto op = Op::create(at, location, std::forward<Args>(args)...);
    if (isRepeated(op) && !repeated)
      op.setLast(true);
    return op;
  }

  // Zeroes the gaps between members: they take part in the collective, so they must be defined.
  void zeroGaps(Value bucket) {
    for (size_t i = 0; i < starts.size(); ++i) {
      exec::CollectiveOp collective = members[i].collective;
      int64_t end = starts[i] + collective.getCount();
      int64_t next = i + 1 < starts.size() ? starts[i + 1] : count;
      if (end == next)
        continue;
      OpBuilder front(bucket.getContext());
      front.setInsertionPointAfterValue(bucket);
      Value gap = exec::ViewOp::create(front, collective.getLoc(), bucket.getType(), bucket, "gap",
                                       exec::getDtype(bucket), (next - end) * elementBytes(),
                                       end * elementBytes());
      add<exec::ZeroOp>(builder, last.getLoc(), gap);
    }
  }

  void emit(Value src, Value dst) {
    std::string name = first.getName().str();
    if (members.size() > 1)
      name += " +" + std::to_string(members.size() - 1);
    auto merged = add<exec::CollectiveOp>(builder, last.getLoc(), first.getKind(),
                                          first.getReduce(), src, dst, first.getAxes(), count, name,
                                          first.getRole(), first.getAsync(), first.getOverAttr());
    setExecution(merged, getExecution(first));
  }

  exec::RankScalarAttr at(int64_t element) {
    return exec::RankScalarAttr::get(program.getContext(), element);
  }

  void buildAllReduce() {
    Value bucket = createBuffer("gradients.", exec::BufferKind::Gradient, count);
    for (auto [member, start] : llvm::zip(members, starts)) {
      exec::CollectiveOp collective = member.collective;
      moveInto(collective.getSrc(), bucket, start);
    }
    zeroGaps(bucket);
    emit(bucket, bucket);
    eraseMembers();
  }

  void buildReduceScatter() {
    int64_t ranks = getNumRanks(first);
    Value blocks = createBuffer("scattered.", exec::BufferKind::Communication, ranks * count);
    Value sums = viewOfDestinations();
    bool isInPlace = sums != nullptr;
    if (!isInPlace)
      sums = createBuffer("gradients.", exec::BufferKind::Gradient, count);
    Operation *earliest = first;
    for (auto [member, start] : llvm::zip(members, starts))
      if (Operation *pack = packInto(member.collective, blocks, start, ranks);
          comesBefore(pack, earliest))
        earliest = pack;
    if (hasGaps) {
      OpBuilder before(earliest);
      add<exec::ZeroOp>(before, first.getLoc(), blocks);
    }
    emit(blocks, sums);
    for (auto [member, start] : llvm::zip(members, starts)) {
      exec::CollectiveOp collective = member.collective;
      if (isWholeTemporary(collective.getDst()))
        moveInto(collective.getDst(), sums, start);
      else if (!isInPlace)
        add<exec::CopyOp>(builder, last.getLoc(), sums, collective.getDst(),
                          ArrayRef<int64_t>{static_cast<int64_t>(collective.getCount())},
                          ArrayRef<int64_t>{1}, at(start), ArrayRef<int64_t>{1}, at(0),
                          /*accumulate=*/false);
      for (exec::CopyOp copy : member.unpacks)
        copy->moveBefore(last);
    }
    eraseMembers();
  }

  // Returns the buffer of the members' destinations if they are already side by side in one bucket,
  // else null.
  Value viewOfDestinations() {
    exec::BufferRange begin = exec::getRange(first.getDst());
    for (auto [member, start] : llvm::zip(members, starts)) {
      exec::CollectiveOp collective = member.collective;
      exec::BufferRange range = exec::getRange(collective.getDst());
      int64_t bytes = static_cast<int64_t>(collective.getCount()) * elementBytes();
      if (range.root != begin.root || range.bytes != bytes ||
          range.offset != begin.offset + start * elementBytes())
        return nullptr;
    }
    exec::BufferOp root = getRootOp(first.getDst());
    int64_t bytes = count * elementBytes();
    if (begin.offset + bytes > static_cast<int64_t>(root.getBytes()))
      return nullptr;
    OpBuilder behind(root->getContext());
    behind.setInsertionPointAfter(root);
    return exec::ViewOp::create(behind, first.getLoc(), root.getType(), root, "scattered_sums",
                                exec::getDtype(first.getDst()), bytes, begin.offset);
  }

  // Makes the source of a reduce_scatter part of `blocks` and returns the first copy that writes
  // it. This is either the redirected copy that packed it, or a new copy in front of the
  // collective, after which the gradient's memory is free.
  Operation *packInto(exec::CollectiveOp collective, Value blocks, int64_t start, int64_t ranks) {
    int64_t part = collective.getCount();
    if (exec::CopyOp pack = getMovablePack(collective)) {
      int dim = getRankDim(pack.getSizes(), pack.getDstStrides(), ranks, part);
      SmallVector<int64_t> strides(pack.getDstStrides());
      strides[dim] = count;
      pack.setDstStrides(strides);
      pack.setDstOffsetAttr(at(start));
      pack.getDstMutable().assign(blocks);
      return pack;
    }
    OpBuilder before(collective);
    return add<exec::CopyOp>(before, collective.getLoc(), collective.getSrc(), blocks,
                             ArrayRef<int64_t>{ranks, part}, ArrayRef<int64_t>{part, 1}, at(0),
                             ArrayRef<int64_t>{count, 1}, at(start), /*accumulate=*/false);
  }

  void buildAllGather() {
    int64_t ranks = getNumRanks(first);
    Value mine = createBuffer("shards.", exec::BufferKind::Communication, count);
    Value all = createBuffer("gathered.", exec::BufferKind::Communication, ranks * count);
    for (auto [member, start] : llvm::zip(members, starts)) {
      exec::CollectiveOp collective = member.collective;
      int64_t part = collective.getCount();
      if (isWholeTemporary(collective.getSrc())) {
        moveInto(collective.getSrc(), mine, start);
        continue;
      }
      OpBuilder before(collective);
      add<exec::CopyOp>(before, collective.getLoc(), collective.getSrc(), mine,
                        ArrayRef<int64_t>{part}, ArrayRef<int64_t>{1}, at(0), ArrayRef<int64_t>{1},
                        at(start), /*accumulate=*/false);
    }
    zeroGaps(mine);
    emit(mine, all);
    for (auto [member, start] : llvm::zip(members, starts))
      unpackFrom(member, all, start, ranks);
    eraseMembers();
  }

  void unpackFrom(const BucketMember &member, Value all, int64_t start, int64_t ranks) {
    exec::CollectiveOp collective = member.collective;
    int64_t part = collective.getCount();
    auto redirectable = [&](exec::CopyOp copy) {
      return isAtZero(copy.getSrcOffset()) && copy.getSrc() == collective.getDst() &&
             getRankDim(copy.getSizes(), copy.getSrcStrides(), ranks, part) >= 0;
    };
    bool redirect = !member.unpacks.empty() && llvm::all_of(member.unpacks, redirectable);
    if (!redirect)
      add<exec::CopyOp>(builder, last.getLoc(), all, collective.getDst(),
                        ArrayRef<int64_t>{ranks, part}, ArrayRef<int64_t>{count, 1}, at(start),
                        ArrayRef<int64_t>{part, 1}, at(0), /*accumulate=*/false);
    for (exec::CopyOp copy : member.unpacks) {
      copy->moveBefore(last);
      if (!redirect)
        continue;
      SmallVector<int64_t> strides(copy.getSrcStrides());
      strides[getRankDim(copy.getSizes(), copy.getSrcStrides(), ranks, part)] = count;
      copy.setSrcStrides(strides);
      copy.setSrcOffsetAttr(at(start));
      copy.getSrcMutable().assign(all);
    }
  }

  void eraseMembers() {
    for (const BucketMember &member : members) {
      exec::CollectiveOp collective = member.collective;
      collective.erase();
    }
  }

  exec::ProgramOp program;
  ArrayRef<BucketMember> members;
  std::string number;
  exec::CollectiveOp first, last;
  bool repeated;
  OpBuilder builder; // inserts in front of the last member
  SmallVector<int64_t> starts;
  int64_t count = 0;
  bool hasGaps = false;
};
} // namespace

void dtc::buildBucket(exec::ProgramOp program, ArrayRef<BucketMember> members, const Twine &name) {
  BucketBuilder(program, members, name).build();
}
