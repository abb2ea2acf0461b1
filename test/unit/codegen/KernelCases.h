// Every kind of generated kernel, in any size and type.
#pragma once

#include "CompiledKernel.h"

namespace dtc::test {

// A kernel to test, and the range of its operands and results.
struct KernelCase {
  std::string name, signature, body, results = {}; // arguments of CompiledKernel

  // The values of operands, other than random numbers between -1 and 1.
  enum class Values { Any, Positive, Whole } values = Values::Any; // Whole: -2 to 2
  std::vector<double> scalars = {}; // values of operands with one element
  // The largest number on the way to a result, for operands between -1 and 1. With 0 all numbers
  // are exact, so that no order of additions rounds.
  double magnitude = 0;
  bool addsColumns = false;          // adds up the columns of a row; otherwise all sums are exact
  bool readsVectors = true;          // reads 16 bytes at once if there are enough columns
  std::vector<double> integers = {}; // of i32 operands, again and again; by default columns
};

// Returns all cases with `rows` rows of `columns` elements of `type`.
std::vector<KernelCase> kernelCases(int64_t rows, int64_t columns, const std::string &type);

// Returns operands with the values that the case needs.
std::vector<std::vector<double>> makeOperands(const KernelCase &kernel, const KernelText &text,
                                              int64_t columns);

} // namespace dtc::test
