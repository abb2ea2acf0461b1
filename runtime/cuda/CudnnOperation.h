// An operation of a program that cuDNN may compute instead of our kernels: how cuDNN is given it,
// and how its results are checked.
#pragma once

#include "runtime/cuda/CudnnGraph.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/launches/LibraryLaunches.h"

#include <string>
#include <vector>

namespace dtc::rt {

// The bytes of each of an operation's results, or of a part that stands for all of it.
using CudnnResults = std::vector<std::vector<char>>;

// An operation with the addresses of its operands.
class CudnnOperation {
public:
  virtual ~CudnnOperation() = default;

  // Describes everything that decides how the operation is computed; equal operations have equal
  // descriptions.
  virtual std::string describe() const = 0;
  // Returns the number of multiplications and additions.
  virtual double flops() const = 0;
  // Builds the operation in an empty graph, and finishes the graph. The error names the call that
  // cuDNN refused.
  virtual Status build(CudnnGraph &graph) const = 0;
  // Returns the addresses of the graph's tensors.
  virtual CudnnPointers pointers() const = 0;

  // Plans our kernels. Fails with Unavailable if there is none.
  virtual Status planOurs(LibraryLaunches &planned) const = 0;
  // Plans our kernels whose results the operation reads; none for most.
  virtual Status planBefore(LibraryLaunches &planned) const {
    planned = {};
    return {};
  }

  // Returns the addresses of the graph's tensors in a step, where the result may be in scratch
  // memory: planAfter's kernels read it there.
  virtual CudnnPointers stepPointers() const { return pointers(); }
  // Plans our kernels that follow cuDNN's in a step; none for most.
  virtual Status planAfter(LibraryLaunches &planned) const {
    planned = {};
    return {};
  }

  // Copies the results from the device, whose work must be complete.
  virtual Status readResults(const cu::Driver &driver, CudnnResults &results) const = 0;
  // Fills all results with NaN, on `stream`, so that a missing write is detected.
  virtual Status spoilResults(const cu::Driver &driver, cu::Stream stream) const = 0;
  // True if both have the same bits.
  virtual bool areSame(const CudnnResults &x, const CudnnResults &y) const = 0;
  // Returns "" if `other` equals `ours` except for roundings, else a description of where they
  // differ.
  virtual std::string findDifference(const CudnnResults &ours, const CudnnResults &other) const = 0;
};

} // namespace dtc::rt
