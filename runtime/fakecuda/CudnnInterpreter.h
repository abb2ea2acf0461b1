// What a graph of cuDNN's operations computes, in f32, one operation after another.
#pragma once

#include "runtime/cuda/Cudnn.h"
#include "runtime/simt/Simt.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace dtc::rt::fake {

using CudnnShape = std::array<int64_t, 4>;

struct FakeTensor {
  int64_t id = 0, alignment = 0;
  cu::CudnnData type = cu::cudnnF32;
  CudnnShape sizes{}, strides{};
  bool isVirtual = false, isByValue = false;

  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  uint64_t elementBytes() const {
    return type == cu::cudnnBool ? 1 : type == cu::cudnnF16 || type == cu::cudnnBf16 ? 2 : 4;
  }
  bool operator==(const FakeTensor &) const = default;
};

// y of x, and b and t where it has them; of a matmul x and b are its sides.
struct FakeOp {
  enum Kind { Matmul, Pointwise, Reduction, Reshape } kind = Matmul;
  int mode = 0; // of pointwise operations and reductions
  int64_t axis = -1;
  FakeTensor x, b, t, y;
  bool hasB = false, hasT = false;
};

struct FakeGraphOfOps {
  std::vector<FakeOp> ops;
  std::map<int64_t, FakeTensor> tensors; // by id
};

// Whether the shapes of an operation go together.
bool isShaped(const FakeOp &op);

// Computes it: tensors in memory are read and written where `pointers` says. `error`: what a wrong engine multiplies results
// with, 1 for a right one. The error names a tensor that is not where memory is, or not written.
Status computeGraph(const FakeGraphOfOps &graph, const std::map<int64_t, char *> &pointers,
                    const std::map<int64_t, float> &values, float error, simt::Memory &memory);

} // namespace dtc::rt::fake
