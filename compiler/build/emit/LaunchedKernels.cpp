// Lists the hand-written kernels that a program launches on a GPU.
#include "compiler/build/emit/LaunchedKernels.h"

#include "compiler/build/emit/Dtypes.h"
#include "compiler/build/emit/InstructionWriter.h"
#include "runtime/cuda/launches/LibraryLaunches.h"

#include <set>

using namespace mlir;

namespace dtc {
namespace {

// Launches, products and what moves data are no kernels of the library.
bool isOfLibrary(exec::InstructionOpInterface instruction) {
  return !isa<exec::LaunchOp, exec::GemmOp, exec::CollectiveOp, exec::SendOp, exec::ReceiveOp,
              exec::ZeroOp, exec::RecordOp, exec::WaitOp>(instruction.getOperation());
}

// The choice of kernels does not depend on the buffers and scalars.
flatbuffers::DetachedBuffer tableOf(exec::InstructionOpInterface op) {
  format::InstructionT table;
  table.op = writeInstruction(
      op, {[](Value) { return 0; },
           [](exec::RankScalarAttr) { return std::unique_ptr<format::RankScalarT>(); }, dtypeOf});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::CreateInstruction(builder, &table));
  return builder.Release();
}

// Copies go by as many bytes at once as the addresses allow, which only the device knows, as
// buffers may be views that begin anywhere: aligned to 16 bytes or more, to 8, 4, 2 and 1. Only the
// first must have a kernel.
constexpr uintptr_t kAddresses[] = {0, 8, 4, 2, 1};

rt::LibraryOperands operandsAt(uintptr_t address, bool startsSum) {
  return {std::vector<char *>(rt::kMaxLibraryBuffers, reinterpret_cast<char *>(address)),
          std::vector<int64_t>(rt::kMaxLibraryScalars), startsSum};
}

} // namespace

FailureOr<std::vector<std::string>> launchedLibraryKernels(ArrayRef<exec::ProgramOp> programs) {
  std::set<std::string> names;
  bool succeeded = true;
  for (exec::ProgramOp program : programs)
    program.walk([&](exec::InstructionOpInterface op) {
      if (!isOfLibrary(op) || llvm::all_of(op->getOperands(), exec::isOnHost))
        return WalkResult::advance();
      flatbuffers::DetachedBuffer bytes = tableOf(op);
      const auto *instruction = flatbuffers::GetRoot<format::Instruction>(bytes.data());
      for (uintptr_t address : kAddresses) {
        // The first micro-batch of a sum writes, later ones add.
        for (bool startsSum : {false, true}) {
          if (startsSum && !op.startsSum())
            continue;
          rt::LibraryLaunches planned;
          rt::Status status = planLibrary(*instruction, operandsAt(address, startsSum), planned);
          if (!status.ok() && address != 0)
            continue;
          if (!status.ok()) {
            op.emitError() << status.message();
            succeeded = false;
            return WalkResult::interrupt();
          }
          for (const cuda::Launch &launch : planned.launches)
            names.insert(launch.kernel);
        }
      }
      return WalkResult::advance();
    });
  if (!succeeded)
    return failure();
  return std::vector<std::string>(names.begin(), names.end());
}

} // namespace dtc
