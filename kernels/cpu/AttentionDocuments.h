// The keys of each document, which the masks of attention read.
#pragma once

#include "kernels/cpu/AttentionArgs.h"

#include <vector>

namespace dtc::cpu {

// Finds where the document of each key begins and ends. A document is a run of equal numbers, so
// that all ranges lie within the sample, whatever the numbers are.
class DocumentRanges {
public:
  // Finds the ranges of `args.documents`, if there are any. The memory is that of the calling
  // thread and holds until its next call.
  explicit DocumentRanges(const AttentionArgs &args) : args(args) {
    if (!args.documents || args.batch * args.keys == 0)
      return;
    thread_local std::vector<int32_t> begins, ends;
    auto count = static_cast<size_t>(args.batch * args.keys);
    if (begins.size() < count)
      begins.resize(count), ends.resize(count);
    for (int64_t sample = 0; sample < args.batch; ++sample)
      find(args.documents + sample * args.keys, begins.data() + sample * args.keys,
           ends.data() + sample * args.keys);
    this->args.documentBegin = begins.data();
    this->args.documentEnd = ends.data();
  }

  // Returns the arguments with the ranges.
  const AttentionArgs &arguments() const { return args; }

private:
  void find(const int32_t *numbers, int32_t *begins, int32_t *ends) const {
    auto keys = static_cast<int32_t>(args.keys);
    for (int32_t begin = 0; begin < keys;) {
      int32_t end = begin + 1;
      while (end < keys && numbers[end] == numbers[begin])
        ++end;
      for (int32_t key = begin; key < end; ++key)
        begins[key] = begin, ends[key] = end;
      begin = end;
    }
  }

  AttentionArgs args;
};

} // namespace dtc::cpu
