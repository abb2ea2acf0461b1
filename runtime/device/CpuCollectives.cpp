#include "runtime/device/CpuCollectives.h"

namespace dtc::rt {

static DataType dataType(format::DType type) {
  switch (type) {
  case format::DType::f32:
    return DataType::F32;
  case format::DType::bf16:
    return DataType::Bf16;
  case format::DType::f16:
    return DataType::F16;
  case format::DType::i32:
    return DataType::I32;
  case format::DType::i64:
    return DataType::I64;
  case format::DType::u8:
    return DataType::U8;
  }
  __builtin_unreachable(); // the loader has checked it
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
