#include "runtime/cuda/GemmPlan.h"

#include "runtime/base/Text.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <bit>

namespace dtc::rt {
namespace {

using format::text;

// Algorithms worth measuring; some may turn out not to be usable.
constexpr int kChoices = 8;

// Sets `found` to what cuBLASLt calls a type.
Status findBlasType(format::DType type, int32_t &found) {
  ElementType element;
  DTC_RETURN_IF_ERROR(findElementType(type, element));
  switch (element) {
  case ElementType::F32:
    found = cu::blasF32;
    break;
  case ElementType::BF16:
    found = cu::blasBf16;
    break;
  case ElementType::F16:
    found = cu::blasF16;
    break;
  }
  return {};
}

struct Matrix {
  format::DType type;
  uint64_t rows, columns; // row-major
  uint64_t pitch, batchStride;
};

Status makeLayout(const cu::BlasLt &blas, const Matrix &matrix, uint64_t batch,
                  cu::BlasLayout &layout) {
  int32_t type = 0;
  DTC_RETURN_IF_ERROR(findBlasType(matrix.type, type));
  DTC_CUBLASLT(blas, cublasLtMatrixLayoutCreate, &layout, type, matrix.columns, matrix.rows,
               static_cast<int64_t>(matrix.pitch));
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

uint32_t epilogueOf(format::Epilogue epilogue) {
  switch (epilogue) {
  case format::Epilogue::none:
    return cu::blasEpilogueNone;
  case format::Epilogue::bias:
    return cu::blasEpilogueBias;
  case format::Epilogue::gelu_bias:
    return cu::blasEpilogueGeluBias;
  case format::Epilogue::gelu_aux_bias:
    return cu::blasEpilogueGeluAuxBias;
  case format::Epilogue::dgelu:
    return cu::blasEpilogueDgelu;
  }
  return cu::blasEpilogueNone;
}

// Returns an address with this alignment, from which cuBLASLt derives its requirements without
// reading it.
const void *addressAt(uint32_t alignment) {
  return reinterpret_cast<const void *>(static_cast<uintptr_t>(alignment));
}

Status makePreference(const cu::BlasLt &blas, const decltype(GemmCase::alignments) &alignments,
                      cu::BlasPreference preference) {
  DTC_CUBLASLT(blas, cublasLtMatmulPreferenceSetAttribute, preference, cu::blasPreferWorkspace,
               &gemmWorkspaceBytes, sizeof(gemmWorkspaceBytes));
  const struct {
    int attribute;
    uint32_t value;
  } wanted[] = {{cu::blasPreferReduction, cu::blasReduceInCompute},
                {cu::blasPreferAlignA, alignments[1]},
                {cu::blasPreferAlignB, alignments[0]},
                {cu::blasPreferAlignC, alignments[3] != 0 ? alignments[3] : alignments[2]},
                {cu::blasPreferAlignD, alignments[2]}};
  for (const auto &each : wanted)
    DTC_CUBLASLT(blas, cublasLtMatmulPreferenceSetAttribute, preference, each.attribute,
                 &each.value, sizeof(each.value));
  return {};
}

} // namespace

std::string describeProduct(const format::Gemm &op, const GemmCase &which) {
  auto matrix = [](const char *name, format::DType type, uint64_t pitch, uint64_t stride,
                   uint32_t alignment) {
    return text(" ", name, " ", EnumNameDType(type), " pitch ", pitch, " stride ", stride,
                " alignment ", alignment);
  };
  // Keeps the description of products without an epilogue unchanged, for existing tuning files.
  std::string epilogue;
  if (hasEpilogue(op))
    epilogue = text(" epilogue ", EnumNameEpilogue(op.epilogue()), " alignments ",
                    which.alignments[3], " ", which.alignments[4], " ", which.alignments[5]);
  return text(
      "m ", op.m(), " n ", op.n(), " k ", op.k(), " batch ", op.batch(),
      matrix(op.trans_a() ? "a^T" : "a", op.dtype(), op.lda(), op.stride_a(), which.alignments[0]),
      matrix(op.trans_b() ? "b^T" : "b", op.dtype(), op.ldb(), op.stride_b(), which.alignments[1]),
      matrix("c", op.result_dtype(), op.ldc(), op.stride_c(), which.alignments[2]), " alpha ",
      std::bit_cast<uint32_t>(op.alpha()), " beta ", std::bit_cast<uint32_t>(which.beta), epilogue);
}

Status GemmPlan::make(const cu::BlasLt &blas, cu::BlasHandle handle, const format::Gemm &op,
                      const GemmCase &which, std::unique_ptr<GemmPlan> &plan) {
  std::unique_ptr<GemmPlan> made(new GemmPlan(blas, handle));
  made->alpha = op.alpha();
  made->beta = op.addend() == format::noBuffer ? which.beta : 1;
  made->work = 2.0 * static_cast<double>(op.m()) * static_cast<double>(op.n()) *
               static_cast<double>(op.k()) * static_cast<double>(op.batch());
  DTC_RETURN_IF_ERROR(made->describe(op));
  DTC_RETURN_IF_ERROR(made->describeEpilogue(op));
  DTC_RETURN_IF_ERROR(
      made->setPointers(addressAt(which.alignments[4]), addressAt(which.alignments[5])));
  DTC_RETURN_IF_ERROR(made->findAlgorithms(op, which));
  plan = std::move(made);
  return {};
}

GemmPlan::~GemmPlan() {
  for (cu::BlasLayout layout : {a, b, c})
    if (layout)
      (void)blas.cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    (void)blas.cublasLtMatmulDescDestroy(desc);
}

// Describes the product for cuBLASLt, whose matrices are column-major, so that ours are transposed:
// C^T = op(B)^T op(A)^T. b is its first matrix and n its number of rows.
Status GemmPlan::describe(const format::Gemm &op) {
  DTC_CUBLASLT(blas, cublasLtMatmulDescCreate, &desc, cu::blasComputeF32, cu::blasF32);
  int32_t first = op.trans_b() ? cu::blasTransposed : cu::blasPlain;
  int32_t second = op.trans_a() ? cu::blasTransposed : cu::blasPlain;
  DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescTransA, &first,
               sizeof(first));
  DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescTransB, &second,
               sizeof(second));
  auto matrix = [](format::DType type, uint64_t rows, uint64_t columns, bool transposed,
                   uint64_t pitch, uint64_t stride) {
    return transposed ? Matrix{type, columns, rows, pitch, stride}
                      : Matrix{type, rows, columns, pitch, stride};
  };
  DTC_RETURN_IF_ERROR(
      makeLayout(blas, matrix(op.dtype(), op.m(), op.k(), op.trans_a(), op.lda(), op.stride_a()),
                 op.batch(), a));
  DTC_RETURN_IF_ERROR(
      makeLayout(blas, matrix(op.dtype(), op.k(), op.n(), op.trans_b(), op.ldb(), op.stride_b()),
                 op.batch(), b));
  return makeLayout(blas, matrix(op.result_dtype(), op.m(), op.n(), false, op.ldc(), op.stride_c()),
                    op.batch(), c);
}

// Describes the epilogue. A row of ours is a column of cuBLASLt's, along which it repeats the bias.
Status GemmPlan::describeEpilogue(const format::Gemm &op) {
  hasBias = op.bias() != format::noBuffer;
  hasAux = op.aux() != format::noBuffer;
  if (op.epilogue() == format::Epilogue::none)
    return {};
  uint32_t epilogue = epilogueOf(op.epilogue());
  int32_t type = 0;
  DTC_RETURN_IF_ERROR(findBlasType(op.result_dtype(), type));
  auto pitch = static_cast<int64_t>(op.n());
  DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescEpilogue, &epilogue,
               sizeof(epilogue));
  if (hasBias)
    DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescBiasType, &type,
                 sizeof(type));
  if (!hasAux)
    return {};
  DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescAuxPitch, &pitch,
               sizeof(pitch));
  DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescAuxType, &type,
               sizeof(type));
  return {};
}

Status GemmPlan::setPointers(const void *bias, const void *aux) const {
  if (hasBias)
    DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescBias, &bias, sizeof(bias));
  if (hasAux)
    DTC_CUBLASLT(blas, cublasLtMatmulDescSetAttribute, desc, cu::blasDescAux, &aux, sizeof(aux));
  return {};
}

Status GemmPlan::findAlgorithms(const format::Gemm &op, const GemmCase &which) {
  cu::BlasPreference preference = nullptr;
  DTC_CUBLASLT(blas, cublasLtMatmulPreferenceCreate, &preference);
  std::array<cu::BlasChoice, kChoices> choices{};
  int found = 0;
  Status status = makePreference(blas, which.alignments, preference);
  if (status.ok())
    status = cu::check(blas, "cublasLtMatmulAlgoGetHeuristic",
                       blas.cublasLtMatmulAlgoGetHeuristic(handle, desc, b, a, c, c, preference,
                                                           kChoices, choices.data(), &found));
  (void)blas.cublasLtMatmulPreferenceDestroy(preference);
  DTC_RETURN_IF_ERROR(status);
  for (int i = 0; i < std::min(found, kChoices); ++i)
    if (const cu::BlasChoice &choice = choices[static_cast<size_t>(i)]; choice.state == 0)
      offered.push_back(choice.algo);
  if (offered.empty())
    return Status::unavailable(text("cuBLASLt has no algorithm for a product of ", op.m(), " x ",
                                    op.k(), " and ", op.k(), " x ", op.n(), " of ",
                                    EnumNameDType(op.dtype()), " with epilogue ",
                                    EnumNameEpilogue(op.epilogue())));
  chosen = offered.front();
  return {};
}

bool GemmPlan::offers(const cu::BlasAlgo &algorithm) const {
  return std::find(offered.begin(), offered.end(), algorithm) != offered.end();
}

bool GemmPlan::allows(const cu::BlasAlgo &algorithm) const {
  cu::BlasChoice result{};
  return blas.cublasLtMatmulAlgoCheck(handle, desc, b, a, c, c, &algorithm, &result) == 0 &&
         result.state == 0 && result.workspaceBytes <= gemmWorkspaceBytes;
}

Status GemmPlan::run(const GemmOperands &with, void *workspace, cu::Stream stream) const {
  DTC_RETURN_IF_ERROR(setPointers(with.bias, with.aux));
  const char *before = with.addend ? with.addend : with.c;
  DTC_CUBLASLT(blas, cublasLtMatmul, handle, desc, &alpha, with.b, b, with.a, a, &beta, before, c,
               with.c, c, &chosen, workspace, gemmWorkspaceBytes, stream);
  return {};
}

} // namespace dtc::rt
