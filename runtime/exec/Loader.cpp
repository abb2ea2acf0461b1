#include "runtime/exec/Loader.h"

#include "runtime/base/File.h"
#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"

#include <algorithm>

namespace dtc::rt {

Status Executable::load(const std::string &path, std::unique_ptr<Executable> &executable,
                        const TrustedKeys *trusted) {
  InputFile input;
  DTC_RETURN_IF_ERROR(input.open(path));
  // The header is read first, as other files need not fit into memory.
  std::vector<uint8_t> bytes(std::min<uint64_t>(input.size(), format::headerBytes));
  DTC_RETURN_IF_ERROR(input.read(0, bytes));
  format::Header header;
  DTC_RETURN_IF_ERROR(format::readHeader(bytes, input.size(), path, header));
  DTC_RETURN_IF_ERROR(input.readAll(bytes));
  if (trusted)
    DTC_RETURN_IF_ERROR(trusted->check(path, std::as_bytes(std::span(bytes))));
  return fromBytes(std::move(bytes), path, executable);
}

Status Executable::fromBytes(std::vector<uint8_t> bytes, const std::string &name,
                             std::unique_ptr<Executable> &executable) {
  std::unique_ptr<Executable> loaded(new Executable);
  loaded->fileName = name;
  loaded->file = std::move(bytes);
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
  return bytes().subspan(segment.offset(), segment.bytes());
}

} // namespace dtc::rt
