// Samples of .npy files.
#pragma once

#include "runtime/data/SampleSource.h"

#include <memory>
#include <string>

namespace dtc::rt {

// Opens samples along dim 0 of a NumPy file (.npy of version 1.0 or 2.0, little endian, C order),
// whose other dims must be those of `type`. Elements are converted to the input's type while they
// are read:
//   f32 from floats of 2, 4 or 8 bytes, integers and bool, rounded to nearest
//   i32 from integers and bool; a value that does not fit, or that the input does not accept, is an
//   error
// Errors name file and input, what was found and what was wanted.
// Example: openNpy("labels.npy", {"labels", SampleElement::I32, {}, 10, {}}, source)
Status openNpy(const std::string &path, const SampleType &type,
               std::unique_ptr<SampleSource> &source);

} // namespace dtc::rt
