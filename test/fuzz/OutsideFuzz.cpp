// outside-fuzz: what the runtime reads, under libFuzzer. The first byte says what the rest is: machine
// code, a .dte file (with all hashes made right, or the header's alone), safetensors, a .npy file, tokens
// of one of the formats, or a checkpoint.
//
// A reader may refuse with an error that names the file, or accept; it may not crash, read beyond what it
// was given, or say what is not fit for a terminal once it is printed. CMakeLists.txt has the commands.
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/TokenSource.h"
#include "runtime/format/CodeObject.h"
#include "runtime/format/Printable.h"
#include "runtime/format/Verify.h"
#include "test/fuzz/MutateJson.h"
#include "test/fuzz/MutateProgram.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

// Names that libFuzzer looks for.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// NOLINTEND(readability-identifier-naming)

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

void check(const Status &status, const std::string &file) {
  check(status);
  if (!status.ok() && status.message().find(file) == std::string::npos)
    std::abort();
}

// A folder of this process in memory, as readers take paths.
const std::string &folder() {
  static const std::string path = [] {
    std::string pattern = "/dev/shm/outside-fuzz-XXXXXX";
    return std::string(::mkdtemp(pattern.data()) ? pattern : "/tmp");
  }();
  static const int removed = std::atexit([] {
    for (const char *name : {"x", "x.bin", "x.idx", "step-1/manifest.json", "step-1/COMPLETE",
                             "step-1/shard-00000.safetensors", "step-1/shard-00001.safetensors"})
      ::unlink((folder() + "/" + name).c_str());
    ::rmdir((folder() + "/step-1").c_str());
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

// With hashes made right, so that what is behind them is read; `wholly`: those of the manifest and the
// segments, too, and the sizes of the header.
void readProgram(Bytes bytes, bool wholly) {
  size_t size = (bytes.size() + 15) / 16 * 16;
  std::unique_ptr<uint8_t, decltype(&std::free)> file(
      static_cast<uint8_t *>(std::aligned_alloc(16, std::max<size_t>(size, 16))), &std::free);
  std::copy(bytes.begin(), bytes.end(), file.get());
  std::span<uint8_t> whole(file.get(), bytes.size());
  if (wholly)
    fuzz::sign(whole);
  else
    fuzz::signHeader(whole);
  const format::Manifest *manifest = nullptr;
  Status status = format::verifyExecutable(whole, "x.dte", manifest);
  check(status, "x.dte: ");
  if (!status.ok())
    return;
  for (const format::Segment *segment : *manifest->segments())
    if (segment->kind() == format::SegmentKind::code)
      readCode(Bytes(whole).subspan(segment->offset(), segment->bytes()));
}

void readSafetensors(Bytes bytes) {
  rt::SafetensorsFile file;
  Status status = file.open(write("x", bytes));
  check(status, folder());
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

// What a checkpoint's files are made of: two bytes each for the sizes of the manifest and the first
// shard, then these, then the second shard.
struct CheckpointParts {
  std::string_view manifest, shards[2];
};

CheckpointParts splitCheckpoint(std::string_view text) {
  auto take = [&](size_t size) {
    std::string_view part = text.substr(0, size);
    text.remove_prefix(part.size());
    return part;
  };
  std::string_view sizes = take(4);
  auto sizeAt = [&](size_t at) {
    uint16_t size = 0;
    if (sizes.size() == 4)
      std::memcpy(&size, sizes.data() + at, sizeof(size));
    return size;
  };
  CheckpointParts parts;
  parts.manifest = take(sizeAt(0));
  parts.shards[0] = take(sizeAt(2));
  parts.shards[1] = text;
  return parts;
}

// The manifest with sizes and hashes as the shards have them.
std::string signManifest(const CheckpointParts &parts) {
  using Json = nlohmann::ordered_json;
  Json root = Json::parse(parts.manifest, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("shards") || !root["shards"].is_array())
    return std::string(parts.manifest);
  for (size_t i = 0; i < std::min<size_t>(root["shards"].size(), 2); ++i) {
    Json &shard = root["shards"][i];
    if (!shard.is_object())
      continue;
    shard["bytes"] = parts.shards[i].size();
    shard["xxh3_128"] = Json::array({rt::hashOf(std::as_bytes(std::span(parts.shards[i])))});
  }
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Bytes bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// What was found good can be read.
void readTensors(rt::CheckpointReader &reader) {
  for (const rt::CheckpointTensor &tensor : reader.manifest().tensors) {
    uint64_t elements = 1;
    for (uint64_t size : tensor.shape)
      elements *= size;
    if (elements > 1 << 16) // more than there are bytes: none of it is anywhere
      std::abort();
    std::vector<std::byte> local(elements * tensor.width());
    std::vector<uint64_t> start(tensor.shape.size());
    rt::ShardBox box{start, tensor.shape, start};
    if (!reader.read(tensor, std::span(&box, 1), tensor.shape, local).ok())
      std::abort();
  }
}

void readCheckpoint(Bytes bytes, bool isSigned) {
  CheckpointParts parts =
      splitCheckpoint({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  std::string step = folder() + "/step-1";
  ::mkdir(step.c_str(), 0700);
  std::string manifest = isSigned ? signManifest(parts) : std::string(parts.manifest);
  (void)write("step-1/manifest.json", bytesOf(manifest));
  (void)write("step-1/COMPLETE", bytesOf(rt::markerOf(manifest)));
  for (size_t i = 0; i < 2; ++i)
    (void)write(("step-1/" + rt::shardFile(i)).c_str(), bytesOf(parts.shards[i]));
  rt::CheckpointReader reader;
  std::vector<std::string> problems;
  rt::verifyCheckpoint(step, reader, problems);
  for (const std::string &problem : problems)
    check(Status::dataLoss(problem), step);
  if (problems.empty())
    readTensors(reader);
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

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Bytes rest(data + 1, size - 1);
  switch (data[0]) {
  case 'c':
    readCode(rest);
    break;
  case 'd':
  case 'D':
    readProgram(rest, data[0] == 'd');
    break;
  case 'k':
  case 'K':
    readCheckpoint(rest, data[0] == 'k');
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

namespace {

// Puts `changed` in place of `count` bytes at `at`; the new size, or 0 where there is no room.
size_t replace(uint8_t *data, size_t size, size_t most, size_t at, size_t count, Bytes changed) {
  if (size - count + changed.size() > most)
    return 0;
  std::memmove(data + at + changed.size(), data + at + count, size - at - count);
  std::copy(changed.begin(), changed.end(), data + at);
  return size - count + changed.size();
}

size_t mutateManifest(uint8_t *data, size_t size, size_t most, fuzz::Random &random) {
  CheckpointParts parts = splitCheckpoint({reinterpret_cast<char *>(data) + 1, size - 1});
  std::optional<std::string> changed = fuzz::mutateJson(parts.manifest, random);
  if (!changed || changed->size() > UINT16_MAX)
    return 0;
  auto bytes = static_cast<uint16_t>(changed->size());
  size_t result = replace(data, size, most, 5, parts.manifest.size(), bytesOf(*changed));
  if (result > 0)
    std::memcpy(data + 1, &bytes, sizeof(bytes));
  return result;
}

size_t mutateProgram(uint8_t *data, size_t size, size_t most, fuzz::Random &random) {
  // As aligned as readers want it.
  std::vector<uint8_t> file(data + 1, data + size);
  std::optional<std::vector<uint8_t>> changed =
      random.below(2) ? fuzz::mutateProgram(file, random) : fuzz::mutateSigned(file, random);
  return changed ? replace(data, size, most, 1, size - 1, *changed) : 0;
}

} // namespace

// What is behind hashes and parsers is changed, most of the time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (size == 0)
    return LLVMFuzzerMutate(data, size, most);
  fuzz::Random random(seed);
  size_t changed = 0;
  if (random.below(4) != 0 && (data[0] == 'k' || data[0] == 'K'))
    changed = mutateManifest(data, size, most, random);
  else if (random.below(4) != 0 && data[0] == 'd')
    changed = mutateProgram(data, size, most, random);
  return changed > 0 ? changed : 1 + LLVMFuzzerMutate(data + 1, size - 1, most - 1);
}
