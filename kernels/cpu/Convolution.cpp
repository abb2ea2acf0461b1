// Convolution and its gradients by oneDNN, in the plain layouts that tensors have between
// instructions. The batch is cut into pieces whose number of samples follows from the shape alone;
// each piece is a call on one thread. So results do not depend on the number of threads.
#include "kernels/cpu/Convolution.h"

#include "kernels/cpu/OneDnn.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace dtc::cpu {

namespace {

// Least work per call: about 50 us at 40 GFLOP/s.
constexpr int64_t flopsPerCall = 2'000'000;

enum class Direction { Forward, InputGrad, WeightGrad };

using onednn::check;

struct Convolution {
  dnnl_memory_desc_t image, weight, result;
  onednn::Primitive primitive;
};

Convolution makeConvolution(Direction direction, const Conv2dShape &s) {
  Convolution made;
  const dnnl_dims_t image = {s.batch, s.channels, s.height, s.width};
  const dnnl_dims_t result = {s.batch, s.filters, s.outHeight(), s.outWidth()};
  const dnnl_dims_t weight = {s.groups, s.filters / s.groups, s.channels / s.groups, s.kernelHeight,
                              s.kernelWidth};
  // Limits strides and dilations, whose sums overflow in oneDNN. A stride past the padded image
  // always gives one pixel, and a kernel of one pixel is not dilated.
  const dnnl_dims_t strides = {std::min(s.strideHeight, s.height + 2 * s.paddingHeight),
                               std::min(s.strideWidth, s.width + 2 * s.paddingWidth)};
  const dnnl_dims_t dilates = {s.kernelHeight > 1 ? s.dilationHeight - 1 : 0,
                               s.kernelWidth > 1 ? s.dilationWidth - 1 : 0};
  const dnnl_dims_t padding = {s.paddingHeight, s.paddingWidth};
  check(dnnl_memory_desc_init_by_tag(&made.image, 4, image, dnnl_f32, dnnl_nchw), "image");
  check(dnnl_memory_desc_init_by_tag(&made.result, 4, result, dnnl_f32, dnnl_nchw), "result");
  check(dnnl_memory_desc_init_by_tag(&made.weight, 5, weight, dnnl_f32, dnnl_goihw), "weight");

  dnnl_primitive_attr_t attributes;
  check(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
  // Describes the forward op too, which the descriptions of gradients refer to.
  dnnl_convolution_desc_t forward, wanted;
  check(dnnl_dilated_convolution_forward_desc_init(
            &forward, dnnl_forward_training, dnnl_convolution_direct, &made.image, &made.weight,
            nullptr, &made.result, strides, dilates, padding, padding),
        "dnnl_dilated_convolution_forward_desc_init");
  dnnl_primitive_desc_t hint = nullptr;
  if (direction == Direction::Forward) {
    wanted = forward;
  } else {
    check(dnnl_primitive_desc_create(&hint, &forward, nullptr, onednn::engine(), nullptr),
          "dnnl_primitive_desc_create of forward");
    check(direction == Direction::InputGrad
              ? dnnl_dilated_convolution_backward_data_desc_init(
                    &wanted, dnnl_convolution_direct, &made.image, &made.weight, &made.result,
                    strides, dilates, padding, padding)
              : dnnl_dilated_convolution_backward_weights_desc_init(
                    &wanted, dnnl_convolution_direct, &made.image, &made.weight, nullptr,
                    &made.result, strides, dilates, padding, padding),
          "dnnl_dilated_convolution_backward_desc_init");
  }
  made.primitive = onednn::make(&wanted, attributes, hint);
  check(made.primitive.primitive ? dnnl_success : dnnl_unimplemented, "convolution");
  if (hint)
    dnnl_primitive_desc_destroy(hint);
  dnnl_primitive_attr_destroy(attributes);
  return made;
}

// Returns the primitive of a shape, created at its first use.
const Convolution &findConvolution(Direction direction, const Conv2dShape &s) {
  using Key = std::array<int64_t, 15>;
  static std::mutex mutex;
  static auto &all = *new std::map<Key, Convolution>; // not destroyed: threads may still run
  Key key = {static_cast<int64_t>(direction),
             s.batch,
             s.channels,
             s.filters,
             s.groups,
             s.height,
             s.width,
             s.kernelHeight,
             s.kernelWidth,
             s.strideHeight,
             s.strideWidth,
             s.paddingHeight,
             s.paddingWidth,
             s.dilationHeight,
             s.dilationWidth};
  std::lock_guard lock(mutex);
  auto found = all.find(key);
  return found != all.end() ? found->second
                            : all.emplace(key, makeConvolution(direction, s)).first->second;
}

// Runs a primitive, which reads two of the three tensors and writes the third.
void run(Direction direction, const Convolution &of, const float *image, const float *weight,
         const float *result) {
  bool isImage = direction == Direction::InputGrad, isWeight = direction == Direction::WeightGrad;
  onednn::run(
      of.primitive,
      {{isImage ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &of.image, image},
       {isWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &of.weight, weight},
       {direction == Direction::Forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &of.result, result}});
}

// Calls body(first sample, samples, piece) for all pieces of `samples` of the batch.
template <typename Body>
void forPieces(const Conv2dShape &shape, int64_t samples, ThreadPool &pool, const Body &body) {
  int64_t pieces = (shape.batch + samples - 1) / samples;
  pool.parallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t first = piece * samples;
      body(first, std::min(samples, shape.batch - first), piece);
    }
  });
}

Conv2dShape withBatch(Conv2dShape shape, int64_t batch) {
  shape.batch = batch;
  return shape;
}

int64_t samplesPerCall(const Conv2dShape &s) {
  int64_t flops = 2 * s.resultSize() * (s.channels / s.groups) * s.kernelHeight * s.kernelWidth;
  return std::clamp<int64_t>(flopsPerCall / std::max<int64_t>(flops, 1), 1, s.batch);
}

void runPieces(Direction direction, const Conv2dShape &shape, const float *image,
               const float *weight, const float *result, ThreadPool &pool) {
  forPieces(shape, samplesPerCall(shape), pool, [&](int64_t first, int64_t samples, int64_t) {
    const Convolution &piece = findConvolution(direction, withBatch(shape, samples));
    run(direction, piece, image + first * shape.imageSize(), weight,
        result + first * shape.resultSize());
  });
}

} // namespace

void conv2d(const Conv2dShape &shape, const float *x, const float *weight, float *y,
            ThreadPool &pool) {
  runPieces(Direction::Forward, shape, x, weight, y, pool);
}

void conv2dInputGrad(const Conv2dShape &shape, const float *dy, const float *weight, float *dx,
                     ThreadPool &pool) {
  runPieces(Direction::InputGrad, shape, dx, weight, dy, pool);
}

void conv2dWeightGrad(const Conv2dShape &shape, const float *x, const float *dy, float *dweight,
                      float *scratch, int64_t pieces, bool accumulate, ThreadPool &pool) {
  int64_t samples = (shape.batch + pieces - 1) / pieces, size = shape.weightSize();
  forPieces(shape, samples, pool, [&](int64_t first, int64_t count, int64_t piece) {
    const Convolution &of = findConvolution(Direction::WeightGrad, withBatch(shape, count));
    run(Direction::WeightGrad, of, x + first * shape.imageSize(), scratch + piece * size,
        dy + first * shape.resultSize());
  });
  int64_t used = (shape.batch + samples - 1) / samples;
  pool.parallelFor(size, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float sum = accumulate ? dweight[i] : 0;
      for (int64_t piece = 0; piece < used; ++piece)
        sum += scratch[piece * size + i];
      dweight[i] = sum;
    }
  });
}

} // namespace dtc::cpu
