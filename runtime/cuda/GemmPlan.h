// A matrix product as cuBLASLt knows it: descriptors of its matrices, and the algorithms that do it.
#pragma once

#include "runtime/cuda/BlasLt.h"
#include "runtime/format/dte_generated.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// Of every stream. NVIDIA's own libraries take 32 MiB on Hopper.
inline constexpr uint64_t gemmWorkspaceBytes = uint64_t(32) << 20;

// What a product is run with. Only an epilogue has what stands behind c, each null where it is absent.
struct GemmOperands {
  const char *a = nullptr, *b = nullptr;
  char *c = nullptr;
  const char *addend = nullptr, *bias = nullptr;
  char *aux = nullptr;
};
inline constexpr size_t maxGemmOperands = 6;

// What depends on where and when a product runs.
struct GemmCase {
  float beta = 0;
  // In bytes, in the order of GemmOperands; 0 of what is absent.
  std::array<uint32_t, maxGemmOperands> alignments{};
};

// All that decides which algorithms do a product, in words: alike products are alike in them.
std::string describeProduct(const format::Gemm &op, const GemmCase &which);

class GemmPlan {
public:
  // `blas` and `handle` must outlive the plan. Unavailable where nothing does the product.
  static Status make(const cu::BlasLt &blas, cu::BlasHandle handle, const format::Gemm &op,
                     const GemmCase &which, std::unique_ptr<GemmPlan> &plan);
  ~GemmPlan();
  GemmPlan(const GemmPlan &) = delete;
  GemmPlan &operator=(const GemmPlan &) = delete;

  // What cuBLASLt offers, the best that it knows first. They give the same bits each time, and add up in f32.
  const std::vector<cu::BlasAlgo> &algorithms() const { return offered; }
  bool offers(const cu::BlasAlgo &algorithm) const;
  // Whether cuBLASLt says that this GPU can do the product by `algorithm`, in a stream's workspace.
  bool allows(const cu::BlasAlgo &algorithm) const;

  // That by which run() does it, the first one until then.
  void choose(const cu::BlasAlgo &algorithm) { chosen = algorithm; }
  const cu::BlasAlgo &choice() const { return chosen; }

  Status run(const GemmOperands &operands, void *workspace, cu::Stream stream) const;
  // Multiplications and additions.
  double flops() const { return work; }

private:
  GemmPlan(const cu::BlasLt &blas, cu::BlasHandle handle) : blas(blas), handle(handle) {}
  Status describe(const format::Gemm &op);
  Status describeEpilogue(const format::Gemm &op);
  // Where the epilogue's operands are, as part of the description of the product.
  Status setPointers(const void *bias, const void *aux) const;
  Status findAlgorithms(const format::Gemm &op, const GemmCase &which);

  const cu::BlasLt &blas;
  cu::BlasHandle handle;
  cu::BlasDesc desc = nullptr;
  cu::BlasLayout a = nullptr, b = nullptr, c = nullptr;
  std::vector<cu::BlasAlgo> offered;
  cu::BlasAlgo chosen{};
  float alpha = 1, beta = 0;
  bool hasBias = false, hasAux = false;
  double work = 0;
};

} // namespace dtc::rt
