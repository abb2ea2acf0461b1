#include "test/fuzz/Outside.h"

#include "runtime/format/Printable.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace dtc::fuzz {

Bytes bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

void check(const rt::Status &status) {
  std::string printed = format::printable(status.message());
  for (char c : printed)
    if (c != '\n' && c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
      std::abort();
  if (printed.size() > 2 * format::mostMessageBytes)
    std::abort();
}

void check(const rt::Status &status, const std::string &file) {
  check(status);
  if (!status.ok() && status.message().find(file) == std::string::npos)
    std::abort();
}

const std::string &folder() {
  static const std::string path = [] {
    std::string pattern = "/dev/shm/outside-fuzz-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      std::abort();
    return pattern;
  }();
  static const int removed = std::atexit([] {
    std::error_code error;
    std::filesystem::remove_all(folder(), error);
  });
  (void)removed;
  return path;
}

std::string write(const std::string &name, Bytes bytes) {
  std::string path = folder() + "/" + name;
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool done =
      file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(file);
  if (!done)
    std::abort();
  return path;
}

std::vector<std::string_view> splitParts(std::string_view text, size_t count) {
  auto take = [&](size_t size) {
    std::string_view part = text.substr(0, size);
    text.remove_prefix(part.size());
    return part;
  };
  std::string_view sizes = take(2 * (count - 1));
  std::vector<std::string_view> parts;
  for (size_t i = 0; i + 1 < count; ++i) {
    uint16_t size = 0;
    if (sizes.size() == 2 * (count - 1))
      std::memcpy(&size, sizes.data() + 2 * i, sizeof(size));
    parts.push_back(take(size));
  }
  parts.push_back(text);
  return parts;
}

std::string joinParts(const std::vector<std::string> &parts) {
  std::string sizes, contents;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string part = parts[i];
    if (i + 1 < parts.size()) {
      part.resize(std::min<size_t>(part.size(), UINT16_MAX));
      auto size = static_cast<uint16_t>(part.size());
      sizes.append(reinterpret_cast<const char *>(&size), sizeof(size));
    }
    contents += part;
  }
  return sizes + contents;
}

} // namespace dtc::fuzz
