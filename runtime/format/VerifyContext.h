// What the parts of the verifier share: where they are in the file, and how they say what is wrong.
#pragma once

#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/format/Operands.h"
#include "runtime/format/dte_generated.h"

#include <cmath>
#include <string>
#include <vector>

namespace dtc::format {

// Smallest and largest coordinate on an axis of the ranks that run a program.
struct CoordinateRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

// The file that is checked.
class VerifyContext {
public:
  VerifyContext(const Manifest &manifest, const std::string &fileName)
      : manifest(manifest), fileName(fileName) {}

  // Returns InvalidArgument with the file's name before the message, and the advice to recompile.
  template <typename... Pieces> rt::Status fail(const Pieces &...pieces) const {
    return rt::Status::invalidArgument(text(fileName, ": ", pieces..., "; recompile with dtc"));
  }

  // Checks a name that messages and files may repeat: bounded, without control characters. Null
  // passes.
  rt::Status checkName(const char *what, const flatbuffers::String *name) const;

  const Manifest &manifest;
  const std::string &fileName;
};

// One program and the ranks that run it.
class ProgramContext : public VerifyContext {
public:
  // `inGroup`: per group, true if all of these ranks are in one of its lists.
  ProgramContext(const VerifyContext &context, uint32_t index, std::vector<CoordinateRange> ranges,
                 std::vector<bool> inGroup)
      : VerifyContext(context), program(*context.manifest.programs()->Get(index)), index(index),
        ranges(std::move(ranges)), inGroup(std::move(inGroup)) {}

  // Returns InvalidArgument with the program's index before the message.
  template <typename... Pieces> rt::Status failHere(const Pieces &...pieces) const {
    return fail("program ", index, ": ", pieces...);
  }

  // Returns the number of buffers of the program.
  uint32_t numBuffers() const { return program.buffers()->size(); }
  // Returns a buffer, whose index has been checked.
  const Buffer &buffer(uint32_t i) const { return *program.buffers()->Get(i); }
  // Returns the bytes of the arena that a buffer is in.
  uint64_t arenaOf(const Buffer &buffer) const {
    return buffer.space() == MemorySpace::host ? program.host_bytes() : program.arena_bytes();
  }
  // Returns the most that a run can add to the offset of a buffer, in bytes.
  Checked reachOf(const Buffer &buffer) const {
    return Checked(buffer.slots() - 1) * buffer.slot_stride() +
           Checked(manifest.num_micro_batches() - 1) * buffer.micro_batch_stride();
  }

  // Returns "'name' (buffer 3)".
  std::string bufferName(uint32_t i) const;

  const Program &program;
  uint32_t index;
  std::vector<CoordinateRange> ranges; // per mesh axis
  std::vector<bool> inGroup;
};

// Returns true if the elements of a vector lie where their type wants them; FlatBuffers' own
// verifier looks at the length only.
template <typename Vector> bool isAligned(const Vector *vector) {
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

// Returns the number of elements of a shape; 1, a scalar, if it is absent.
Checked elementsOf(const flatbuffers::Vector<uint64_t> *shape);

} // namespace dtc::format
