#include "runtime/device/CpuCollectives.h"

namespace dtc::rt {

static DataType dataType(format::DType type) {
  static_assert(static_cast<int>(format::DType::bf16) == static_cast<int>(DataType::Bf16) &&
                static_cast<int>(format::DType::i32) == static_cast<int>(DataType::I32) &&
                static_cast<int>(format::DType::u8) == static_cast<int>(DataType::U8));
  return static_cast<DataType>(type);
}

static Status runTransfer(const format::Transfer &op, char *buffer, Comm &list) {
  int peer = (list.rank() + static_cast<int>(op.shift())) % list.size();
  DataType type = dataType(op.dtype());
  return op.kind() == format::TransferKind::send ? list.send(buffer, op.count(), type, peer)
                                                 : list.receive(buffer, op.count(), type, peer);
}

Status runCollective(const Command &command, Comm &group) {
  if (const format::Transfer *transfer = command.source->op_as_Transfer())
    return runTransfer(*transfer, command.buffers[0], group);
  const format::Collective &op = *command.source->op_as_Collective();
  const void *src = command.buffers[0];
  void *dst = command.buffers[1];
  DataType type = dataType(op.dtype());
  Reduction reduction = op.reduce() == format::ReduceKind::max ? Reduction::Max : Reduction::Sum;
  switch (op.kind()) {
  case format::CollectiveKind::all_reduce:
    return group.allReduce(src, dst, op.count(), type, reduction);
  case format::CollectiveKind::all_gather:
    return group.allGather(src, dst, op.count(), type);
  case format::CollectiveKind::reduce_scatter:
    return group.reduceScatter(src, dst, op.count(), type, reduction);
  case format::CollectiveKind::all_to_all:
    return group.allToAll(src, dst, op.count(), type);
  }
  return Status::internal("a collective of unknown kind passed the verifier");
}

} // namespace dtc::rt
