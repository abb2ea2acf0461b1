// outside-fuzz: runs the runtime's readers under libFuzzer. The first byte of an input gives its
// kind (README.md lists the letters).
//
// A reader may accept an input, or refuse it with an error that names the file. It may not crash,
// read beyond the input, or print characters that are unsafe for a terminal.
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/SafetensorsRead.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/checkpoint/WrittenWeights.h"
#include "runtime/cuda/ElfImage.h"
#include "runtime/cuda/TuningFile.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/OpenTokens.h"
#include "runtime/data/TokenSource.h"
#include "runtime/format/CodeObject.h"
#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"
#include "test/fuzz/MutateProgram.h"
#include "test/fuzz/Outside.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace dtc::fuzz {
namespace {

using rt::Status;

void readCode(Bytes bytes) {
  format::CodeFacts facts;
  check(format::readCode(bytes, facts));
  for (const std::string &name : facts.imports)
    if (!format::mayImport(name))
      std::abort();
}

// Reads a program after its header's hash is set, so that the checks behind the hash are reached.
// `wholly` also sets the hashes of the manifest and the segments, and the sizes of the header.
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
    if (Bytes code = Bytes(whole).subspan(segment->offset(), segment->bytes());
        segment->kind() == format::SegmentKind::code ||
        segment->kind() == format::SegmentKind::simt)
      readCode(code);
    else if (segment->kind() == format::SegmentKind::cubin)
      (void)rt::isWholeElf(code);
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

void readTokensOf(const std::string &argument, uint64_t vocabulary) {
  std::unique_ptr<rt::TokenSource> source;
  Status status = rt::openTokens(argument, {.vocabulary = vocabulary, .seed = 1}, source);
  check(status);
  if (!status.ok())
    return;
  std::array<int32_t, 64> tokens;
  uint64_t count = std::min<uint64_t>(source->size(), tokens.size());
  check(source->read(0, std::span(tokens).first(count)));
  check(source->read(source->size() - count, std::span(tokens).first(count)));
}

// Reads tokens as every kind of file, for vocabularies of bytes, of ids of 2 bytes and of 4.
void readTokens(const std::string &path) {
  for (uint64_t vocabulary : {256, 1000, 100000})
    for (const char *stated : {"", "bytes:", "u16:", "u32:", "u64:"})
      readTokensOf(stated + path, vocabulary);
}

// Returns the manifest with the sizes and hashes of the shards.
std::string signManifest(const std::vector<std::string_view> &parts) {
  using Json = nlohmann::ordered_json;
  Json root = Json::parse(parts[0], nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("shards") || !root["shards"].is_array())
    return std::string(parts[0]);
  for (size_t i = 0; i < std::min<size_t>(root["shards"].size(), 2); ++i) {
    Json &shard = root["shards"][i];
    if (!shard.is_object())
      continue;
    shard["bytes"] = parts[1 + i].size();
    shard["xxh3_128"] = Json::array({rt::hashOf(std::as_bytes(std::span(parts[1 + i])))});
  }
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Checks that tensors of an accepted checkpoint can be read.
void readTensors(rt::CheckpointReader &reader) {
  for (const rt::CheckpointTensor &tensor : reader.manifest().tensors) {
    uint64_t elements = 1;
    for (uint64_t size : tensor.shape)
      elements *= size;
    // The file has fewer elements than these, so no part of the tensor is there.
    if (elements > 1 << 16)
      std::abort();
    std::vector<std::byte> local(elements * tensor.width());
    std::vector<uint64_t> start(tensor.shape.size());
    rt::ShardBox box{start, tensor.shape, start};
    if (!reader.read(tensor, std::span(&box, 1), tensor.shape, local).ok())
      std::abort();
  }
}

// Writes the checkpoint as weights, which may be refused for its config or names.
void writeWeights(rt::CheckpointReader &reader) {
  std::string out = folder() + "/exported";
  rt::WrittenWeights written;
  check(rt::exportHuggingFace(
      reader, {.config = reader.manifest().config, .architecture = "", .folder = ""}, out,
      /*mostBytes=*/40, written));
  std::filesystem::remove_all(out);
}

// Reads a checkpoint of a manifest and two shards.
void readCheckpoint(Bytes bytes, bool isSigned) {
  std::vector<std::string_view> parts =
      splitParts({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, 3);
  std::string step = folder() + "/step-1";
  std::filesystem::create_directory(step);
  std::string manifest = isSigned ? signManifest(parts) : std::string(parts[0]);
  (void)write("step-1/manifest.json", bytesOf(manifest));
  (void)write("step-1/COMPLETE", bytesOf(rt::markerOf(manifest)));
  for (size_t i = 0; i < 2; ++i)
    (void)write("step-1/" + rt::shardFile(i), bytesOf(parts[1 + i]));
  rt::CheckpointReader reader;
  std::vector<std::string> problems;
  rt::verifyCheckpoint(step, reader, problems);
  for (const std::string &problem : problems)
    check(Status::dataLoss(problem), step);
  if (!problems.empty())
    return;
  readTensors(reader);
  writeWeights(reader);
}

// Reads a tuning file after its hash is set.
void readTuning(Bytes bytes) {
  const rt::TuningKey key{"p", "NVIDIA H100", 90, 13000, 130100, 91200};
  std::string file(bytes.begin(), bytes.end());
  file.resize(std::min(file.size(), file.rfind("end ")));
  format::Hash128 hash = format::hash128(bytesOf(file));
  std::array<char, 40> end;
  std::snprintf(end.data(), end.size(), "end %016llx%016llx\n",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  rt::TuningChoices choices, again;
  if (!rt::readChoices(file + end.data(), key, choices))
    return;
  if (!rt::readChoices(rt::writeChoices(key, choices), key, again) || again != choices)
    std::abort();
}

// Reads Megatron's tokens; the second byte gives the end of the index.
void readMegatron(Bytes bytes) {
  size_t index = bytes.empty() ? 0 : std::min<size_t>(bytes[0], bytes.size() - 1);
  Bytes rest = bytes.subspan(bytes.empty() ? 0 : 1);
  (void)write("x.idx", rest.first(index));
  readTokens(write("x.bin", rest.subspan(index)));
  ::unlink((folder() + "/x.idx").c_str());
}

} // namespace
} // namespace dtc::fuzz

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace dtc::fuzz;
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
  case 'e':
    (void)dtc::rt::isWholeElf(rest);
    break;
  case 'u':
    readTuning(rest);
    break;
  case 'w':
    readWeights(rest);
    break;
  case 'f':
    readFrames(rest);
    break;
  case 'l':
    readStream(rest);
    break;
  case 'p':
    readNotes(rest);
    break;
  case 'h':
    readRendezvous(rest);
    break;
  case 'a':
    readAddress(rest);
    break;
  default:
    return -1; // The input is not kept in the corpus.
  }
  return 0;
}
