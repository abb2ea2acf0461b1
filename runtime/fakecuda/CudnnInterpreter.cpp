#include "runtime/fakecuda/CudnnInterpreter.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace dtc::rt::fake {
namespace {

using Values = std::vector<float>;

template <typename Visit> void forEach(const CudnnShape &sizes, const Visit &visit) {
  CudnnShape at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3])
          visit(at);
}

// Returns the index of an element in values without gaps, in order.
size_t elementOf(const FakeTensor &tensor, const CudnnShape &at) {
  int64_t element = 0;
  for (size_t dim = 0; dim < at.size(); ++dim)
    element = element * tensor.sizes[dim] + at[dim];
  return static_cast<size_t>(element);
}

int64_t offsetOf(const FakeTensor &tensor, const CudnnShape &at) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < at.size(); ++dim)
    offset += at[dim] * tensor.strides[dim];
  return offset;
}

// Returns the element of `tensor` that an element of a larger tensor uses: groups of these share
// one.
CudnnShape shared(const FakeTensor &tensor, const CudnnShape &at, const CudnnShape &sizes) {
  CudnnShape in{};
  for (size_t dim = 0; dim < at.size(); ++dim)
    in[dim] = at[dim] * tensor.sizes[dim] / sizes[dim];
  return in;
}

float rounded(cu::CudnnData type, float value) {
  return type == cu::cudnnBf16  ? fromBf16(toBf16(value))
         : type == cu::cudnnF16 ? fromF16(toF16(value))
                                : value;
}

float read(const FakeTensor &tensor, const char *at) {
  if (tensor.elementBytes() == 4) {
    float value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return tensor.type == cu::cudnnBf16 ? fromBf16(bits) : fromF16(bits);
}

void write(const FakeTensor &tensor, char *at, float value) {
  if (tensor.elementBytes() == 4) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  uint16_t bits = tensor.type == cu::cudnnBf16 ? toBf16(value) : toF16(value);
  std::memcpy(at, &bits, sizeof(bits));
}

// Calls `visit` with the start and the bytes of each run of a tensor in memory that has no gaps.
template <typename Visit>
Status forEachRun(const FakeTensor &tensor, char *base, const Visit &visit) {
  size_t dim = 3;
  for (size_t i = 0; i < 4; ++i)
    if (tensor.strides[i] == 1 && tensor.sizes[i] > 1)
      dim = i;
  CudnnShape outer = tensor.sizes;
  outer[dim] = 1;
  Status status;
  forEach(outer, [&](const CudnnShape &at) {
    if (status.ok())
      status = visit(base + offsetOf(tensor, at) * static_cast<int64_t>(tensor.elementBytes()),
                     static_cast<uint64_t>(tensor.sizes[dim]) * tensor.elementBytes());
  });
  return status;
}

// The three tensors of a convolution or of one of its gradients.
struct Windows {
  explicit Windows(const FakeOp &op)
      : op(op), image(op.mode == FakeOp::OfImage ? op.y : op.x),
        weight(op.mode == FakeOp::OfWeight ? op.y : op.b),
        result(op.mode == FakeOp::OfResult  ? op.y
               : op.mode == FakeOp::OfImage ? op.x
                                            : op.b) {}

  // True if the sizes fit together.
  bool isShaped() const {
    const CudnnShape &x = image.sizes, &w = weight.sizes, &y = result.sizes;
    bool isFit = x[0] == y[0] && w[0] == y[1] && x[1] % w[1] == 0 && y[1] % (x[1] / w[1]) == 0;
    for (size_t dim = 0; dim < 2; ++dim)
      isFit = isFit && op.strides[dim] > 0 && op.dilations[dim] > 0 && op.padding[dim] >= 0 &&
              y[2 + dim] ==
                  (x[2 + dim] + 2 * op.padding[dim] - op.dilations[dim] * (w[2 + dim] - 1) - 1) /
                          op.strides[dim] +
                      1;
    return isFit;
  }

  // Calls visit(element of the image, of the weight, of the result) for each product, by the
  // definition.
  template <typename Visit> void forProducts(const Visit &visit) const {
    int64_t channels = weight.sizes[1], groups = image.sizes[1] / channels;
    int64_t filters = result.sizes[1] / groups;
    forEach(result.sizes, [&](const CudnnShape &to) {
      forEach({1, channels, weight.sizes[2], weight.sizes[3]}, [&](const CudnnShape &tap) {
        CudnnShape from = {to[0], to[1] / filters * channels + tap[1], 0, 0};
        for (size_t dim = 0; dim < 2; ++dim) {
          from[2 + dim] =
              to[2 + dim] * op.strides[dim] - op.padding[dim] + tap[2 + dim] * op.dilations[dim];
          if (from[2 + dim] < 0 || from[2 + dim] >= image.sizes[2 + dim])
            return;
        }
        visit(elementOf(image, from), elementOf(weight, {to[1], tap[1], tap[2], tap[3]}),
              elementOf(result, to));
      });
    });
  }

  const FakeOp &op;
  const FakeTensor &image, &weight, &result;
};

class Computation {
public:
  Computation(const FakeGraphOfOps &graph, const std::map<int64_t, char *> &pointers,
              const std::map<int64_t, float> &scalars, float error, simt::Memory &memory)
      : graph(graph), pointers(pointers), scalars(scalars), error(error), memory(memory) {}

  Status run() {
    for (const FakeOp &op : graph.ops) {
      DTC_RETURN_IF_ERROR(load(op.x));
      if (op.hasB)
        DTC_RETURN_IF_ERROR(load(op.b));
      if (op.hasT)
        DTC_RETURN_IF_ERROR(load(op.t));
      compute(op, known[op.y.id]);
      DTC_RETURN_IF_ERROR(store(op.y, op.kind == FakeOp::Convolution || op.kind == FakeOp::Means ||
                                          op.y.elementBytes() == 2));
    }
    return {};
  }

private:
  std::string nameOf(const FakeTensor &tensor) const {
    return format::text("cuDNN's tensor ", tensor.id);
  }
  char *pointerOf(const FakeTensor &tensor) const { return pointers.at(tensor.id); }

  Status load(const FakeTensor &tensor) {
    if (known.count(tensor.id) != 0)
      return {};
    Values &values = known[tensor.id];
    values.assign(static_cast<size_t>(tensor.elements()), 0);
    if (tensor.isByValue) {
      values[0] = scalars.at(tensor.id);
      return {};
    }
    char *base = pointerOf(tensor);
    DTC_RETURN_IF_ERROR(forEachRun(tensor, base, [&](char *at, uint64_t bytes) {
      return memory.checkRead(at, bytes, nameOf(tensor));
    }));
    forEach(tensor.sizes, [&](const CudnnShape &at) {
      values[elementOf(tensor, at)] =
          read(tensor, base + offsetOf(tensor, at) * static_cast<int64_t>(tensor.elementBytes()));
    });
    return {};
  }

  Status store(const FakeTensor &tensor, bool isResult) {
    Values &values = known[tensor.id];
    if (tensor.isVirtual) {
      for (float &value : values)
        value = rounded(tensor.type, value);
      return {};
    }
    char *base = pointerOf(tensor);
    DTC_RETURN_IF_ERROR(forEachRun(tensor, base, [&](char *at, uint64_t bytes) {
      DTC_RETURN_IF_ERROR(memory.checkWrite(at, bytes, nameOf(tensor)));
      return memory.markWritten(at, bytes);
    }));
    forEach(tensor.sizes, [&](const CudnnShape &at) {
      write(tensor, base + offsetOf(tensor, at) * static_cast<int64_t>(tensor.elementBytes()),
            values[elementOf(tensor, at)] * (isResult ? error : 1));
    });
    return {};
  }

  static float pointwise(const FakeOp &op, const CudnnShape &at, float x, float b, float t) {
    switch (op.mode) {
    case cu::cudnnAdd:
      return x + b;
    case cu::cudnnSub:
      return x - b;
    case cu::cudnnMul:
      return x * b;
    case cu::cudnnDiv:
      return x / b;
    case cu::cudnnExp:
      return std::exp(x);
    case cu::cudnnLog:
      return std::log(x);
    case cu::cudnnCompareGe:
      return x >= b ? 1 : 0;
    case cu::cudnnGenIndex:
      return static_cast<float>(at[static_cast<size_t>(op.axis)]);
    default:
      return t != 0 ? x : b;
    }
  }

  void compute(const FakeOp &op, Values &y) {
    const Values &x = known[op.x.id];
    bool isMax = op.kind == FakeOp::Reduction && op.mode == cu::cudnnReduceMax;
    y.assign(static_cast<size_t>(op.y.elements()), isMax ? -INFINITY : 0);
    switch (op.kind) {
    case FakeOp::Matmul:
      return multiply(op, y);
    case FakeOp::Pointwise:
      return forEach(op.y.sizes, [&](const CudnnShape &at) {
        auto of = [&](const FakeTensor &tensor, bool has) {
          return has ? known[tensor.id][elementOf(tensor, shared(tensor, at, op.y.sizes))] : 0;
        };
        y[elementOf(op.y, at)] =
            pointwise(op, at, of(op.x, true), of(op.b, op.hasB), of(op.t, op.hasT));
      });
    case FakeOp::Reduction:
      return forEach(op.x.sizes, [&](const CudnnShape &at) {
        float &sum = y[elementOf(op.y, shared(op.y, at, op.x.sizes))],
              each = x[elementOf(op.x, at)];
        sum = isMax ? std::max(sum, each) : sum + each;
      });
    case FakeOp::Reshape:
      return turn(op, x, y);
    case FakeOp::Convolution:
      return convolve(op, y);
    case FakeOp::Means:
      return average(op, y);
    }
  }

  // Visits each pixel of each window, by the definition, and adds its share.
  void average(const FakeOp &op, Values &y) {
    const Values &x = known[op.x.id];
    bool isGradient = op.mode == FakeOp::OfImage;
    const FakeTensor &image = isGradient ? op.y : op.x, &result = isGradient ? op.x : op.y;
    auto count = static_cast<float>(op.window[0] * op.window[1]);
    forEach(result.sizes, [&](const CudnnShape &to) {
      forEach({1, 1, op.window[0], op.window[1]}, [&](const CudnnShape &tap) {
        CudnnShape from = to;
        for (size_t dim = 0; dim < 2; ++dim) {
          from[2 + dim] = to[2 + dim] * op.strides[dim] - op.padding[dim] + tap[2 + dim];
          if (from[2 + dim] < 0 || from[2 + dim] >= image.sizes[2 + dim])
            return;
        }
        size_t pixel = elementOf(image, from), mean = elementOf(result, to);
        (isGradient ? y[pixel] : y[mean]) += x[isGradient ? mean : pixel] / count;
      });
    });
  }

  // Adds up all products of a convolution, each to the element of y that it is a term of.
  void convolve(const FakeOp &op, Values &y) {
    const Values &x = known[op.x.id], &b = known[op.b.id];
    const Windows windows(op);
    windows.forProducts([&](size_t image, size_t weight, size_t result) {
      switch (op.mode) {
      case FakeOp::OfResult:
        y[result] += x[image] * b[weight];
        break;
      case FakeOp::OfImage:
        y[image] += x[result] * b[weight];
        break;
      default:
        y[weight] += x[image] * b[result];
      }
    });
  }

  void multiply(const FakeOp &op, Values &y) {
    const Values &a = known[op.x.id], &b = known[op.b.id];
    int64_t depth = op.x.sizes[3];
    forEach(op.y.sizes, [&](const CudnnShape &at) {
      CudnnShape left = shared(op.x, at, op.y.sizes), right = shared(op.b, at, op.y.sizes);
      left[2] = at[2];
      right[3] = at[3];
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        left[3] = right[2] = k;
        sum += a[elementOf(op.x, left)] * b[elementOf(op.b, right)];
      }
      y[elementOf(op.y, at)] = sum;
    });
  }

  // Reshapes: the element of y at an offset is the element of x there.
  static void turn(const FakeOp &op, const Values &x, Values &y) {
    std::map<int64_t, float> byOffset;
    forEach(op.x.sizes,
            [&](const CudnnShape &at) { byOffset[offsetOf(op.x, at)] = x[elementOf(op.x, at)]; });
    forEach(op.y.sizes, [&](const CudnnShape &at) {
      auto found = byOffset.find(offsetOf(op.y, at));
      y[elementOf(op.y, at)] = found == byOffset.end() ? NAN : found->second;
    });
  }

  const FakeGraphOfOps &graph;
  const std::map<int64_t, char *> &pointers;
  const std::map<int64_t, float> &scalars;
  float error;
  simt::Memory &memory;
  std::map<int64_t, Values> known; // key: id
};

bool isPartOf(const CudnnShape &small, const CudnnShape &large) {
  for (size_t dim = 0; dim < small.size(); ++dim)
    if (large[dim] % small[dim] != 0)
      return false;
  return true;
}

bool isOneOrAll(const CudnnShape &small, const CudnnShape &large) {
  for (size_t dim = 0; dim < small.size(); ++dim)
    if (small[dim] != 1 && small[dim] != large[dim])
      return false;
  return true;
}

} // namespace

bool isShaped(const FakeOp &op) {
  const CudnnShape &x = op.x.sizes, &b = op.b.sizes, &y = op.y.sizes;
  switch (op.kind) {
  case FakeOp::Matmul:
    return x[2] == y[2] && x[3] == b[2] && b[3] == y[3] && isPartOf({x[0], x[1], 1, 1}, y) &&
           isPartOf({b[0], b[1], 1, 1}, y);
  case FakeOp::Pointwise:
    return isOneOrAll(x, y) && (!op.hasB || isOneOrAll(b, y)) &&
           (!op.hasT || isOneOrAll(op.t.sizes, y));
  case FakeOp::Reduction:
    return isPartOf(y, x);
  case FakeOp::Reshape:
    return op.x.elements() == op.y.elements();
  case FakeOp::Convolution:
    return Windows(op).isShaped();
  case FakeOp::Means: {
    const CudnnShape &image = op.mode == FakeOp::OfImage ? y : x;
    const CudnnShape &result = op.mode == FakeOp::OfImage ? x : y;
    bool isFit = image[0] == result[0] && image[1] == result[1];
    for (size_t dim = 0; dim < 2; ++dim)
      isFit = isFit && op.strides[dim] > 0 && op.padding[dim] >= 0 && op.window[dim] > 0 &&
              result[2 + dim] ==
                  (image[2 + dim] + 2 * op.padding[dim] - op.window[dim]) / op.strides[dim] + 1;
    return isFit;
  }
  }
  return false;
}

Status computeGraph(const FakeGraphOfOps &graph, const std::map<int64_t, char *> &pointers,
                    const std::map<int64_t, float> &values, float error, simt::Memory &memory) {
  return Computation(graph, pointers, values, error, memory).run();
}

} // namespace dtc::rt::fake
