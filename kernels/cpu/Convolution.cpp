// Convolution and its gradients by oneDNN. Tensors have plain layouts between instructions, while
// oneDNN's fastest code reads blocks of 16 channels: a call copies its images to that layout and
// its result back, which takes a few percent of it, and weights are copied once for all calls.
// The batch is cut into pieces whose number of samples follows from the shape alone; each piece is
// a call on one thread. So results do not depend on the number of threads.
#include "kernels/cpu/Convolution.h"

#include "kernels/cpu/OneDnn.h"
#include "kernels/cpu/Scratch.h"
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

// A tensor of a primitive: its plain layout, the one that the primitive has it in, and the copy
// from the one to the other if they differ, from `used` to `plain` for a result.
struct Tensor {
  dnnl_memory_desc_t plain, used;
  onednn::Primitive copy;
  bool isPlain() const { return !copy.primitive; }
  // Returns the floats of the layout in use.
  int64_t floats() const {
    return static_cast<int64_t>(dnnl_memory_desc_get_size(&used) / sizeof(float));
  }
};

struct Convolution {
  Tensor image, weight, result;
  onednn::Primitive primitive;
  onednn::Primitive addWeight; // adds a gradient of weights in `used` to a plain one, or null

  // True if gradients of weights are summed in the layout in use: it has no padding, so that the
  // pieces of a plain scratch hold them, and one copy is enough.
  bool sumsInUse(const Conv2dShape &s) const {
    return !weight.isPlain() && weight.floats() == s.weightSize();
  }
};

// True if code for plain layouts is as fast: a kernel of one pixel is a plain matrix product, and
// blocks of 16 channels of an image's gradient that has few would be mostly padding.
bool staysPlain(Direction direction, const Conv2dShape &s) {
  bool onePixel = s.groups == 1 && s.kernelHeight == 1 && s.kernelWidth == 1;
  bool few = s.groups == 1 && s.channels < 16;
  return (direction == Direction::Forward && onePixel) ||
         (direction == Direction::InputGrad && (onePixel || few));
}

void chooseLayout(Tensor &tensor, const onednn::Primitive &primitive, dnnl_query_t which,
                  bool isResult) {
  tensor.used = onednn::layoutOf(primitive, which);
  if (dnnl_memory_desc_equal(&tensor.used, &tensor.plain))
    return;
  tensor.copy = isResult ? onednn::makeReorder(tensor.used, tensor.plain)
                         : onednn::makeReorder(tensor.plain, tensor.used);
}

// `weightLayout` is null if oneDNN may choose.
Convolution makeConvolution(Direction direction, const Conv2dShape &s,
                            const dnnl_memory_desc_t *weightLayout) {
  Convolution made{};
  const dnnl_dims_t image = {s.batch, s.channels, s.height, s.width};
  const dnnl_dims_t result = {s.batch, s.filters, s.outHeight(), s.outWidth()};
  const dnnl_dims_t grouped = {s.groups, s.filters / s.groups, s.channels / s.groups,
                               s.kernelHeight, s.kernelWidth};
  const dnnl_dims_t single = {s.filters, s.channels, s.kernelHeight, s.kernelWidth};
  bool isGrouped = s.groups > 1;
  // Limits strides and dilations, whose sums overflow in oneDNN. A stride past the padded image
  // always gives one pixel, and a kernel of one pixel is not dilated.
  const dnnl_dims_t strides = {std::min(s.strideHeight, s.height + 2 * s.paddingHeight),
                               std::min(s.strideWidth, s.width + 2 * s.paddingWidth)};
  const dnnl_dims_t dilates = {s.kernelHeight > 1 ? s.dilationHeight - 1 : 0,
                               s.kernelWidth > 1 ? s.dilationWidth - 1 : 0};
  const dnnl_dims_t padding = {s.paddingHeight, s.paddingWidth};
  auto describe = [&](dnnl_format_tag_t images, dnnl_format_tag_t weights) {
    check(dnnl_memory_desc_init_by_tag(&made.image.used, 4, image, dnnl_f32, images), "image");
    check(dnnl_memory_desc_init_by_tag(&made.result.used, 4, result, dnnl_f32, images), "result");
    check(dnnl_memory_desc_init_by_tag(&made.weight.used, isGrouped ? 5 : 4,
                                       isGrouped ? grouped : single, dnnl_f32, weights),
          "weight");
  };
  dnnl_format_tag_t plainWeight = isGrouped ? dnnl_goihw : dnnl_oihw;
  describe(dnnl_nchw, plainWeight);
  for (Tensor *tensor : {&made.image, &made.weight, &made.result})
    tensor->plain = tensor->used;
  if (!staysPlain(direction, s))
    describe(dnnl_format_tag_any, dnnl_format_tag_any);
  if (weightLayout)
    made.weight.used = *weightLayout;

  dnnl_primitive_attr_t attributes;
  check(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
  // Describes the forward op too, which the descriptions of gradients have as a hint. Its weights
  // may have another layout than those of a gradient.
  dnnl_convolution_desc_t forward, wanted;
  check(dnnl_dilated_convolution_forward_desc_init(
            &forward, dnnl_forward_training, dnnl_convolution_direct, &made.image.used,
            direction == Direction::Forward ? &made.weight.used : &made.weight.plain, nullptr,
            &made.result.used, strides, dilates, padding, padding),
        "dnnl_dilated_convolution_forward_desc_init");
  dnnl_primitive_desc_t hint = nullptr;
  if (direction == Direction::Forward) {
    wanted = forward;
  } else {
    check(dnnl_primitive_desc_create(&hint, &forward, nullptr, onednn::engine(), nullptr),
          "dnnl_primitive_desc_create of forward");
    check(direction == Direction::InputGrad
              ? dnnl_dilated_convolution_backward_data_desc_init(
                    &wanted, dnnl_convolution_direct, &made.image.used, &made.weight.used,
                    &made.result.used, strides, dilates, padding, padding)
              : dnnl_dilated_convolution_backward_weights_desc_init(
                    &wanted, dnnl_convolution_direct, &made.image.used, &made.weight.used, nullptr,
                    &made.result.used, strides, dilates, padding, padding),
          "dnnl_dilated_convolution_backward_desc_init");
  }
  made.primitive = onednn::make(&wanted, attributes, hint);
  check(made.primitive.primitive ? dnnl_success : dnnl_unimplemented, "convolution");
  if (hint)
    dnnl_primitive_desc_destroy(hint);
  dnnl_primitive_attr_destroy(attributes);
  bool isImage = direction == Direction::InputGrad, isWeight = direction == Direction::WeightGrad;
  bool isForward = direction == Direction::Forward;
  chooseLayout(made.image, made.primitive, isImage ? dnnl_query_diff_src_md : dnnl_query_src_md,
               isImage);
  chooseLayout(made.weight, made.primitive,
               isWeight ? dnnl_query_diff_weights_md : dnnl_query_weights_md, isWeight);
  chooseLayout(made.result, made.primitive, isForward ? dnnl_query_dst_md : dnnl_query_diff_dst_md,
               isForward);
  if (isWeight && made.sumsInUse(s))
    made.addWeight = onednn::makeReorder(made.weight.used, made.weight.plain, /*adds=*/true);
  return made;
}

// Returns the primitive of a shape, created at its first use. Weights have the layout of one sample
// for any number of samples.
const Convolution &findConvolution(Direction direction, const Conv2dShape &s) {
  using Key = std::array<int64_t, 15>;
  static std::recursive_mutex mutex;
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
  if (found != all.end())
    return found->second;
  const dnnl_memory_desc_t *weight = nullptr;
  if (s.batch > 1) {
    Conv2dShape one = s;
    one.batch = 1;
    weight = &findConvolution(direction, one).weight.used;
  }
  return all.emplace(key, makeConvolution(direction, s, weight)).first->second;
}

// Copies an operand to the layout in use; returns where it is then.
const float *bring(const Tensor &tensor, const float *plain, Scratch &scratch) {
  if (tensor.isPlain())
    return plain;
  float *used = scratch.reserve(tensor.floats());
  onednn::run(tensor.copy,
              {{DNNL_ARG_FROM, &tensor.plain, plain}, {DNNL_ARG_TO, &tensor.used, used}});
  return used;
}

// Copies a result to its plain layout.
void take(const onednn::Primitive &copy, const Tensor &tensor, const float *used,
          const float *plain) {
  onednn::run(copy, {{DNNL_ARG_FROM, &tensor.used, used}, {DNNL_ARG_TO, &tensor.plain, plain}});
}

// Runs a primitive, which reads two of the three tensors and writes the third. Images and results
// are plain; `weight` has the layout in use.
void run(Direction direction, const Convolution &of, const float *image, const float *weight,
         const float *result) {
  thread_local Scratch ofImage, ofResult;
  bool isImage = direction == Direction::InputGrad, isWeight = direction == Direction::WeightGrad;
  bool isForward = direction == Direction::Forward;
  auto place = [](const Tensor &tensor, bool isWritten, const float *plain, Scratch &scratch) {
    if (isWritten && !tensor.isPlain())
      return static_cast<const float *>(scratch.reserve(tensor.floats()));
    return isWritten ? plain : bring(tensor, plain, scratch);
  };
  const float *images = place(of.image, isImage, image, ofImage);
  const float *results = place(of.result, isForward, result, ofResult);
  onednn::run(of.primitive,
              {{isImage ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &of.image.used, images},
               {isWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &of.weight.used, weight},
               {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &of.result.used, results}});
  if (isImage && !of.image.isPlain())
    take(of.image.copy, of.image, images, image);
  if (isForward && !of.result.isPlain())
    take(of.result.copy, of.result, results, result);
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
  thread_local Scratch ofWeight;
  const float *used =
      bring(findConvolution(direction, withBatch(shape, 1)).weight, weight, ofWeight);
  forPieces(shape, samplesPerCall(shape), pool, [&](int64_t first, int64_t samples, int64_t) {
    const Convolution &piece = findConvolution(direction, withBatch(shape, samples));
    run(direction, piece, image + first * shape.imageSize(), used,
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
  const Convolution &one = findConvolution(Direction::WeightGrad, withBatch(shape, 1));
  bool stays = one.sumsInUse(shape);
  forPieces(shape, samples, pool, [&](int64_t first, int64_t count, int64_t piece) {
    thread_local Scratch padded;
    const Convolution &of = findConvolution(Direction::WeightGrad, withBatch(shape, count));
    float *sum = scratch + piece * size;
    bool direct = stays || of.weight.isPlain();
    float *used = direct ? sum : padded.reserve(of.weight.floats());
    run(Direction::WeightGrad, of, x + first * shape.imageSize(), used,
        dy + first * shape.resultSize());
    if (!direct)
      take(of.weight.copy, of.weight, used, sum);
  });
  int64_t used = (shape.batch + samples - 1) / samples;
  pool.parallelFor(size, 4096, [&](int64_t begin, int64_t end) {
    float *to = stays ? scratch : dweight;
    for (int64_t i = begin; i < end; ++i) {
      float sum = accumulate && !stays ? dweight[i] : 0;
      for (int64_t piece = 0; piece < used; ++piece)
        sum += scratch[piece * size + i];
      to[i] = sum;
    }
  });
  if (stays)
    take(accumulate ? one.addWeight : one.weight.copy, one.weight, scratch, dweight);
}

} // namespace dtc::cpu
