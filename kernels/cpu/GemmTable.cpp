// The table of measured choices for matrix products.
#include "kernels/cpu/GemmTable.h"

#include <algorithm>

namespace dtc::cpu {

namespace {

// GFLOP/s of one thread: AMD EPYC family 26 (Zen 5), oneDNN 2.6.3, OpenBLAS 0.3.21, best of 2 runs
// of bench/kernels (--threads=1) on a shared machine, where a repetition differs by up to 8 %. The
// AVX2 columns are the same processor with DNNL_MAX_CPU_ISA=AVX2 and --isa=avx2. "call" is one
// library call for the whole matrix; "gemm" is this table's choice, on tiles that threads can
// share.
//                                     AVX-512                         AVX2
//   shape              form    oneDNN OpenBLAS  tiles  gemm   oneDNN OpenBLAS  tiles  gemm
//                              call   call                    call   call
//   256x768x768         NT     200    104       181    193    104    106       107    105
//   1024x768x768        NT     206    101       202    204    108    105       109    108
//   1024x2304x768       NT     202    101       179    187    107    105       103    104
//   1024x3072x768       NT     206    102       198    188    109    108       108    107
//   1024x768x3072       NT     188    101       187    187    108    104       109    109
//   1024x50257x768      NT     200    106       182    198    106    105       100     98
//   1024x768x768        NN     205    103       192    197    107    103       110    104
//   256x768x3072        NN     200    100       184    203    106    104       105     95
//   1024x768x3072       NN     200    104       195    209    104    105       106    106
//   768x768x1024        TN     195    104       196    200    106    107       106    101
//   2304x768x256        TN     209    102       185    202    110     95       107    105
//   3072x768x1024       TN     207    102       204    202    108    106       108    107
//   768x3072x4096       TN     203    106       181    191    109    110       105    105
//   1024x1024x64 x12    NT     198     89       156    186    107     90       104    106
//   1024x64x1024 x12    NN     159     77       132    160     97     83        80     99
//   1024x64x1024 x12    TN     112     82       122    116     55     85        72   (85)
//   64x1024x1024 x12    NT     128     82       116    129     86     85        86     83
//   1x768x768           NT      34      6         8     33     41      6         8     35
//   8x768x768           NT      82     42        70     95     66     45        45     61
//   1024x8x768          NT      78     67        39     77     81     65        38     82
//   128x128x128 x16     NN     206     99       169    212    107     99        96    105
//   64x64x64 x64        NN     165     87       140    163    102     86        85    101
//   32x32x32 x64        NN      82     78        72    116     73     72        63     75
//   16x16x16 x64        NN      28     49        19     33     28     51        29     49
// (85): the value gradient's class below, put in after that run, which had oneDNN's 58 there.
// OpenBLAS 0.3.21 does not know Zen 5 and runs its AVX2 kernels; told to use its AVX-512 ones
// (OPENBLAS_CORETYPE=SKYLAKEX) it is within 5 % of oneDNN on large shapes.
// Why not oneDNN for all: a transposed operand costs it more to pack per tile than per matrix. On
// 256x768 tiles six NT and TN shapes of the above ran at 190-209 (AVX-512) and 74-110 (AVX2); our
// own tiles, which pack B once for all threads, at 200-218 and 102-113 in the same run.

constexpr int64_t kTinyWork = 24 * 24 * 24;       // m*n*k
constexpr int64_t kNarrow = 48;                   // our tiles are mostly padding below
constexpr int64_t kManyMatrices = 8;              // enough to share without cutting any
constexpr int64_t kSmallWork = 256 * 1024 * 1024; // m*n*k; longer ones are cut even if many
constexpr int64_t kTileM = 256, kTileN = 768;

} // namespace

GemmPlan cutForLibrary(GemmBackend backend, const GemmShape &shape) {
  bool many = shape.batch >= kManyMatrices && shape.m * shape.n * shape.k < kSmallWork;
  return {backend, many ? shape.m : std::min(shape.m, kTileM),
          many ? shape.n : std::min(shape.n, kTileN)};
}

GemmPlan chooseGemm(const GemmShape &shape, int lanes) {
  const int64_t m = shape.m, n = shape.n, work = m * n * shape.k;
  if (work < kTinyWork)
    return {GemmBackend::OpenBlas, m, n};
  bool many = shape.batch >= kManyMatrices && work < kSmallWork;
  // Uses OpenBLAS for the value gradient of attention and similar shapes, which oneDNN's AVX2 code
  // does not pack.
  if (lanes == 8 && shape.transA && n >= 16 && n <= 64)
    return cutForLibrary(GemmBackend::OpenBlas, shape);
  if (many || std::min(m, n) < kNarrow || (!shape.transA && !shape.transB))
    return cutForLibrary(GemmBackend::OneDnn, shape);
  return {GemmBackend::Tiles, m, n};
}

const char *gemmBackendName(GemmBackend backend) {
  switch (backend) {
  case GemmBackend::OneDnn:
    return "oneDNN";
  case GemmBackend::OpenBlas:
    return "OpenBLAS";
  case GemmBackend::Tiles:
    return "tiles";
  }
  return "";
}

} // namespace dtc::cpu
