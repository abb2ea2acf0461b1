#include "test/fuzz/MutateProgram.h"

#include "runtime/format/Header.h"
#include "runtime/format/Target.h"
#include "runtime/format/Verify.h"
#include "runtime/format/Write.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::fuzz {
namespace {

using namespace format;

struct Program {
  ManifestT manifest;
  std::vector<SegmentBytes> segments;
};

const Manifest *readManifest(std::span<const uint8_t> file) {
  uint64_t bytes = 0;
  if (file.size() < headerBytes)
    return nullptr;
  std::memcpy(&bytes, file.data() + 32, sizeof(bytes));
  if (bytes < 8 || bytes > file.size() - headerBytes)
    return nullptr;
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = 100000;
  flatbuffers::Verifier verifier(file.data() + headerBytes, bytes, options);
  return VerifyManifestBuffer(verifier) ? GetManifest(file.data() + headerBytes) : nullptr;
}

bool isInside(const Segment &segment, size_t size) {
  return segment.offset() <= size && segment.bytes() <= size - segment.offset();
}

// Returns the program, or null if the verifier refuses the file after it is signed: the check of
// FlatBuffers does not cover the alignment of elements of 8 bytes.
std::unique_ptr<Program> readProgram(std::span<const uint8_t> given) {
  std::vector<uint8_t> file(given.begin(), given.end());
  sign(file);
  const Manifest *manifest = nullptr;
  if (!verifyExecutable(file, "", manifest).ok() || !manifest->segments())
    return nullptr;
  auto program = std::make_unique<Program>();
  manifest->UnPackTo(&program->manifest);
  for (const Segment *segment : *manifest->segments()) {
    std::span<const uint8_t> bytes = std::span(file).subspan(segment->offset(), segment->bytes());
    program->segments.push_back({segment->kind(), {bytes.begin(), bytes.end()}});
  }
  return program;
}

uint64_t interesting(Random &random) {
  uint64_t power = uint64_t(1) << random.below(64);
  return random.below(4) == 0 ? random.below(8) : power + random.below(3) - 1;
}

// Changes a field of an ELF file. Fields are aligned to their size, and most are near the beginning
// or the end.
void changeCode(std::vector<uint8_t> &code, Random &random) {
  if (code.size() < 8)
    return;
  size_t width = size_t(1) << random.below(4), positions = code.size() / width;
  size_t near = std::min<size_t>(positions, 1024 / width);
  size_t position = random.below(positions);
  if (uint64_t where = random.below(4); where < 2)
    position = where == 0 ? random.below(near) : positions - 1 - random.below(near);
  uint64_t value = interesting(random), old = 0;
  std::memcpy(&old, code.data() + position * width, width);
  if (random.below(2))
    value = old + random.below(33) - 16;
  std::memcpy(code.data() + position * width, &value, width);
}

void changeSegments(Program &program, Random &random) {
  std::vector<SegmentBytes> &segments = program.segments;
  if (segments.empty()) {
    segments.push_back({SegmentKind::code, std::vector<uint8_t>(random.below(100))});
    return;
  }
  SegmentBytes &segment = segments[random.below(segments.size())];
  switch (random.below(6)) {
  case 0:
    segment.bytes.resize(random.below(segment.bytes.size() + 1));
    break;
  case 1:
    segment.bytes.resize(segment.bytes.size() + random.below(64));
    break;
  case 2:
    segment.kind = static_cast<SegmentKind>(random.below(5));
    break;
  case 3:
    segments.pop_back();
    break;
  default:
    changeCode(segment.bytes, random);
  }
}

// Makes the program one for another device, whose kernels are in PTX, with a cubin behind it or
// none, or in simt's code.
void changeDevice(Program &program, Random &random) {
  constexpr std::string_view devices[] = {cpuDevice, cudaDevice, simtDevice};
  std::string_view device = devices[random.below(3)];
  program.manifest.device = device;
  program.manifest.gpu_arch = device == cudaDevice ? gpuArchs[random.below(3)] : "";
  std::vector<SegmentBytes> segments;
  std::vector<uint32_t> moved;
  for (SegmentBytes &segment : program.segments) {
    moved.push_back(static_cast<uint32_t>(segments.size()));
    bool hasKernels = segment.kind != SegmentKind::constants;
    segments.push_back({hasKernels ? kernelSegments(device) : segment.kind, segment.bytes});
    if (hasKernels && device == cudaDevice && random.below(2))
      segments.push_back({SegmentKind::cubin, std::move(segment.bytes)});
  }
  program.segments = std::move(segments);
  for (auto &kernel : program.manifest.kernels) {
    if (kernel->code_segment < moved.size())
      kernel->code_segment = moved[kernel->code_segment];
    kernel->threads = device == cpuDevice ? 0 : 128;
  }
}

std::string otherName(const ManifestT &manifest, Random &random) {
  switch (random.below(5)) {
  case 0:
    return "";
  case 1:
    return "memcpy";
  case 2:
    return std::string(1, '\n');
  case 3:
    return std::string(70000, 'k');
  default:
    return manifest.kernels[random.below(manifest.kernels.size())]->symbol;
  }
}

void changeKernel(ManifestT &manifest, Random &random) {
  if (manifest.kernels.empty())
    return;
  KernelT &kernel = *manifest.kernels[random.below(manifest.kernels.size())];
  switch (random.below(10)) {
  case 0:
    kernel.symbol = otherName(manifest, random);
    break;
  case 1:
    kernel.num_buffers = static_cast<uint32_t>(interesting(random));
    break;
  case 2:
    kernel.num_results = static_cast<uint32_t>(interesting(random));
    break;
  case 3:
    kernel.num_scalars = static_cast<uint32_t>(interesting(random));
    break;
  case 4:
    if (!kernel.min_bytes.empty())
      kernel.min_bytes[random.below(kernel.min_bytes.size())] = interesting(random);
    break;
  case 5:
    kernel.code_segment = static_cast<uint32_t>(interesting(random));
    break;
  case 6:
    kernel.range = interesting(random);
    break;
  case 7:
    kernel.unit_points = interesting(random);
    break;
  case 8:
    kernel.threads = static_cast<uint32_t>(interesting(random));
    break;
  default:
    kernel.merged = otherName(manifest, random);
  }
}

} // namespace

void signHeader(std::span<uint8_t> file) {
  if (file.size() < headerBytes)
    return;
  uint64_t hash = XXH3_64bits(file.data(), headerBytes - sizeof(uint64_t));
  std::memcpy(file.data() + headerBytes - sizeof(hash), &hash, sizeof(hash));
}

void sign(std::span<uint8_t> file) {
  if (file.size() < headerBytes)
    return;
  Header header;
  std::memcpy(&header.manifestBytes, file.data() + 32, sizeof(header.manifestBytes));
  header.fileBytes = file.size();
  header.manifestBytes = std::min<uint64_t>(header.manifestBytes, file.size() - headerBytes);
  std::span<uint8_t> bytes = file.subspan(headerBytes, header.manifestBytes);
  if (const Manifest *manifest = readManifest(file); manifest && manifest->segments())
    for (const Segment *segment : *manifest->segments()) {
      if (!isInside(*segment, file.size()))
        continue;
      Hash128 hash = hash128(file.subspan(segment->offset(), segment->bytes()));
      for (auto [field, half] :
           {std::pair{Segment::VT_XXH3_LOW, hash.low}, std::pair{Segment::VT_XXH3_HIGH, hash.high}})
        if (const uint8_t *position =
                reinterpret_cast<const flatbuffers::Table *>(segment)->GetAddressOf(field))
          std::memcpy(bytes.data() + (position - bytes.data()), &half, sizeof(half));
    }
  header.manifestHash = hash128(bytes);
  writeHeader(header, file.first<headerBytes>());
}

void mutateCode(std::vector<uint8_t> &code, Random &random) {
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
    changeCode(code, random);
}

std::optional<std::vector<uint8_t>> mutateProgram(std::span<const uint8_t> file, Random &random) {
  std::unique_ptr<Program> program = readProgram(file);
  if (!program)
    return std::nullopt;
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
    if (uint64_t what = random.below(9); what == 0)
      changeDevice(*program, random);
    else if (what < 5)
      changeSegments(*program, random);
    else
      changeKernel(program->manifest, random);
  return writeUnchecked(program->manifest, program->segments);
}

} // namespace dtc::fuzz
