#include "runtime/cuda/CudaGemm.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <array>

namespace dtc::rt {
namespace {

using format::text;

// NVIDIA's own libraries take 32 MiB on Hopper.
constexpr uint64_t kWorkspaceBytes = uint64_t(32) << 20;

// The best come first; some may turn out not to do.
constexpr int kChoices = 8;

int blasType(format::DType type) {
  return type == format::DType::bf16  ? cu::blasBf16
         : type == format::DType::f16 ? cu::blasF16
                                      : cu::blasF32;
}

// The largest power of two up to 256 that divides the address.
uint32_t alignmentOf(const char *address) {
  auto value = reinterpret_cast<uintptr_t>(address);
  uint32_t alignment = 256;
  while (value % alignment != 0)
    alignment /= 2;
  return alignment;
}

} // namespace

// cuBLASLt's matrices are column-major, in which ours are their own transposes: C^T = op(B)^T op(A)^T, so that b is its
// first matrix and n its number of rows.
struct CudaGemm::Plan {
  explicit Plan(const cu::BlasLt &blas) : blas(blas) {}
  ~Plan() {
    for (cu::BlasLayout layout : {a, b, c})
      if (layout)
        (void)blas.cublasLtMatrixLayoutDestroy(layout);
    if (desc)
      (void)blas.cublasLtMatmulDescDestroy(desc);
  }
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;

  const cu::BlasLt &blas;
  cu::BlasDesc desc = nullptr;
  cu::BlasLayout a = nullptr, b = nullptr, c = nullptr;
  cu::BlasAlgo algo{};
  float alpha = 1, beta = 0;
};

CudaGemm::CudaGemm(CudaLibraries &libraries, const cu::Driver &driver)
    : libraries(libraries), driver(driver) {}

CudaGemm::~CudaGemm() {
  plans.clear();
  if (handle)
    (void)blas->cublasLtDestroy(handle);
  for (const auto &[stream, workspace] : workspaces)
    (void)driver.cuMemFree(workspace);
}

Status CudaGemm::open() {
  if (handle)
    return {};
  DTC_RETURN_IF_ERROR(libraries.blasLt(blas));
  DTC_CUBLASLT(*blas, cublasLtCreate, &handle);
  return {};
}

Status CudaGemm::workspaceOf(int stream, cu::DevicePtr &workspace) {
  auto found = workspaces.find(stream);
  if (found == workspaces.end()) {
    DTC_CUDA(driver, cuMemAlloc, &workspace, kWorkspaceBytes);
    workspaces[stream] = workspace;
    return {};
  }
  workspace = found->second;
  return {};
}

namespace {

struct Matrix {
  format::DType type;
  uint64_t rows, columns; // row-major
  uint64_t pitch, batchStride;
};

Status makeLayout(const cu::BlasLt &blas, const Matrix &matrix, uint64_t batch,
                  cu::BlasLayout &layout) {
  DTC_CUBLASLT(blas, cublasLtMatrixLayoutCreate, &layout, blasType(matrix.type), matrix.columns,
               matrix.rows, static_cast<int64_t>(matrix.pitch));
  if (batch == 1)
    return {};
  auto count = static_cast<int32_t>(batch);
  auto stride = static_cast<int64_t>(matrix.batchStride);
  DTC_CUBLASLT(blas, cublasLtMatrixLayoutSetAttribute, layout, cu::blasLayoutBatches, &count,
               sizeof(count));
  DTC_CUBLASLT(blas, cublasLtMatrixLayoutSetAttribute, layout, cu::blasLayoutBatchStride, &stride,
               sizeof(stride));
  return {};
}

Status makePreference(const cu::BlasLt &blas, const std::array<uint32_t, 3> &alignments,
                      cu::BlasPreference preference) {
  DTC_CUBLASLT(blas, cublasLtMatmulPreferenceSetAttribute, preference, cu::blasPreferWorkspace,
               &kWorkspaceBytes, sizeof(kWorkspaceBytes));
  const struct {
    int attribute;
    uint32_t value;
  } wanted[] = {{cu::blasPreferReduction, cu::blasReduceInCompute},
                {cu::blasPreferAlignA, alignments[1]},
                {cu::blasPreferAlignB, alignments[0]},
                {cu::blasPreferAlignC, alignments[2]},
                {cu::blasPreferAlignD, alignments[2]}};
  for (const auto &each : wanted)
    DTC_CUBLASLT(blas, cublasLtMatmulPreferenceSetAttribute, preference, each.attribute,
                 &each.value, sizeof(each.value));
  return {};
}

} // namespace

Status CudaGemm::makePlan(const format::Gemm &op, const Key &key, Plan &plan) const {
  plan.alpha = op.alpha();
  plan.beta = key.startsSum ? 0 : op.beta();
  DTC_CUBLASLT(*blas, cublasLtMatmulDescCreate, &plan.desc, cu::blasComputeF32, cu::blasF32);
  int32_t first = op.trans_b() ? cu::blasTransposed : cu::blasPlain;
  int32_t second = op.trans_a() ? cu::blasTransposed : cu::blasPlain;
  DTC_CUBLASLT(*blas, cublasLtMatmulDescSetAttribute, plan.desc, cu::blasDescTransA, &first,
               sizeof(first));
  DTC_CUBLASLT(*blas, cublasLtMatmulDescSetAttribute, plan.desc, cu::blasDescTransB, &second,
               sizeof(second));
  auto matrix = [](format::DType type, uint64_t rows, uint64_t columns, bool transposed,
                   uint64_t pitch, uint64_t stride) {
    return transposed ? Matrix{type, columns, rows, pitch, stride}
                      : Matrix{type, rows, columns, pitch, stride};
  };
  DTC_RETURN_IF_ERROR(
      makeLayout(*blas, matrix(op.dtype(), op.m(), op.k(), op.trans_a(), op.lda(), op.stride_a()),
                 op.batch(), plan.a));
  DTC_RETURN_IF_ERROR(
      makeLayout(*blas, matrix(op.dtype(), op.k(), op.n(), op.trans_b(), op.ldb(), op.stride_b()),
                 op.batch(), plan.b));
  DTC_RETURN_IF_ERROR(
      makeLayout(*blas, matrix(op.result_dtype(), op.m(), op.n(), false, op.ldc(), op.stride_c()),
                 op.batch(), plan.c));
  cu::BlasPreference preference = nullptr;
  DTC_CUBLASLT(*blas, cublasLtMatmulPreferenceCreate, &preference);
  std::array<cu::BlasChoice, kChoices> choices{};
  int found = 0;
  Status status = makePreference(*blas, key.alignments, preference);
  if (status.ok())
    status = cu::check(*blas, "cublasLtMatmulAlgoGetHeuristic",
                       blas->cublasLtMatmulAlgoGetHeuristic(handle, plan.desc, plan.b, plan.a,
                                                            plan.c, plan.c, preference, kChoices,
                                                            choices.data(), &found));
  (void)blas->cublasLtMatmulPreferenceDestroy(preference);
  DTC_RETURN_IF_ERROR(status);
  auto end = choices.begin() + found;
  auto choice = std::find_if(choices.begin(), end,
                             [](const cu::BlasChoice &each) { return each.state == 0; });
  if (choice == end)
    return Status::unavailable(text("cuBLASLt has no algorithm for a product of ", op.m(), " x ",
                                    op.k(), " and ", op.k(), " x ", op.n(), " of ",
                                    EnumNameDType(op.dtype())));
  plan.algo = choice->algo;
  return {};
}

Status CudaGemm::prepare(const Command &command, int stream, StreamWork &work) {
  DTC_RETURN_IF_ERROR(open());
  Key key{command.source,
          command.startsSum,
          {alignmentOf(command.buffers[0]), alignmentOf(command.buffers[1]),
           alignmentOf(command.buffers[2])}};
  std::unique_ptr<Plan> &plan = plans[key];
  if (!plan) {
    auto made = std::make_unique<Plan>(*blas);
    DTC_RETURN_IF_ERROR(makePlan(*command.source->op_as_Gemm(), key, *made));
    plan = std::move(made);
  }
  cu::DevicePtr workspace = 0;
  DTC_RETURN_IF_ERROR(workspaceOf(stream, workspace));
  work = [this, &plan = *plan, a = command.buffers[0], b = command.buffers[1],
          c = command.buffers[2], workspace](cu::Stream on) -> Status {
    DTC_CUBLASLT(*blas, cublasLtMatmul, handle, plan.desc, &plan.alpha, b, plan.b, a, plan.a,
                 &plan.beta, c, plan.c, c, plan.c, &plan.algo, reinterpret_cast<void *>(workspace),
                 kWorkspaceBytes, on);
    return {};
  };
  return {};
}

} // namespace dtc::rt
