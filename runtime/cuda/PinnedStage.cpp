#include "runtime/cuda/PinnedStage.h"

#include <cstring>

namespace dtc::rt {

PinnedStage::~PinnedStage() {
  for (const Piece &piece : pieces) {
    if (piece.event)
      (void)driver.cuEventDestroy(piece.event);
    if (piece.memory)
      (void)driver.cuMemFreeHost(piece.memory);
  }
  if (stream)
    (void)driver.cuStreamDestroy(stream);
}

Status PinnedStage::open() {
  for (Piece &piece : pieces) {
    if (!piece.memory)
      DTC_CUDA(driver, cuMemAllocHost, &piece.memory, pieceBytes);
    if (!piece.event)
      DTC_CUDA(driver, cuEventCreate, &piece.event, cu::eventDisableTiming);
  }
  if (!stream)
    DTC_CUDA(driver, cuStreamCreateWithPriority, &stream, cu::streamNonBlocking, 0);
  return {};
}

Status PinnedStage::copyIn(cu::DevicePtr to, const char *from, uint64_t bytes) {
  DTC_RETURN_IF_ERROR(open());
  for (uint64_t index = 0; index * pieceBytes < bytes; ++index) {
    const Piece &piece = pieceOf(index);
    if (index >= pieces.size())
      DTC_CUDA(driver, cuEventSynchronize, piece.event);
    uint64_t size = sizeOf(index, bytes);
    std::memcpy(piece.memory, from + index * pieceBytes, size);
    DTC_CUDA(driver, cuMemcpyHtoDAsync, to + index * pieceBytes, piece.memory, size, stream);
    DTC_CUDA(driver, cuEventRecord, piece.event, stream);
  }
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

Status PinnedStage::copyOut(char *to, cu::DevicePtr from, uint64_t bytes) {
  DTC_RETURN_IF_ERROR(open());
  uint64_t begun = 0;
  for (uint64_t index = 0; index * pieceBytes < bytes; ++index) {
    for (; begun < index + pieces.size() && begun * pieceBytes < bytes; ++begun) {
      const Piece &next = pieceOf(begun);
      DTC_CUDA(driver, cuMemcpyDtoHAsync, next.memory, from + begun * pieceBytes,
               sizeOf(begun, bytes), stream);
      DTC_CUDA(driver, cuEventRecord, next.event, stream);
    }
    const Piece &piece = pieceOf(index);
    DTC_CUDA(driver, cuEventSynchronize, piece.event);
    std::memcpy(to + index * pieceBytes, piece.memory, sizeOf(index, bytes));
  }
  return {};
}

} // namespace dtc::rt
