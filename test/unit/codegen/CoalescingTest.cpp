// Checks how warps of the main kernels read and write: 16 bytes per lane, with neighbours side by
// side, so that a request of a warp reads only the 16 sectors of 32 bytes that it uses.
#include "KernelCases.h"

#include "runtime/simt/Launch.h"

using namespace dtc;
using namespace dtc::test;

namespace {

simt::AccessCount countAccesses(const std::string &name, int64_t rows, int64_t columns,
                                const std::string &type, bool ofMerged = false) {
  for (const KernelCase &kernel : kernelCases(rows, columns, type)) {
    if (kernel.name != name)
      continue;
    KernelText text = formKernel(kernel.signature, kernel.body, kernel.results);
    simt::Counters counters, merged;
    createGpuRunner(text, {.counters = &counters, .mergedCounters = &merged})
        ->run(makeOperands(kernel, text, columns), {});
    return ofMerged ? merged.total : counters.total;
  }
  ADD_FAILURE() << "no case is " << name;
  return {};
}

} // namespace

TEST(Coalescing, IsWholeForElements) {
  for (const char *type : {"f32", "bf16"})
    for (const char *name : {"add", "gelu", "relu_grad", "silu_grad"}) {
      SCOPED_TRACE(std::string(name) + " " + type);
      simt::AccessCount count = countAccesses(name, 64, 1024, type);
      EXPECT_GT(count.globalRequests, 0U);
      EXPECT_EQ(count.globalSectors, 16 * count.globalRequests);
      EXPECT_EQ(count.globalSectorsNeeded, count.globalSectors);
    }
}

// Each thread reads and writes one vector of each tensor, and all lanes read the same sector of
// each scalar.
TEST(Coalescing, IsWholeForOptimizers) {
  struct {
    const char *name;
    uint64_t vectors, scalars;
  } const kernels[] = {{"adamw", 4 + 3, 4},
                       {"lamb_direction", 4 + 3, 3},
                       {"sgd", 3 + 2, 3},
                       {"lars", 3 + 2, 4},
                       {"descend", 2 + 1, 3}};
  for (auto [name, vectors, scalars] : kernels) {
    SCOPED_TRACE(name);
    simt::AccessCount count = countAccesses(name, 64, 1024, "f32");
    EXPECT_GT(count.globalRequests, 0U);
    EXPECT_EQ(count.globalSectors * (vectors + scalars),
              count.globalRequests * (16 * vectors + scalars));
    EXPECT_EQ(count.globalSectorsNeeded, count.globalSectors);
  }
}

// Merged launches look up their piece, one sector per number, and then have four vectors per
// thread.
TEST(Coalescing, IsWholeForOptimizersAtOnce) {
  for (const char *name : {"adamw", "lamb_direction", "sgd", "lars", "descend"}) {
    SCOPED_TRACE(name);
    simt::AccessCount count = countAccesses(name, 64, 1024, "f32", /*ofMerged=*/true);
    std::printf("%-22s %5.2f sectors a request\n", name, count.sectorsPerRequest());
    EXPECT_EQ(count.globalSectorsNeeded, count.globalSectors);
    EXPECT_GE(count.sectorsPerRequest(), 6);
  }
}

// In addition to vectors, with 16 sectors per request, there are numbers per row, with one sector.
// They are a third of all requests in cross_entropy_grad, for a warp whose block has one row; an
// eighth in cross_entropy, which reads a row once; and half in layer_norm_param_grad, in which each
// thread reads mean and rstd of its row, and not a row of vectors.
TEST(Coalescing, IsWholeForRows) {
  const std::pair<const char *, double> kernels[] = {
      {"layer_norm", 15},           {"rms_norm", 15},    {"layer_norm_grad", 15},
      {"rms_norm_grad", 15},        {"softmax", 16},     {"cross_entropy", 13},
      {"cross_entropy_grad", 10},   {"sum_exp", 12},     {"bias_gelu", 15},
      {"layer_norm_param_grad", 6}, {"reduce_rows", 14}, {"sum_squares", 15},
      {"chunk_squares", 15}};
  for (const char *type : {"f32", "bf16"})
    for (auto [name, least] : kernels) {
      SCOPED_TRACE(std::string(name) + " " + type);
      simt::AccessCount count = countAccesses(name, 8, 4096, type);
      std::printf(
          "%-22s %-4s %5.2f sectors a request, %4.2f of those needed, %4.2f bank conflicts\n", name,
          type, count.sectorsPerRequest(), count.sectorRatio(), count.bankConflicts());
      EXPECT_EQ(count.globalSectorsNeeded, count.globalSectors);
      EXPECT_GE(count.sectorsPerRequest(), least);
      // A thread writes eight sums, of 16 bits each before, in two accesses that take every other
      // 16 bytes.
      EXPECT_LE(count.bankConflicts(), 2.0);
    }
}

// A thread has eight sums of rows in 16 bits, which it writes as two vectors. That takes every
// other 16 bytes twice, but the sums are small beside all rows.
TEST(Coalescing, IsWholeForPartsOfRows) {
  const std::pair<const char *, double> kernels[] = {{"row_part_sums", 14},
                                                     {"layer_norm_param_grad_parts", 6},
                                                     {"rms_norm_param_grad_parts", 7},
                                                     {"sum_parts", 14},
                                                     {"sum_chunks", 14}};
  for (auto [name, least] : kernels)
    for (const char *type : {"f32", "bf16"}) {
      bool isOfSums = name[0] == 's'; // sums are f32, whatever the type of the rows was
      if (isOfSums && type[0] == 'b')
        continue;
      SCOPED_TRACE(std::string(name) + " " + type);
      simt::AccessCount count = countAccesses(name, 512, 1024, type);
      EXPECT_LE(count.sectorRatio(), type[0] == 'b' ? 1.05 : 1.0);
      EXPECT_GE(count.sectorsPerRequest(), least);
      EXPECT_LE(count.bankConflicts(), 2.0);
    }
}
