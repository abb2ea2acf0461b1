// Tests convolution by cuDNN: its graphs with the stand-in, where results go, and how they are
// compared.
#include "runtime/cuda/ConvolutionGraph.h"
#include "runtime/cuda/ConvolutionOperation.h"
#include "runtime/cuda/PoolingOperation.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/fakecuda/FakeCudaOptions.h"

#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

// A convolution of two samples, whose three filters give planes of 2 x 2 pixels.
class ConvolutionCheck : public testing::Test {
protected:
  ConvolutionCheck() {
    auto &shape = *(op.shape = std::make_unique<format::Conv2dShapeT>());
    shape.batch = 2;
    shape.channels = shape.groups = shape.stride_height = shape.stride_width = 1;
    shape.dilation_height = shape.dilation_width = 1;
    shape.filters = 3;
    shape.kernel_height = shape.kernel_width = 2;
    shape.padding_height = shape.padding_width = 0;
    shape.height = shape.width = 3;
    results[0].resize(2 * 3 * 4 * sizeof(float));
    for (size_t i = 0; i < 24; ++i)
      set(results, i, static_cast<float>(i + 1));
  }
  static void set(CudnnResults &results, size_t element, float value) {
    std::memcpy(&results[0][element * sizeof(value)], &value, sizeof(value));
  }
  // Returns the results with another number.
  CudnnResults with(size_t element, float value) const {
    CudnnResults other = results;
    set(other, element, value);
    return other;
  }

  // Makes the operation of the instruction.
  std::unique_ptr<CudnnOperation> operation() {
    format::InstructionT instruction;
    instruction.op.Set(format::Conv2dT(op));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Instruction::Pack(builder, &instruction));
    bytes.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    Command command;
    command.source = flatbuffers::GetRoot<format::Instruction>(bytes.data());
    command.buffers.assign(3, nullptr);
    return convolutionOperationOf(command);
  }

  // Engines of the stand-in.
  static constexpr int64_t kRight = 0, kUnplanned = 2, kWrong = 3, kRestless = 4, kIdle = 5;
  static constexpr size_t kVersion = 91900;

  format::Conv2dT op;
  std::vector<uint8_t> bytes;
  CudnnResults results{1};
};

TEST_F(ConvolutionCheck, TakesRoundingsAndNothingElse) {
  auto convolution = operation();
  ASSERT_TRUE(convolution);
  EXPECT_EQ(convolution->findDifference(results, results), "");
  EXPECT_EQ(convolution->findDifference(results, with(5, 6.0002F)), "");
  EXPECT_TRUE(convolution->areSame(results, results));
  EXPECT_FALSE(convolution->areSame(results, with(5, 6.0002F)));
  // Pixels that are rounded to the bits of TF32, and a missing write.
  EXPECT_EQ(convolution->findDifference(results, with(13, 14.01F))
                .find("plane 0 of sample 1 of a convolution's result is 0.0100"),
            0u);
  EXPECT_NE(convolution->findDifference(results, with(23, NAN)), "");
}

// cuDNN writes a gradient of a weight that adds to the sum so far to the scratch memory, from where
// our kernel adds it; it is measured by itself.
TEST_F(ConvolutionCheck, AddsFromScratch) {
  format::Conv2dWeightGradT grad;
  grad.shape = std::make_unique<format::Conv2dShapeT>(*op.shape);
  grad.pieces = 2;
  std::vector<std::array<char, 16>> memory(5);
  std::vector<char *> buffers;
  for (size_t i = 0; i < 4; ++i)
    buffers.push_back(
        reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(memory[i].data()) + 15) / 16 * 16));
  for (bool adds : {false, true}) {
    grad.accumulate = adds;
    format::InstructionT instruction;
    instruction.op.Set(format::Conv2dWeightGradT(grad));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Instruction::Pack(builder, &instruction));
    Command command;
    command.source = flatbuffers::GetRoot<format::Instruction>(builder.GetBufferPointer());
    command.buffers = buffers;
    auto gradient = convolutionOperationOf(command);
    ASSERT_TRUE(gradient);
    constexpr int64_t kWeight = 2; // id of the tensor
    EXPECT_EQ(gradient->pointers().at(kWeight), buffers[2]);
    EXPECT_EQ(gradient->stepPointers().at(kWeight), buffers[adds ? 3 : 2]);
    LibraryLaunches after;
    ASSERT_TRUE(gradient->planAfter(after).ok());
    ASSERT_EQ(after.launches.size(), adds ? 1u : 0u);
    if (adds)
      EXPECT_EQ(after.launches[0].kernel, "Convolution_sumPieces");
  }
}

// The stand-in takes the graphs of a convolution and of both gradients, and has engines for them
// that do not round: all but the first two.
TEST_F(ConvolutionCheck, HasGraphs) {
  auto fake = makeFakeCuda({.cudnnVersion = kVersion});
  const cu::Cudnn *cudnn = nullptr;
  ASSERT_TRUE(static_cast<CudaLibraries &>(*fake).cudnn(cudnn).ok());
  for (auto kind : {CudnnConvolution::Forward, CudnnConvolution::ImageGradient,
                    CudnnConvolution::WeightGradient}) {
    ConvolutionCase convolution{.kind = kind};
    cuda::ConvolutionParams &p = convolution.params;
    p.batch = 2, p.channels = 4, p.filters = 6, p.groups = 2, p.height = 7, p.width = 9;
    p.kernelHeight = p.kernelWidth = 3, p.strideHeight = 2, p.strideWidth = 1;
    p.paddingHeight = p.paddingWidth = 1, p.dilationHeight = 1, p.dilationWidth = 2;
    p.outHeight = 4, p.outWidth = 7;
    cu::CudnnHandle handle = nullptr;
    ASSERT_EQ(cudnn->cudnnCreate(&handle), cu::cudnnSuccess);
    {
      CudnnGraph graph(*cudnn, {.handle = handle});
      Status built = buildConvolution(convolution, graph);
      ASSERT_TRUE(built.ok()) << built.message();
      std::vector<CudnnEngine> engines;
      ASSERT_TRUE(graph.engines(8, engines).ok());
      std::vector<int64_t> found;
      for (const CudnnEngine &engine : engines)
        found.push_back(engine.index);
      EXPECT_EQ(found,
                (std::vector<int64_t>{kUnplanned, kWrong, kRestless, kIdle, kRight, kRight}));
    }
    ASSERT_EQ(cudnn->cudnnDestroy(handle), cu::cudnnSuccess);
  }
  EXPECT_EQ(fake->leaks(), "");
}

// Means of windows and their gradient are operations of cuDNN, maxima are not.
TEST(PoolingCheck, TakesMeans) {
  format::Pool2dShapeT shape;
  shape.batch = 1, shape.channels = 2, shape.height = shape.width = 4;
  shape.kernel_height = shape.kernel_width = shape.stride_height = shape.stride_width = 2;
  shape.padding_height = shape.padding_width = 0;
  for (bool isGradient : {false, true})
    for (bool isMax : {false, true}) {
      shape.max = isMax;
      format::InstructionT instruction;
      format::Pool2dT forward;
      format::Pool2dGradT gradient;
      forward.shape = std::make_unique<format::Pool2dShapeT>(shape);
      gradient.shape = std::make_unique<format::Pool2dShapeT>(shape);
      if (isGradient)
        instruction.op.Set(std::move(gradient));
      else
        instruction.op.Set(std::move(forward));
      flatbuffers::FlatBufferBuilder builder;
      builder.Finish(format::Instruction::Pack(builder, &instruction));
      Command command;
      command.source = flatbuffers::GetRoot<format::Instruction>(builder.GetBufferPointer());
      alignas(16) static std::array<std::array<char, 16>, 3> memory;
      for (size_t i = 0; i < (isGradient ? 3 : 2); ++i)
        command.buffers.push_back(memory[i].data());
      auto operation = poolingOperationOf(command);
      ASSERT_EQ(operation != nullptr, !isMax);
      if (isMax)
        continue;
      constexpr int64_t kX = 1, kY = 2; // ids of tensors
      EXPECT_EQ(operation->pointers().at(kX), memory[isGradient ? 2 : 0].data());
      EXPECT_EQ(operation->pointers().at(kY), memory[1].data());
      CudnnResults ones(3, std::vector<char>(4 * sizeof(float)));
      for (std::vector<char> &plane : ones)
        for (size_t at = 0; at < plane.size(); at += sizeof(float)) {
          const float one = 1;
          std::memcpy(&plane[at], &one, sizeof(one));
        }
      CudnnResults other = ones;
      const float away = 1.001F;
      std::memcpy(&other[2][4], &away, sizeof(away));
      EXPECT_EQ(operation->findDifference(ones, ones), "");
      EXPECT_NE(operation->findDifference(ones, other), "");
      command.buffers[0] += 4; // not at a multiple of 16 bytes
      EXPECT_EQ(poolingOperationOf(command), nullptr);
    }
}

} // namespace
} // namespace dtc::rt
