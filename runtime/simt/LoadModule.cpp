// The table of the functions that device code may call.
#include "runtime/simt/LoadModule.h"

#include "runtime/simt/MathFunctions.h"
#include "runtime/simt/MatrixFunctions.h"
#include "runtime/simt/MemoryFunctions.h"
#include "runtime/simt/ThreadFunctions.h"

namespace dtc::simt {

static const DeviceFunctions &functions() {
  using namespace device;
  static const auto *const table = new DeviceFunctions{
#define SIMT_PURE(name, function) {name, reinterpret_cast<void *>(&(function))},
#define SIMT_CALL(name, function) {name, reinterpret_cast<void *>(&(function))},
#include "runtime/simt/Intrinsics.def"
#undef SIMT_PURE
#undef SIMT_CALL
  };
  return *table;
}

rt::Status loadModule(std::span<const uint8_t> object, std::unique_ptr<Module> &module) {
  return Module::load(object, functions(), module);
}

} // namespace dtc::simt
