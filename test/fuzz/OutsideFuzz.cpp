// outside-fuzz: what comes from outside, under libFuzzer. The first byte says what the rest is: machine
// code, a .dte file, safetensors, a .npy file, or tokens of one of the formats.
//
// A reader may refuse with an error or accept; it may not crash, read beyond what it was given, or say
// what is not fit for a terminal once it is printed. By hand, for hours:
//   build/test/outside-fuzz -max_total_time=3600 build/test/fuzz/corpus
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/TokenSource.h"
#include "runtime/format/CodeObject.h"
#include "runtime/format/Header.h"
#include "runtime/format/Printable.h"
#include "runtime/format/Verify.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace {

using namespace dtc;
using rt::Status;
using Bytes = std::span<const uint8_t>;

void check(const Status &status) {
  std::string printed = format::printable(status.message());
  for (char c : printed)
    if (c != '\n' && c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
      std::abort();
  if (printed.size() > 2 * format::mostMessageBytes)
    std::abort();
}

// A folder of this process in memory, as readers take paths.
const std::string &folder() {
  static const std::string path = [] {
    std::string pattern = "/dev/shm/outside-fuzz-XXXXXX";
    return std::string(::mkdtemp(pattern.data()) ? pattern : "/tmp");
  }();
  static const int removed = std::atexit([] {
    for (const char *name : {"x", "x.bin", "x.idx"})
      ::unlink((folder() + "/" + name).c_str());
    ::rmdir(folder().c_str());
  });
  (void)removed;
  return path;
}

std::string write(const char *name, Bytes bytes) {
  std::string path = folder() + "/" + name;
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool done =
      file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(file);
  if (!done)
    std::abort();
  return path;
}

void readCode(Bytes bytes) {
  format::CodeFacts facts;
  check(format::readCode(bytes, facts));
  for (const std::string &name : facts.imports)
    if (!format::mayImport(name))
      std::abort();
}

// With hashes made right, so that what is behind them is read.
void readProgram(Bytes bytes) {
  size_t size = (bytes.size() + 15) / 16 * 16;
  std::unique_ptr<uint8_t, decltype(&std::free)> file(
      static_cast<uint8_t *>(std::aligned_alloc(16, std::max<size_t>(size, 16))), &std::free);
  std::copy(bytes.begin(), bytes.end(), file.get());
  std::span<uint8_t> whole(file.get(), bytes.size());
  if (whole.size() >= format::headerBytes) {
    format::Header header;
    std::memcpy(&header.manifestBytes, whole.data() + 32, sizeof(header.manifestBytes));
    header.fileBytes = whole.size();
    header.manifestBytes =
        std::min<uint64_t>(header.manifestBytes, whole.size() - format::headerBytes);
    header.manifestHash = format::hash128(whole.subspan(format::headerBytes, header.manifestBytes));
    format::writeHeader(header, whole.first<format::headerBytes>());
  }
  const format::Manifest *manifest = nullptr;
  check(format::verifyExecutable(whole, "x.dte", manifest));
}

void readSafetensors(Bytes bytes) {
  rt::SafetensorsFile file;
  Status status = file.open(write("x", bytes));
  check(status);
  for (const rt::SafetensorsEntry &entry : file.entries()) {
    std::array<uint8_t, 64> part;
    check(file.readBytes(
        entry, 0, std::span(part).first(std::min<uint64_t>(part.size(), entry.end - entry.begin))));
  }
}

void readNpy(Bytes bytes) {
  rt::InputFile file;
  rt::NpyHeader header;
  check(file.open(write("x", bytes)));
  check(rt::readNpyHeader(file, header));
}

void readTokens(const std::string &path) {
  std::unique_ptr<rt::TokenSource> source;
  Status status = rt::openTokens(path, {.vocabulary = 1000, .seed = 1}, source);
  check(status);
  if (!status.ok())
    return;
  std::array<int32_t, 64> tokens;
  uint64_t count = std::min<uint64_t>(source->size(), tokens.size());
  check(source->read(0, std::span(tokens).first(count)));
  check(source->read(source->size() - count, std::span(tokens).first(count)));
}

// The second byte says where the index ends.
void readMegatron(Bytes bytes) {
  size_t index = bytes.empty() ? 0 : std::min<size_t>(bytes[0], bytes.size() - 1);
  Bytes rest = bytes.subspan(bytes.empty() ? 0 : 1);
  (void)write("x.idx", rest.first(index));
  readTokens(write("x.bin", rest.subspan(index)));
  ::unlink((folder() + "/x.idx").c_str());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Bytes rest(data + 1, size - 1);
  switch (data[0]) {
  case 'c':
    readCode(rest);
    break;
  case 'd':
    readProgram(rest);
    break;
  case 's':
    readSafetensors(rest);
    break;
  case 'n':
    readNpy(rest);
    break;
  case 'b':
    readTokens(write("x.bin", rest));
    break;
  case 't':
    readTokens(write("x", rest));
    break;
  case 'm':
    readMegatron(rest);
    break;
  default:
    return -1; // not kept in the corpus
  }
  return 0;
}
