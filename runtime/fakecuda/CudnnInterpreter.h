// Computes a graph of cuDNN's operations in f32, one operation after another.
#pragma once

#include "runtime/cuda/Cudnn.h"
#include "runtime/simt/Launch.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace dtc::rt::fake {

using CudnnShape = std::array<int64_t, 4>;

// A tensor of a graph.
struct FakeTensor {
  int64_t id = 0, alignment = 0;
  cu::CudnnData type = cu::cudnnF32;
  CudnnShape sizes{}, strides{};
  bool isVirtual = false, isByValue = false;

  // Returns the number of elements.
  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  // Returns the bytes of one element.
  uint64_t elementBytes() const {
    return type == cu::cudnnBool ? 1 : type == cu::cudnnF16 || type == cu::cudnnBf16 ? 2 : 4;
  }
  bool operator==(const FakeTensor &) const = default;
};

// One operation: y of x, and of b and t if it has them; the sides of a matmul are x and b. A
// convolution's result is of image and weight, the gradient of its image of the result's gradient
// and the weight, and that of its weight of the image and the result's gradient. Means of windows,
// or their gradient, are OfResult or OfImage.
struct FakeOp {
  enum Kind { Matmul, Pointwise, Reduction, Reshape, Convolution, Means } kind = Matmul;
  enum ConvolutionOf { OfResult, OfImage, OfWeight };
  int mode = 0; // of pointwise operations, of reductions, or a ConvolutionOf
  int64_t axis = -1;
  FakeTensor x, b, t, y;
  bool hasB = false, hasT = false;
  std::array<int64_t, 2> strides{}, padding{}, dilations{}; // of a convolution, or of means
  std::array<int64_t, 2> window{};                          // of means
};

// The operations and tensors of a graph.
struct FakeGraphOfOps {
  std::vector<FakeOp> ops;
  std::map<int64_t, FakeTensor> tensors; // key: id
};

// Returns true if the shapes of an operation fit together.
bool isShaped(const FakeOp &op);

// Computes a graph: reads and writes tensors in memory at `pointers`. `error` is the factor by
// which a wrong engine multiplies results, 1 for a right one. Fails with the name of a tensor that
// is not in memory, or not written.
Status computeGraph(const FakeGraphOfOps &graph, const std::map<int64_t, char *> &pointers,
                    const std::map<int64_t, float> &values, float error, simt::Memory &memory);

} // namespace dtc::rt::fake
