#include "compiler/build/driver/GenerateCode.h"

#include "compiler/build/emit/LaunchedKernels.h"
#include "passes/codegen/GpuKernelLibrary.h"
#include "passes/codegen/KernelLibrary.h"
#include "passes/codegen/KernelSide.h"
#include "passes/codegen/LibraryKernels.h"
#include "passes/codegen/MergedKernels.h"
#include "passes/codegen/Spills.h"
#include "passes/simt/Retarget.h"
#include "runtime/format/Grid.h"

using namespace mlir;

namespace dtc {
namespace {

static_assert(mergedThreads == format::mergedThreads &&
                  mergedPoints == format::mergedUnits * minUnitPoints,
              "the runtime launches as many blocks as the code needs");

// Reports LLVM's errors in generated code at the module.
template <typename T> FailureOr<T> orDiagnostic(ModuleOp module, llvm::Expected<T> result) {
  if (result)
    return std::move(*result);
  module.emitError() << llvm::toString(result.takeError());
  return failure();
}

void add(ProgramCode &code, format::SegmentKind kind, ArrayRef<char> bytes) {
  code.segments.push_back({kind, {bytes.begin(), bytes.end()}});
}

FailureOr<ProgramCode> forCpu(ModuleOp module, const CompileTarget &target) {
  FailureOr<KernelLibrary> kernels = lowerKernels(module, target.cpu);
  if (failed(kernels))
    return failure();
  ProgramCode code = ProgramCode::ofCpu(kernels->bytes);
  code.cpuFeatures = target.cpuFeatures;
  return code;
}

LogicalResult addPtx(ProgramCode &code, ModuleOp module, const llvm::Module &device,
                     const CompileTarget &whole) {
  GpuTarget target = whole.gpu;
  FailureOr<std::string> ptx = orDiagnostic(module, compilePtx(device, target));
  if (failed(ptx))
    return failure();
  if (!whole.hasCubin) {
    add(code, format::SegmentKind::ptx, *ptx);
    return success();
  }
  auto cubin = orDiagnostic(module, assembleWithoutSpills(*ptx, target));
  if (failed(cubin))
    return failure();
  add(code, format::SegmentKind::ptx, *ptx);
  if (*cubin)
    add(code, format::SegmentKind::cubin, **cubin);
  return success();
}

LogicalResult addSimt(ProgramCode &code, ModuleOp module, std::unique_ptr<llvm::Module> device) {
  FailureOr<std::vector<char>> object = orDiagnostic(module, compileForSimt(std::move(device)));
  if (failed(object))
    return failure();
  add(code, format::SegmentKind::simt, *object);
  return success();
}

// Adds the code that runs on the host of a GPU.
LogicalResult addHost(ProgramCode &code, ModuleOp module, const CompileTarget &target) {
  FailureOr<KernelLibrary> kernels = lowerKernels(module, target.cpu, KernelSide::Host);
  if (failed(kernels))
    return failure();
  if (kernels->symbols.empty())
    return success();
  code.onHost = {kernels->symbols.begin(), kernels->symbols.end()};
  code.hostSegment = static_cast<uint32_t>(code.segments.size());
  code.cpuFeatures = target.cpuFeatures;
  add(code, format::SegmentKind::code, kernels->bytes);
  return success();
}

FailureOr<ProgramCode> forGpu(ModuleOp module, ArrayRef<exec::ProgramOp> programs,
                              const CompileTarget &target) {
  FailureOr<GpuModule> generated = lowerGpuKernels(module);
  if (failed(generated))
    return failure();
  FailureOr<std::vector<std::string>> library = launchedLibraryKernels(programs);
  if (failed(library))
    return failure();
  SmallVector<StringRef> names(library->begin(), library->end());
  if (llvm::Error error = linkLibraryKernels(*generated->module, names)) {
    module.emitError() << llvm::toString(std::move(error));
    return failure();
  }
  ProgramCode code;
  code.device = target.device;
  code.gpuArch = target.gpuArch;
  for (const GpuKernel &kernel : generated->kernels) {
    code.blockThreads[kernel.symbol] = kernel.threads;
    if (!kernel.merged.empty())
      code.merged[kernel.symbol] = kernel.merged;
  }
  if (!generated->kernels.empty() || !library->empty()) {
    LogicalResult added = target.device == format::cudaDevice
                              ? addPtx(code, module, *generated->module, target)
                              : addSimt(code, module, std::move(generated->module));
    if (failed(added))
      return failure();
  }
  if (failed(addHost(code, module, target)))
    return failure();
  return code;
}

} // namespace

FailureOr<ProgramCode> generateCode(ModuleOp module, ArrayRef<exec::ProgramOp> programs,
                                    const CompileTarget &target) {
  return target.device == format::cpuDevice ? forCpu(module, target)
                                            : forGpu(module, programs, target);
}

} // namespace dtc
