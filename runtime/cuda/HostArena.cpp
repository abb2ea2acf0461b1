#include "runtime/cuda/HostArena.h"

#include "runtime/base/Text.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <cstring>

namespace dtc::rt {
namespace {

using format::text;

// Returns the bytes of a copy whose elements are contiguous on both sides; 0 for others.
uint64_t denseBytes(const format::StridedCopy &copy) {
  uint64_t elements = 1;
  for (uint32_t i = format::sizeOf(copy.sizes()); i-- > 0;) {
    uint64_t size = copy.sizes()->Get(i);
    auto dense = static_cast<int64_t>(elements);
    if (size != 1 && (copy.src_strides()->Get(i) != dense || copy.dst_strides()->Get(i) != dense))
      return 0;
    elements *= size;
  }
  return copy.accumulate() ? 0 : elements * format::bytesOf(copy.dtype());
}

} // namespace

HostArena::~HostArena() {
  if (memory)
    (void)driver.cuMemFreeHost(memory);
}

Status HostArena::allocate(uint64_t bytes) {
  void *made = nullptr;
  uint64_t wanted = std::max<uint64_t>(bytes, 1);
  Status status = cu::check(driver, "cuMemAllocHost", driver.cuMemAllocHost(&made, wanted));
  if (!status.ok())
    return Status::resourceExhausted(
        text("the arena of ", bytes,
             " bytes for the optimizer cannot be had from this machine, "
             "pinned: ",
             status.message(), "; compile for more ranks, or without offload"));
  memory = static_cast<char *>(made);
  size = wanted;
  std::memset(memory, 0, size);
  return {};
}

bool HostArena::hasAll(const Command &command) const {
  bool any = false;
  for (const char *buffer : command.buffers) {
    if (buffer && !has(buffer))
      return false;
    any |= buffer != nullptr;
  }
  return any;
}

bool HostArena::isMove(const Command &command) const {
  const format::StridedCopy *copy = command.source->op_as_StridedCopy();
  return copy && has(command.buffers[0]) != has(command.buffers[1]) && denseBytes(*copy) > 0;
}

void HostArena::prepareMove(const Command &move, StreamWork &work) const {
  uint64_t bytes = denseBytes(*move.source->op_as_StridedCopy());
  char *from = move.buffers[0], *to = move.buffers[1];
  if (has(to))
    work = [this, from, to, bytes](cu::Stream stream) -> Status {
      DTC_CUDA(driver, cuMemcpyDtoHAsync, to, reinterpret_cast<uintptr_t>(from), bytes, stream);
      return {};
    };
  else
    work = [this, from, to, bytes](cu::Stream stream) -> Status {
      DTC_CUDA(driver, cuMemcpyHtoDAsync, reinterpret_cast<uintptr_t>(to), from, bytes, stream);
      return {};
    };
}

} // namespace dtc::rt
