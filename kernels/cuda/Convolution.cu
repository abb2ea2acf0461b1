// Convolutions of images in f32 and their gradients, as matrix products whose right operand is
// gathered from pixels. Each group of channels is a product of its own:
// - forward: rows are filters, columns the pixels of all results, terms channels and taps.
// - inputGrad: rows are channels, columns the pixels of all images, terms filters and taps.
// - weightGrad: rows are filters, columns channels and taps, terms the pixels of the results of a
//   piece of the batch. The sums of pieces go to scratch; sumPieces adds them up in order.
// A tap is an element of a filter of one channel.
//
// Launch: one block of 16 x 16 threads per tile of 64 x 64 of a product, tiles along columns first,
// then along rows, groups and pieces. Thread (y, x) has rows 4 y to 4 y + 3 and columns 4 x to
// 4 x + 3.
//
// Cost: 2 * rows * columns * terms flops on FMAs.
#include "kernels/cuda/ConvolutionParams.h"
#include "kernels/cuda/ConvolutionTiling.h"
#include "kernels/cuda/Device.h"

namespace dtc::cuda {

namespace {

constexpr int kTile = kConvolutionTile, kDepth = kConvolutionDepth, kRow = kTile + 4;

// The product that a block has a tile of.
struct Block {
  int row, column; // the first ones of its tile
  int group, piece;

  DTC_DEVICE explicit Block(const ConvolutionParams &p) {
    int block = static_cast<int>(blockIndex());
    column = block % p.columnTiles * kTile;
    block /= p.columnTiles;
    row = block % p.rowTiles * kTile;
    block /= p.rowTiles;
    group = block % p.groups;
    piece = block / p.groups;
  }
};

// The row and the column of a pixel, and the sample or channel that it is of.
struct Pixel {
  int of, row, column;

  DTC_DEVICE static Pixel at(int index, int height, int width) {
    int rest = index / width;
    return {rest / height, rest % height, index - rest * width};
  }
};

// Forward: the pixels below the filters.
struct Forward {
  const ConvolutionParams &p;
  const Block &block;
  int rows, columns, terms;

  DTC_DEVICE Forward(const ConvolutionParams &p, const Block &block)
      : p(p), block(block), rows(p.filters / p.groups), columns(p.batch * p.outHeight * p.outWidth),
        terms(p.channels / p.groups * p.kernelHeight * p.kernelWidth) {}

  DTC_DEVICE float left(int row, int term) const {
    return p.factors[(int64_t(block.group) * rows + row) * terms + term];
  }
  DTC_DEVICE Pixel column(int index) const { return Pixel::at(index, p.outHeight, p.outWidth); }
  DTC_DEVICE Pixel term(int index) const { return Pixel::at(index, p.kernelHeight, p.kernelWidth); }
  DTC_DEVICE float right(const Pixel &to, const Pixel &tap) const {
    int row = to.row * p.strideHeight - p.paddingHeight + tap.row * p.dilationHeight;
    int column = to.column * p.strideWidth - p.paddingWidth + tap.column * p.dilationWidth;
    if (row < 0 || row >= p.height || column < 0 || column >= p.width)
      return 0;
    int64_t channel = int64_t(to.of) * p.channels + block.group * (p.channels / p.groups) + tap.of;
    return p.pixels[(channel * p.height + row) * p.width + column];
  }
  DTC_DEVICE float *result(int row, int column) const {
    int pixels = p.outHeight * p.outWidth, sample = column / pixels;
    int64_t filter = int64_t(sample) * p.filters + block.group * rows + row;
    return p.out + filter * pixels + (column - sample * pixels);
  }
};

// The gradient of the image: the results that a pixel was a term of.
struct InputGrad {
  const ConvolutionParams &p;
  const Block &block;
  int rows, columns, terms;

  DTC_DEVICE InputGrad(const ConvolutionParams &p, const Block &block)
      : p(p), block(block), rows(p.channels / p.groups), columns(p.batch * p.height * p.width),
        terms(p.filters / p.groups * p.kernelHeight * p.kernelWidth) {}

  DTC_DEVICE float left(int row, int term) const {
    int taps = p.kernelHeight * p.kernelWidth, filter = term / taps;
    int64_t of = int64_t(block.group) * (p.filters / p.groups) + filter;
    return p.factors[(of * rows + row) * taps + (term - filter * taps)];
  }
  DTC_DEVICE Pixel column(int index) const { return Pixel::at(index, p.height, p.width); }
  DTC_DEVICE Pixel term(int index) const { return Pixel::at(index, p.kernelHeight, p.kernelWidth); }
  DTC_DEVICE float right(const Pixel &to, const Pixel &tap) const {
    int down = to.row + p.paddingHeight - tap.row * p.dilationHeight;
    int across = to.column + p.paddingWidth - tap.column * p.dilationWidth;
    int row = down / p.strideHeight, column = across / p.strideWidth;
    if (down < 0 || across < 0 || row * p.strideHeight != down ||
        column * p.strideWidth != across || row >= p.outHeight || column >= p.outWidth)
      return 0;
    int64_t filter = int64_t(to.of) * p.filters + block.group * (p.filters / p.groups) + tap.of;
    return p.pixels[(filter * p.outHeight + row) * p.outWidth + column];
  }
  DTC_DEVICE float *result(int row, int column) const {
    int pixels = p.height * p.width, sample = column / pixels;
    int64_t channel = int64_t(sample) * p.channels + block.group * rows + row;
    return p.out + channel * pixels + (column - sample * pixels);
  }
};

// The gradient of the weight: the pixels that a tap was multiplied with.
struct WeightGrad {
  const ConvolutionParams &p;
  const Block &block;
  int first, rows, columns, terms;

  DTC_DEVICE WeightGrad(const ConvolutionParams &p, const Block &block)
      : p(p), block(block), first(start(block.piece)), rows(p.filters / p.groups),
        columns(p.channels / p.groups * p.kernelHeight * p.kernelWidth),
        terms((start(block.piece + 1) - first) * p.outHeight * p.outWidth) {}

  // Returns the first sample of a piece of the batch.
  DTC_DEVICE int start(int piece) const {
    return static_cast<int>(int64_t(p.batch) * piece / p.pieces);
  }
  DTC_DEVICE float left(int row, int term) const {
    int pixels = p.outHeight * p.outWidth, sample = term / pixels;
    int64_t filter = int64_t(first + sample) * p.filters + block.group * rows + row;
    return p.factors[filter * pixels + (term - sample * pixels)];
  }
  DTC_DEVICE Pixel column(int index) const {
    return Pixel::at(index, p.kernelHeight, p.kernelWidth);
  }
  DTC_DEVICE Pixel term(int index) const {
    Pixel pixel = Pixel::at(index, p.outHeight, p.outWidth);
    return {first + pixel.of, pixel.row, pixel.column};
  }
  DTC_DEVICE float right(const Pixel &tap, const Pixel &to) const {
    return Forward(p, block).right(to, tap);
  }
  DTC_DEVICE float *result(int row, int column) const {
    int64_t filter = int64_t(block.piece) * p.filters + block.group * rows + row;
    return p.scratch + filter * columns + column;
  }
};

struct Workspace {
  // These are read by four.
  alignas(16) float left[kDepth * kRow];
  alignas(16) float right[kDepth * kRow];
};

// Fills the tile of the right operand. Neighbouring threads have neighbouring columns, or terms if
// those are neighbours in memory; `kColumns` columns of the thread are looked up before.
template <bool kByTerm, int kColumns, typename Operands>
DTC_DEVICE void fillRight(const Operands &of, const Pixel (&columns)[kColumns], int depth, int base,
                          float *tile) {
  int thread = static_cast<int>(threadIndex());
  constexpr int kLoads = kTile * kDepth / kConvolutionThreads;
  Pixel term{};
  if constexpr (kByTerm)
    term = of.term(depth + thread % kDepth);
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    int at = kByTerm ? thread % kDepth : thread / kTile + i * (kConvolutionThreads / kTile);
    int column = kByTerm ? thread / kDepth + i * (kConvolutionThreads / kDepth) : thread % kTile;
    bool inside = depth + at < of.terms && base + column < of.columns;
    if constexpr (!kByTerm)
      term = of.term(depth + at);
    tile[at * kRow + column] = inside ? of.right(columns[kByTerm ? i : 0], term) : 0;
  }
}

template <bool kByTerm, typename Operands>
DTC_DEVICE void multiply(const Operands &of, const Block &block, Workspace &shared) {
  int thread = static_cast<int>(threadIndex());
  constexpr int kLoads = kTile * kDepth / kConvolutionThreads;
  constexpr int kColumns = kByTerm ? kLoads : 1;
  Pixel columns[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    columns[i] =
        of.column(block.column + (kByTerm ? thread / kDepth + i * (kConvolutionThreads / kDepth)
                                          : thread % kTile));
  int x = thread % 16 * 4, y = thread / 16 * 4;
  float sums[4][4] = {};
#pragma unroll 1
  for (int depth = 0; depth < of.terms; depth += kDepth) {
    blockBarrier(); // the step before has been used
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      int term = thread % kDepth, row = thread / kDepth + i * (kConvolutionThreads / kDepth);
      bool inside = depth + term < of.terms && block.row + row < of.rows;
      shared.left[term * kRow + row] = inside ? of.left(block.row + row, depth + term) : 0;
    }
    fillRight<kByTerm>(of, columns, depth, block.column, shared.right);
    blockBarrier();
#pragma unroll
    for (int term = 0; term < kDepth; ++term) {
      Floats4 lefts = *reinterpret_cast<const Floats4 *>(shared.left + term * kRow + y);
      Floats4 rights = *reinterpret_cast<const Floats4 *>(shared.right + term * kRow + x);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[i][j] += lefts[i] * rights[j];
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (block.row + y + i < of.rows && block.column + x + j < of.columns)
        *of.result(block.row + y + i, block.column + x + j) = sums[i][j];
}

template <typename Operands, bool kByTerm>
DTC_DEVICE void convolve(const ConvolutionParams &p, Workspace &shared) {
  Block block(p);
  multiply<kByTerm>(Operands(p, block), block, shared);
}

} // namespace

#define DTC_CONVOLUTION(name, Operands, byTerm)                                                    \
  DTC_KERNEL(kConvolutionThreads, 2)                                                               \
  Convolution_##name(const ConvolutionParams p) {                                                  \
    DTC_SHARED static Workspace workspace;                                                         \
    convolve<Operands, byTerm>(p, workspace);                                                      \
  }
DTC_CONVOLUTION(forward, Forward, false)
DTC_CONVOLUTION(inputGrad, InputGrad, false)
DTC_CONVOLUTION(weightGrad, WeightGrad, true)

DTC_KERNEL(kConvolutionThreads, 1) Convolution_sumPieces(const ConvolutionParams p) {
  int64_t size = int64_t(p.filters) * (p.channels / p.groups) * p.kernelHeight * p.kernelWidth;
  int64_t at = int64_t(blockIndex()) * kConvolutionThreads + threadIndex();
  if (at >= size)
    return;
  float sum = 0;
  for (int piece = 0; piece < p.pieces; ++piece)
    sum += p.scratch[piece * size + at];
  p.out[at] = p.accumulate ? p.out[at] + sum : sum;
}

} // namespace dtc::cuda
