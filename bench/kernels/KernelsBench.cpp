// Rates of the CPU kernels beside the direct library call, in one run.
//
// Usage: KernelsBench [--threads=1,2] [--isa=avx2|avx512] [Google Benchmark's options, such as
// --benchmark_filter=gemm.*1024]. Times are wall times; run on an idle machine.
#include "bench/kernels/BenchSupport.h"
#include "kernels/cpu/IsaKernels.h"

#include <cstdio>
#include <cstring>
#include <memory>

namespace dtc::cpu::bench {

namespace {
std::vector<ThreadPool *> chosenPools;
}

const std::vector<ThreadPool *> &pools() { return chosenPools; }

} // namespace dtc::cpu::bench

int main(int argc, char **argv) {
  using namespace dtc::cpu;
  const char *threads = "1,2";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--threads=", 10) == 0) {
      threads = argv[i] + 10;
    } else if (std::strncmp(argv[i], "--isa=", 6) == 0) {
      if (!selectIsa(argv[i] + 6)) {
        std::fprintf(stderr, "instruction set '%s' is not one that this processor has\n",
                     argv[i] + 6);
        return 1;
      }
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  std::vector<std::unique_ptr<ThreadPool>> owned;
  for (const char *at = threads; at; at = std::strchr(at, ',')) {
    at += *at == ',';
    int count = std::atoi(at);
    if (count < 1) {
      std::fprintf(stderr, "--threads=%s: found '%s', wanted numbers above 0 with commas between\n",
                   threads, at);
      return 1;
    }
    owned.push_back(std::make_unique<ThreadPool>(count));
    bench::chosenPools.push_back(owned.back().get());
  }
  bench::registerGemm();
  bench::registerGrouped();
  bench::registerAttention();
  bench::registerDocuments();
  bench::registerMemory();
  benchmark::AddCustomContext("kernels", isaKernels().name);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
