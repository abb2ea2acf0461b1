// Whole, unsharded parameters in a safetensors file: `--dump-params`.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/comm/Control.h"
#include "runtime/format/RankMesh.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dtc::rt {

// Copies this rank's shard of tensor `index` (localShape elements, padding included) from the
// executor's memory.
using ShardReader = std::function<Status(size_t index, std::span<float> local)>;

// Gathers every tensor on rank 0, which writes a file of whole tensors (names and storedShape,
// padding removed, in order of name). Both calls are collective over the world, whose ranks are
// those of the mesh; an error of any rank is an error on all, and then an earlier file at `path`
// stays.
// Example: ParameterDump dump(specs, mesh, world);
//   DTC_RETURN_IF_ERROR(dump.open("p.safetensors")); ... hours later ... dump.write(read)
class ParameterDump {
public:
  // All ranks must pass the same tensors, those included that only others hold; nothing is read of
  // tensors that a rank does not hold.
  ParameterDump(std::vector<TensorSpec> tensors, format::RankMesh mesh, Control &world);
  ~ParameterDump();

  // Makes sure that the file can be written, and takes its space. Hugging Face's loader expects the
  // metadata "format" to be "pt".
  Status open(const std::string &path,
              const std::map<std::string, std::string> &metadata = {{"format", "pt"}});
  // Writes the file. Rank 0 holds one whole tensor at a time.
  Status write(const ShardReader &read);
  // Returns the path of the file that write() makes, as AtomicFile::target; empty on ranks other
  // than 0.
  const std::string &target() const;

private:
  class Writer;
  std::unique_ptr<Writer> writer;
};

} // namespace dtc::rt
