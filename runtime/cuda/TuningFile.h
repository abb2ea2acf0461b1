// The file that keeps which algorithms were found fastest, from one run of a program to the next on GPUs of one kind.
#pragma once

#include "runtime/cuda/BlasLt.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// What has to be the same for the choices of another run to hold.
struct TuningKey {
  std::string program; // hash of the executable
  std::string device;  // "NVIDIA H200"
  int capability = 0;  // 90 for sm_90
  int driver = 0;      // versions
  uint64_t blasLt = 0;
  uint64_t cudnn = 0; // 0: there is none, or nothing that it could do
};

// By hash of what a product or an attention is. Of an attention it is no algorithm of cuBLASLt's but what CudaAttention says.
using TuningChoices = std::map<uint64_t, cu::BlasAlgo>;

// All of a file: the key, a line for each choice, and a hash of what is before it.
std::string writeChoices(const TuningKey &key, const TuningChoices &choices);
// The way back. False, and no choices, where `text` is damaged or for another key: whoever asks measures anew.
bool readChoices(std::string_view text, const TuningKey &key, TuningChoices &choices);

// "gpt2.dte.tuning" and device "NVIDIA H200" make "gpt2.dte.tuning.NVIDIA-H200".
std::string tuningFile(const std::string &path, const std::string &device);

// The choices for `key` of the first of `files` that has any; false where none has.
bool loadChoices(const std::vector<std::string> &files, const TuningKey &key,
                 TuningChoices &choices);
// Writes the first of `files` that can be written. The error is that of the last one.
Status saveChoices(const std::vector<std::string> &files, const TuningKey &key,
                   const TuningChoices &choices);

} // namespace dtc::rt
