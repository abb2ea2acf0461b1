#include "runtime/cuda/CudaLibrary.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/launches/LibraryLaunches.h"

namespace dtc::rt {

Status prepareLibrary(const Command &command, CudaCode &code, std::vector<StreamWork> &works) {
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (Status status = planLibrary(*command.source, operands, planned); !status.ok())
    return {status.statusCode(),
            format::text(status.message(), "; recompile with dtc for device cpu")};
  for (const cuda::Launch &launch : planned.launches) {
    LaunchShape shape{.x = launch.gridX,
                      .y = launch.gridY,
                      .z = 1,
                      .threads = launch.threads,
                      .sharedBytes = launch.sharedBytes};
    DTC_RETURN_IF_ERROR(code.prepare(launch.kernel, shape, planned.parameter.data(),
                                     8 * planned.parameter.size(), works.emplace_back()));
  }
  return {};
}

} // namespace dtc::rt
