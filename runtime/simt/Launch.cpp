#include "runtime/simt/Launch.h"

#include "runtime/simt/Engine.h"

namespace dtc::simt {

rt::Status launch(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
                  void **parameters, Memory &memory, const Options &options, Counters *counters) {
  Engine engine(kernel, grid, block, dynamicShared, parameters, memory, options, counters);
  return engine.run();
}

} // namespace dtc::simt
