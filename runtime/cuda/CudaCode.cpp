#include "runtime/cuda/CudaCode.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/ElfImage.h"
#include "runtime/format/CodeObject.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace dtc::rt {

using format::text;

// Dynamic shared memory in bytes that a kernel may use without a request.
static constexpr uint32_t kSharedForAll = 48 * 1024;

CudaCode::~CudaCode() {
  for (cu::Module module : modules)
    (void)driver.cuModuleUnload(module);
}

// Loads PTX, which must end with a zero byte that segments do not have. The log of the driver's
// compiler is part of the error.
Status CudaCode::loadPtx(const CodeObject &object, cu::Module &module) const {
  std::string ptx(object.bytes.begin(), object.bytes.end());
  std::array<char, 4096> log{};
  int options[] = {cu::jitErrorLog, cu::jitErrorLogBytes};
  auto logBytes = static_cast<uintptr_t>(log.size() - 1);
  void *values[] = {log.data(), reinterpret_cast<void *>(logBytes)};
  cu::Result result = driver.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  Status status = cu::check(driver, "cuModuleLoadDataEx", result);
  if (status.ok())
    return {};
  std::string said = log.data();
  std::replace(said.begin(), said.end(), '\n', ' ');
  return {status.statusCode(),
          text("loading PTX of ", ptx.size(), " bytes: ", status.message(),
               said.empty() ? "" : ": ", said, "; update the driver or recompile with dtc")};
}

// Loads a code object: a cubin is for GPUs of one generation, PTX for all later ones.
Status CudaCode::load(const CodeObject &object) {
  cu::Module module = nullptr;
  if (object.kind == format::SegmentKind::simt) {
    if (!isWholeElf(object.bytes))
      return Status::invalidArgument(text("the program's device code of ", object.bytes.size(),
                                          " bytes is no whole ELF file; recompile with dtc"));
    format::CodeFacts facts;
    DTC_RETURN_IF_ERROR(format::readCode(object.bytes, facts));
    DTC_CUDA(driver, cuModuleLoadDataEx, &module, object.bytes.data(), 0, nullptr, nullptr);
  } else if (!isWholeElf(object.cubin) ||
             driver.cuModuleLoadDataEx(&module, object.cubin.data(), 0, nullptr, nullptr) !=
                 cu::success) {
    DTC_RETURN_IF_ERROR(loadPtx(object, module));
  }
  modules.push_back(module);
  return {};
}

Status CudaCode::loadNow(cu::Function function) const {
  if (driver.cuFuncLoad)
    DTC_CUDA(driver, cuFuncLoad, function);
  return {};
}

Status CudaCode::getFunction(int object, const std::string &name, cu::Function &function) const {
  cu::Result result =
      driver.cuModuleGetFunction(&function, modules[static_cast<size_t>(object)], name.c_str());
  if (result == cu::errorNotFound)
    return Status::notFound(text("code object ", object, " has no kernel '", name,
                                 "', which the program calls; recompile with dtc"));
  DTC_RETURN_IF_ERROR(cu::check(driver, "cuModuleGetFunction", result));
  return loadNow(function);
}

Status CudaCode::findSymbol(int object, const KernelSpec &kernel, int &symbol) {
  Symbol found{.function = nullptr, .merged = nullptr, .kernel = kernel};
  DTC_RETURN_IF_ERROR(getFunction(object, kernel.name, found.function));
  if (!kernel.merged.empty()) {
    cu::Function &merged = mergedKernels[{object, kernel.merged}];
    if (!merged)
      DTC_RETURN_IF_ERROR(getFunction(object, kernel.merged, merged));
    found.merged = merged;
  }
  symbol = static_cast<int>(symbols.size());
  symbols.push_back(std::move(found));
  return {};
}

// Builds the parameters of the kernel: each buffer, each scalar, the range.
Status CudaCode::prepare(const Command &command, StreamWork &work) const {
  const Symbol &symbol = symbols[static_cast<size_t>(command.symbol)];
  uint64_t range = command.source->op_as_Launch()->range();
  format::Grid grid = format::gridOf(symbol.kernel.threads, range);
  if (command.buffers.size() != symbol.kernel.buffers ||
      command.scalars.size() != symbol.kernel.scalars)
    return Status::internal(text("kernel '", symbol.kernel.name, "' takes ", symbol.kernel.buffers,
                                 " buffers and ", symbol.kernel.scalars, " scalars, and was given ",
                                 command.buffers.size(), " and ", command.scalars.size()));
  std::vector<uint64_t> values;
  for (char *buffer : command.buffers)
    values.push_back(reinterpret_cast<uintptr_t>(buffer));
  for (int64_t scalar : command.scalars)
    values.push_back(static_cast<uint64_t>(scalar));
  values.push_back(range);
  work = [this, function = symbol.function, grid, values](cu::Stream stream) mutable -> Status {
    std::vector<void *> parameters;
    for (uint64_t &value : values)
      parameters.push_back(&value);
    DTC_CUDA(driver, cuLaunchKernel, function, grid.x, grid.y, grid.z, grid.threads, 1, 1, 0,
             stream, parameters.data(), nullptr);
    return {};
  };
  return {};
}

std::shared_ptr<const LaunchPiece> CudaCode::describe(const Command &command) const {
  const Symbol &symbol = symbols[static_cast<size_t>(command.symbol)];
  const KernelSpec &kernel = symbol.kernel;
  uint64_t range = command.source->op_as_Launch()->range();
  auto piece = std::make_shared<LaunchPiece>();
  for (size_t i = 0; i < command.buffers.size(); ++i) {
    uint64_t begin = reinterpret_cast<uintptr_t>(command.buffers[i]);
    piece->ranges.push_back({.begin = begin,
                             .end = begin + kernel.bytes[i],
                             .isWritten = i + kernel.results >= command.buffers.size()});
  }
  if (!symbol.merged || range != kernel.range || range == 0)
    return piece;
  piece->merged = symbol.merged;
  piece->blocks = (range + format::mergedUnits - 1) / format::mergedUnits;
  piece->record.push_back(kernel.bytes.back());
  for (const LaunchPiece::Range &buffer : piece->ranges)
    piece->record.push_back(buffer.begin);
  return piece;
}

Status CudaCode::findLibraryKernel(const std::string &name, uint32_t sharedBytes,
                                   cu::Function &function) {
  auto [entry, isNew] = libraryKernels.try_emplace(name);
  LibraryKernel &kernel = entry->second;
  for (size_t i = 0; i < modules.size() && !kernel.function; ++i) {
    cu::Result result = driver.cuModuleGetFunction(&kernel.function, modules[i], name.c_str());
    if (result == cu::errorNotFound)
      kernel.function = nullptr;
    else
      DTC_RETURN_IF_ERROR(cu::check(driver, "cuModuleGetFunction", result));
  }
  if (!kernel.function)
    return Status::notFound(text("the program's code has no kernel '", name,
                                 "', which its instructions need; recompile with dtc"));
  if (isNew)
    DTC_RETURN_IF_ERROR(loadNow(kernel.function));
  if (sharedBytes > std::max(kernel.sharedBytes, kSharedForAll)) {
    cu::Result result = driver.cuFuncSetAttribute(kernel.function, cu::functionMaxDynamicShared,
                                                  static_cast<int>(sharedBytes));
    if (result == cu::errorInvalidValue) // see CUDA C++ Programming Guide 20.1, table of features
      return Status::unavailable(
          text("kernel '", name, "' needs ", (sharedBytes + 1023) / 1024,
               " KiB of shared memory for a block, more than this GPU has (99 on sm_86, sm_89 and "
               "sm_120); compile with --precision bf16, or for a model with smaller heads"));
    DTC_RETURN_IF_ERROR(cu::check(driver, "cuFuncSetAttribute", result));
    kernel.sharedBytes = sharedBytes;
  }
  function = kernel.function;
  return {};
}

Status CudaCode::prepare(const std::string &kernel, const LaunchShape &shape, const void *parameter,
                         size_t bytes, StreamWork &work) {
  cu::Function function = nullptr;
  DTC_RETURN_IF_ERROR(findLibraryKernel(kernel, shape.sharedBytes, function));
  // uint64_t is aligned for any member of the struct.
  auto copy = std::make_shared<std::vector<uint64_t>>((bytes + 7) / 8);
  std::memcpy(copy->data(), parameter, bytes);
  work = [this, function, shape, copy](cu::Stream stream) -> Status {
    void *parameters[] = {copy->data()};
    DTC_CUDA(driver, cuLaunchKernel, function, shape.x, shape.y, shape.z, shape.threads, 1, 1,
             shape.sharedBytes, stream, parameters, nullptr);
    return {};
  };
  return {};
}

} // namespace dtc::rt
