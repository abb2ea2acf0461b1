#include "runtime/cuda/CudaLibrary.h"

#include "runtime/base/Text.h"

namespace dtc::rt {

Status prepareLaunches(const LibraryLaunches &planned, CudaCode &code,
                       std::vector<StreamWork> &works) {
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

Status prepareLibrary(const Command &command, CudaCode &code, std::vector<StreamWork> &works) {
  LibraryLaunches planned;
  LibraryOperands operands{command.buffers, command.scalars, command.startsSum};
  if (Status status = planLibrary(*command.source, operands, planned); !status.ok())
    return {status.statusCode(),
            format::text(status.message(), "; recompile with dtc for device cpu")};
  return prepareLaunches(planned, code, works);
}

} // namespace dtc::rt
