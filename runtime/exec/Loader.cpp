#include "runtime/exec/Loader.h"

#include "runtime/format/Verify.h"

namespace dtc::rt {

Status Executable::load(const std::string &path, std::unique_ptr<Executable> &executable) {
  std::unique_ptr<Executable> loaded(new Executable);
  loaded->fileName = path;
  DTC_RETURN_IF_ERROR(loaded->mapped.open(path));
  loaded->file = loaded->mapped.bytes();
  DTC_RETURN_IF_ERROR(format::verifyExecutable(loaded->file, path, loaded->root));
  executable = std::move(loaded);
  return {};
}

Status Executable::fromBytes(std::vector<uint8_t> bytes, const std::string &name,
                             std::unique_ptr<Executable> &executable) {
  std::unique_ptr<Executable> loaded(new Executable);
  loaded->fileName = name;
  loaded->owned = std::move(bytes);
  loaded->file = loaded->owned;
  DTC_RETURN_IF_ERROR(format::verifyExecutable(loaded->file, name, loaded->root));
  executable = std::move(loaded);
  return {};
}

const format::Program &Executable::program(int rank) const {
  uint32_t index = root->rank_program()->Get(static_cast<uint32_t>(rank));
  return *root->programs()->Get(index);
}

std::span<const uint8_t> Executable::segment(uint32_t index) const {
  const format::Segment &segment = *root->segments()->Get(index);
  return file.subspan(segment.offset(), segment.bytes());
}

} // namespace dtc::rt
