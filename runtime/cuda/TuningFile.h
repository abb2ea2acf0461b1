// The file that keeps the fastest algorithms from one run of a program to the next on GPUs of one
// kind.
#pragma once

#include "runtime/cuda/BlasLt.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

// The properties that must be equal for the choices of another run to apply.
struct TuningKey {
  std::string program; // hash of the executable
  std::string device;  // "NVIDIA H200"
  int capability = 0;  // 90 for sm_90
  int driver = 0;      // versions
  uint64_t blasLt = 0;
  uint64_t cudnn = 0; // 0: it is missing, or not used
};

// The choices by hash of a product or an attention. For attention the value is no algorithm of
// cuBLASLt but an encoding of CudnnChoices.
using TuningChoices = std::map<uint64_t, cu::BlasAlgo>;

// Returns the contents of a file: the key, a line for each choice, and a hash of everything before
// it.
std::string writeChoices(const TuningKey &key, const TuningChoices &choices);
// Parses a file. Returns false, without choices, if `text` is damaged or for another key: the
// caller then measures again.
bool readChoices(std::string_view text, const TuningKey &key, TuningChoices &choices);

// Returns the path for a device: "gpt2.dte.tuning" and "NVIDIA H200" give
// "gpt2.dte.tuning.NVIDIA-H200".
std::string tuningFile(const std::string &path, const std::string &device);

// Loads the choices for `key` of the first of `files` that has any; false if none has.
bool loadChoices(const std::vector<std::string> &files, const TuningKey &key,
                 TuningChoices &choices);
// Writes the first of `files` that can be written. Returns the error of the last one.
Status saveChoices(const std::vector<std::string> &files, const TuningKey &key,
                   const TuningChoices &choices);

} // namespace dtc::rt
