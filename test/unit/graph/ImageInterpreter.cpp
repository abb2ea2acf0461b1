// Runs convolution and pooling on small tensors, from their definitions.
#include "Interpreter.h"

#include "dialects/graph/ImageOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Calls body(result pixel, image pixel) for all pairs that a kernel's element (p, q) combines, both
// as indices in a plane.
template <typename Body>
void forPixels(const Tensor &image, const Tensor &result, int64_t p, int64_t q,
               ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation,
               const Body &body) {
  for (int64_t i = 0; i < result.dim(2); ++i)
    for (int64_t j = 0; j < result.dim(3); ++j) {
      int64_t row = i * stride[0] - padding[0] + p * dilation[0];
      int64_t column = j * stride[1] - padding[1] + q * dilation[1];
      if (row >= 0 && row < image.dim(2) && column >= 0 && column < image.dim(3))
        body(i * result.dim(3) + j, row * image.dim(3) + column);
    }
}

// Calls body(image element, weight element, result element) for every product of a convolution.
template <typename Op, typename Body>
void forProducts(Op op, const Tensor &x, const Tensor &w, const Tensor &y, const Body &body) {
  int64_t ofGroup = w.dim(1), groups = x.dim(1) / ofGroup;
  for (int64_t b = 0; b < x.dim(0); ++b)
    for (int64_t f = 0; f < w.dim(0); ++f)
      for (int64_t c = 0; c < ofGroup; ++c)
        for (int64_t p = 0; p < w.dim(2); ++p)
          for (int64_t q = 0; q < w.dim(3); ++q) {
            int64_t channel = f / (w.dim(0) / groups) * ofGroup + c;
            int64_t xPlane = (b * x.dim(1) + channel) * x.dim(2) * x.dim(3);
            int64_t yPlane = (b * w.dim(0) + f) * y.dim(2) * y.dim(3);
            int64_t weight = ((f * ofGroup + c) * w.dim(2) + p) * w.dim(3) + q;
            forPixels(x, y, p, q, op.getStride(), op.getPadding(), op.getDilation(),
                      [&](int64_t result, int64_t image) {
                        body(xPlane + image, weight, yPlane + result);
                      });
          }
}

// Calls body(plane of x, plane of y, p, q) for every element of a window.
template <typename Op, typename Body>
void forTaps(Op op, const Tensor &x, const Tensor &y, const Body &body) {
  for (int64_t plane = 0; plane < x.count(0, 2); ++plane)
    for (int64_t p = 0; p < op.getKernel()[0]; ++p)
      for (int64_t q = 0; q < op.getKernel()[1]; ++q)
        forPixels(x, y, p, q, op.getStride(), op.getPadding(), {1, 1},
                  [&](int64_t result, int64_t image) {
                    body(plane * x.dim(2) * x.dim(3) + image, plane * y.dim(2) * y.dim(3) + result);
                  });
}

class ImageInterpreter {
public:
  explicit ImageInterpreter(Values &values) : values(values) {}

  void visit(Conv2dOp op) {
    Tensor x = values[op.getX()], w = values[op.getWeight()], y = Tensor::zeros(op.getType());
    forProducts(op, x, w, y, [&](int64_t image, int64_t weight, int64_t result) {
      y.data[result] += x.data[image] * w.data[weight];
    });
    values[op.getResult()] = y;
  }
  void visit(Conv2dInputGradOp op) { visitTransposed(op); }
  void visit(ConvTranspose2dOp op) { visitTransposed(op); }
  void visit(Conv2dWeightGradOp op) {
    Tensor x = values[op.getX()], dy = values[op.getDy()], dw = Tensor::zeros(op.getType());
    forProducts(op, x, dw, dy, [&](int64_t image, int64_t weight, int64_t result) {
      dw.data[weight] += dy.data[result] * x.data[image];
    });
    values[op.getResult()] = dw;
  }
  void visit(MaxPool2dOp op) {
    values[op.getResult()] = Tensor::zeros(op.getType());
    findMaxima(op, values[op.getX()], values[op.getResult()]);
  }
  void visit(MaxPool2dGradOp op) {
    Tensor x = values[op.getX()], dy = values[op.getDy()], dx = Tensor::zeros(op.getType());
    Tensor maxima = Tensor::zeros(op.getDy().getType());
    std::vector<int64_t> from = findMaxima(op, x, maxima);
    for (size_t i = 0; i < from.size(); ++i)
      dx.data[from[i]] += dy.data[i];
    values[op.getResult()] = dx;
  }
  void visit(AvgPool2dOp op) {
    Tensor x = values[op.getX()], y = Tensor::zeros(op.getType());
    forTaps(op, x, y, [&](int64_t image, int64_t result) {
      y.data[result] += x.data[image] / (op.getKernel()[0] * op.getKernel()[1]);
    });
    values[op.getResult()] = y;
  }
  void visit(AvgPool2dGradOp op) {
    Tensor dy = values[op.getDy()], dx = Tensor::zeros(op.getType());
    forTaps(op, dx, dy, [&](int64_t image, int64_t result) {
      dx.data[image] += dy.data[result] / (op.getKernel()[0] * op.getKernel()[1]);
    });
    values[op.getResult()] = dx;
  }

private:
  template <typename Op> void visitTransposed(Op op) {
    Tensor dy = values[op->getOperand(0)], w = values[op.getWeight()];
    Tensor dx = Tensor::zeros(op.getType());
    forProducts(op, dx, w, dy, [&](int64_t image, int64_t weight, int64_t result) {
      dx.data[image] += dy.data[result] * w.data[weight];
    });
    values[op.getResult()] = dx;
  }

  // Fills y, and returns for each of its elements the element of x that it is.
  template <typename Op> std::vector<int64_t> findMaxima(Op op, const Tensor &x, Tensor &y) {
    std::vector<int64_t> from(y.data.size(), -1);
    forTaps(op, x, y, [&](int64_t image, int64_t result) {
      if (from[result] < 0 || x.data[image] > y.data[result]) {
        from[result] = image;
        y.data[result] = x.data[image];
      }
    });
    return from;
  }

  Values &values;
};

} // namespace

bool dtc::graph::interpretImage(Operation *op, Values &values) {
  ImageInterpreter interpreter(values);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<Conv2dOp, ConvTranspose2dOp, Conv2dInputGradOp, Conv2dWeightGradOp, MaxPool2dOp,
            MaxPool2dGradOp, AvgPool2dOp, AvgPool2dGradOp>([&](auto known) {
        interpreter.visit(known);
        return true;
      })
      .Default(false);
}
