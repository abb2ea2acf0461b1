#include "runtime/device/CpuCode.h"

#include "kernels/cpu/ThreadPool.h"
#include "runtime/base/Text.h"
#include "runtime/device/CpuInstructions.h"
#include "runtime/format/Operands.h"

#include <algorithm>

namespace dtc::rt {

using format::text;

// Work below this is not worth waking a thread for: about 10 us at 6 GB/s.
static constexpr uint64_t bytesPerPiece = 64 * 1024;

Status CpuCode::load(const CodeObject &object) {
  if (object.kind != format::SegmentKind::code)
    return Status::internal(
        text("the CPU was given code of kind ", EnumNameSegmentKind(object.kind)));
  CodeSegment segment;
  DTC_RETURN_IF_ERROR(segment.load(object.bytes));
  code.push_back(std::move(segment));
  return {};
}

Status CpuCode::findSymbol(int object, const KernelSpec &kernel, int &symbol) {
  void *address = code[static_cast<size_t>(object)].find(kernel.name);
  if (!address)
    return Status::notFound(text("code object ", object, " has no function '", kernel.name,
                                 "', which the program calls; recompile with dtc"));
  symbol = static_cast<int>(functions.size());
  functions.push_back(reinterpret_cast<KernelFunction>(address));
  return {};
}

void CpuCode::launch(const Command &command, cpu::ThreadPool &pool) const {
  KernelFunction function = functions[static_cast<size_t>(command.symbol)];
  auto range = static_cast<int64_t>(command.source->op_as_Launch()->range());
  uint64_t pieces = std::max<uint64_t>(command.bytes / bytesPerPiece, 1);
  int64_t grain = std::max<int64_t>(range / static_cast<int64_t>(pieces), 1);
  if (grain >= 64)
    grain = (grain + 15) / 16 * 16; // pieces of elements start where vectors do
  pool.parallelFor(range, grain, [&command, function](int64_t begin, int64_t end) {
    function(command.buffers.data(), command.scalars.data(), begin, end);
  });
}

Status CpuCode::run(const Command &command, cpu::ThreadPool &pool) const {
  if (command.source->op_type() != format::Op::Launch)
    return runOnCpu(command, pool);
  launch(command, pool);
  return {};
}

} // namespace dtc::rt
