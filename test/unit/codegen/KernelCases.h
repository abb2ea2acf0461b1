// Every kind of generated kernel, of any size and type.
#pragma once

#include "CompiledKernel.h"

namespace dtc::test {

struct KernelCase {
  std::string name, signature, body, results = {}; // as CompiledKernel takes them

  // What operands hold, besides random numbers between -1 and 1.
  enum class Values { Any, Positive, Whole } values = Values::Any; // Whole: -2 to 2
  std::vector<double> scalars = {};                                // of operands of one element
  // The largest number on the way to a result, for operands between -1 and 1; 0: all of them are exact, so that no order of
  // additions rounds.
  double magnitude = 0;
  bool addsColumns = false; // of a row, else it adds nothing up that is not exact
  bool readsVectors = true; // 16 bytes at once, where columns are enough
};

// With `rows` rows of `columns` elements of `type`.
std::vector<KernelCase> kernelCases(int64_t rows, int64_t columns, const std::string &type);

// Operands as the case wants them.
std::vector<std::vector<double>> makeOperands(const KernelCase &kernel, const KernelText &text,
                                              int64_t columns);

} // namespace dtc::test
