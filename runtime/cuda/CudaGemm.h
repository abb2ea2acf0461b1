// Matrix products by cuBLASLt.
#pragma once

#include "runtime/cuda/CudaCode.h"
#include "runtime/cuda/CudaLibraries.h"

#include <array>
#include <compare>
#include <memory>

namespace dtc::rt {

class CudaGemm {
public:
  CudaGemm(CudaLibraries &libraries, const cu::Driver &driver);
  ~CudaGemm();

  // The product `command`, a Gemm, on stream number `stream`. What it needs is made now.
  Status prepare(const Command &command, int stream, StreamWork &work);

private:
  // What decides the algorithm.
  struct Key {
    const format::Instruction *source = nullptr;
    bool startsSum = false;
    std::array<uint32_t, 3> alignments{}; // of a, b and c, in bytes
    auto operator<=>(const Key &) const = default;
  };
  struct Plan;

  Status open();
  Status makePlan(const format::Gemm &op, const Key &key, Plan &plan) const;
  Status workspaceOf(int stream, cu::DevicePtr &workspace);

  CudaLibraries &libraries;
  const cu::Driver &driver;
  const cu::BlasLt *blas = nullptr;
  cu::BlasHandle handle = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans;
  std::map<int, cu::DevicePtr> workspaces; // by stream, as products of two may run at once
};

} // namespace dtc::rt
