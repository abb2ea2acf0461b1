// Retargeted code, and its kernels.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/code/CodeSegment.h"
#include "runtime/simt/Memory.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dtc::simt {

class Module;

// The functions that device code may call, by name.
using DeviceFunctions = std::unordered_map<std::string_view, void *>;

// A kernel that can be launched, with what its launch must satisfy.
struct Kernel {
  std::string name;
  void (*entry)(void **parameters) = nullptr;
  uint32_t sharedBytes = 0;     // static shared memory of a block
  uint32_t requiredThreads = 0; // threads per block (.reqntid), 0 if any number is allowed
  // most threads per block (.maxntid or .reqntid), 0 if any number is allowed
  uint32_t maxThreads = 0;
  std::vector<uint32_t> parameterBytes;
  const Module *module = nullptr; // null if the entry is a function of this program
};

// The kernels of one shared object. The destructor unloads it.
class Module {
public:
  // Loads a shared object of compileForSimt, which calls `functions`. Errors: InvalidArgument if
  // `object` is not one, has another version, or calls another function.
  static rt::Status load(std::span<const uint8_t> object, const DeviceFunctions &functions,
                         std::unique_ptr<Module> &module);

  // Returns the kernel of that name, or null.
  const Kernel *find(const std::string &name) const;
  const std::vector<Kernel> &all() const { return kernels; }

  // Finds a variable in global or constant memory, as cuModuleGetGlobal does. `bytes` is its size.
  // Errors: NotFound.
  rt::Status findGlobal(const std::string &name, void *&address, uint64_t &bytes) const;

private:
  friend class Engine;

  struct Global {
    std::string name;
    std::unique_ptr<Range> range;
  };

  // Returns the variable that holds the address, or null.
  Range *findRange(const void *address) const;

  rt::CodeSegment code;
  std::vector<Kernel> kernels;
  std::vector<Global> globals;
};

} // namespace dtc::simt
