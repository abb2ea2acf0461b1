// Convolution and its gradients as graphs of one of cuDNN's operations.
#pragma once

#include "kernels/cuda/ConvolutionParams.h"
#include "runtime/cuda/CudnnGraph.h"

#include <string>

namespace dtc::rt {

// A convolution of a program, or one of its gradients, which does not add to what is there.
struct ConvolutionCase {
  CudnnConvolution kind = CudnnConvolution::Forward;
  // only the pointers depend on the device
  cuda::ConvolutionParams params{};
};

// True if all tensors start at multiples of 16 bytes.
bool isCudnnCase(const ConvolutionCase &convolution);

// Describes everything that decides how the convolution is computed; equal cases have equal
// descriptions.
std::string describeConvolution(const ConvolutionCase &convolution);

// Builds the case in an empty graph, in f32 without rounding of operands, and finishes the graph.
// The error names the call that cuDNN refused.
Status buildConvolution(const ConvolutionCase &convolution, CudnnGraph &graph);

// Returns the addresses of its tensors.
CudnnPointers pointersOf(const ConvolutionCase &convolution);

// Returns the number of multiplications and additions.
double flopsOf(const ConvolutionCase &convolution);

} // namespace dtc::rt
