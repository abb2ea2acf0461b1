#include "runtime/cuda/CudnnOperation.h"

#include "runtime/cuda/AttentionOperation.h"
#include "runtime/cuda/ConvolutionOperation.h"

namespace dtc::rt {

std::unique_ptr<CudnnOperation> cudnnOperationOf(const Command &command) {
  if (std::unique_ptr<CudnnOperation> attention = attentionOperationOf(command))
    return attention;
  return convolutionOperationOf(command);
}

} // namespace dtc::rt
