// The header of a NumPy .npy file.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace dtc::rt {

// The element types of NumPy that can be read.
enum class NpyType { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64 };

// Returns the bytes of an element.
uint64_t bytesOf(NpyType type);
// Returns NumPy's name of a type: "float32".
const char *nameOf(NpyType type);

// The content of a header.
struct NpyHeader {
  NpyType type = NpyType::F32;
  std::vector<uint64_t> shape;
  uint64_t dataOffset = 0; // bytes from the start of the file
};

// Reads the header of version 1.0 or 2.0 and checks that the elements fill the rest of `file`:
//   "\x93NUMPY" major minor, length (u16 or u32), then a Python literal
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), } padded with spaces to
//   "\n".
// Source: numpy/lib/format.py. Big-endian, structured and column-major arrays are refused with how
// to save them otherwise.
Status readNpyHeader(const InputFile &file, NpyHeader &header);

} // namespace dtc::rt
