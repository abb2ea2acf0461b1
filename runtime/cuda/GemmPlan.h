// A matrix product in cuBLASLt: descriptors of its matrices, and its algorithms.
#pragma once

#include "runtime/cuda/BlasLt.h"
#include "runtime/format/dte_generated.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// Workspace of each stream. NVIDIA's own libraries use 32 MiB on Hopper.
inline constexpr uint64_t gemmWorkspaceBytes = uint64_t(32) << 20;

// The operands of a matrix product. Those after c belong to an epilogue; each is null if absent.
struct GemmOperands {
  const char *a = nullptr, *b = nullptr;
  char *c = nullptr;
  const char *addend = nullptr, *bias = nullptr;
  char *aux = nullptr;
};
inline constexpr size_t maxGemmOperands = 6;

// The properties of a matrix product that depend on when and where it runs.
struct GemmCase {
  float beta = 0;
  // In bytes, in the order of GemmOperands; 0 for absent operands.
  std::array<uint32_t, maxGemmOperands> alignments{};
};

// Describes everything that decides which algorithms support a product; equal products have equal
// descriptions.
std::string describeProduct(const format::Gemm &op, const GemmCase &which);

// The algorithms of one matrix product.
class GemmPlan {
public:
  // Creates the plan. `blas` and `handle` must outlive it. Fails with Unavailable if no algorithm
  // supports the product.
  static Status make(const cu::BlasLt &blas, cu::BlasHandle handle, const format::Gemm &op,
                     const GemmCase &which, std::unique_ptr<GemmPlan> &plan);
  ~GemmPlan();
  GemmPlan(const GemmPlan &) = delete;
  GemmPlan &operator=(const GemmPlan &) = delete;

  // Returns the algorithms that cuBLASLt offers, best first. They give the same bits in every run,
  // and add up in f32.
  const std::vector<cu::BlasAlgo> &algorithms() const { return offered; }
  // True if the algorithm is among algorithms().
  bool offers(const cu::BlasAlgo &algorithm) const;
  // True if cuBLASLt reports that this GPU supports the product by `algorithm`, in a stream's
  // workspace.
  bool allows(const cu::BlasAlgo &algorithm) const;

  // Sets the algorithm of run(); the default is the first one.
  void choose(const cu::BlasAlgo &algorithm) { chosen = algorithm; }
  const cu::BlasAlgo &choice() const { return chosen; }

  // Runs the product on `stream`.
  Status run(const GemmOperands &operands, void *workspace, cu::Stream stream) const;
  // Returns the number of multiplications and additions.
  double flops() const { return work; }

private:
  GemmPlan(const cu::BlasLt &blas, cu::BlasHandle handle) : blas(blas), handle(handle) {}
  Status describe(const format::Gemm &op);
  Status describeEpilogue(const format::Gemm &op);
  // Sets the addresses of the epilogue's operands, which are part of the product's description.
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
