#include "runtime/format/Verify.h"

#include "runtime/format/Header.h"
#include "runtime/format/RankMesh.h"
#include "runtime/format/Repeats.h"
#include "runtime/format/VerifyAcross.h"
#include "runtime/format/VerifyContext.h"
#include "runtime/format/VerifyInstructions.h"
#include "runtime/format/VerifyManifest.h"
#include "runtime/format/VerifyOrder.h"
#include "runtime/format/VerifyProgram.h"

#include <algorithm>

namespace dtc::format {
namespace {

rt::Status damaged(const std::string &fileName, const std::string &what) {
  return rt::Status::dataLoss(
      text(fileName, ": ", what, "; the file is damaged, recompile with dtc"));
}

rt::Status decodeManifest(std::span<const uint8_t> bytes, const std::string &fileName,
                          const Manifest *&manifest) {
  if (bytes.size() > maxManifestBytes)
    return rt::Status::invalidArgument(text(fileName, ": the manifest has ", bytes.size(),
                                            " bytes, wanted at most ", maxManifestBytes));
  flatbuffers::Verifier::Options options;
  options.max_depth = maxDepth;
  options.max_tables = maxTables;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (bytes.size() < 8 || !ManifestBufferHasIdentifier(bytes.data()))
    return damaged(fileName,
                   text("the manifest does not have the identifier '", ManifestIdentifier(), "'"));
  if (!VerifyManifestBuffer(verifier))
    return damaged(fileName, text("the manifest is not a sound FlatBuffers table of less than ",
                                  maxTables, " tables"));
  manifest = GetManifest(bytes.data());
  return {};
}

rt::Status checkPadding(std::span<const uint8_t> file, uint64_t begin, uint64_t end,
                        const std::string &fileName) {
  for (uint64_t i = begin; i < end; ++i)
    if (file[i] != 0)
      return damaged(fileName, text("byte ", i, " between segments is ", file[i], ", wanted 0"));
  return {};
}

// Checks that segments are aligned, ascend without overlap, fill the file to its end, and match
// their hashes.
rt::Status checkSegments(std::span<const uint8_t> file, const Manifest &manifest,
                         uint64_t manifestEnd, const std::string &fileName) {
  uint64_t end = manifestEnd;
  for (uint32_t i = 0; i < sizeOf(manifest.segments()); ++i) {
    const Segment &segment = *manifest.segments()->Get(i);
    std::string name = text("segment ", i);
    if (segment.kind() > SegmentKind::MAX)
      return damaged(fileName, text(name, " has kind ", static_cast<int>(segment.kind()),
                                    ", wanted at most ", static_cast<int>(SegmentKind::MAX)));
    if (segment.offset() % segmentAlignment != 0)
      return damaged(fileName, text(name, " starts at byte ", segment.offset(),
                                    ", wanted a multiple of ", segmentAlignment));
    if (segment.offset() < end)
      return damaged(fileName, text(name, " starts at byte ", segment.offset(),
                                    ", before the end of what precedes it at ", end));
    Checked segmentEnd = Checked(segment.offset()) + segment.bytes();
    if (!segmentEnd.atMost(file.size()))
      return damaged(fileName, text(name, " has ", segment.bytes(), " bytes from byte ",
                                    segment.offset(), ", beyond the file's end at ", file.size()));
    DTC_RETURN_IF_ERROR(checkPadding(file, end, segment.offset(), fileName));
    Hash128 wanted{segment.xxh3_low(), segment.xxh3_high()};
    if (hash128(file.subspan(segment.offset(), segment.bytes())) != wanted)
      return damaged(fileName, text(name, " does not match its hash"));
    end = segmentEnd.value();
  }
  if (end != file.size())
    return damaged(fileName, text("the last segment ends at byte ", end,
                                  ", wanted the file's end at ", file.size()));
  return {};
}

} // namespace

namespace {

// Returns the range of coordinates of each program's ranks; every program has a rank by then.
std::vector<std::vector<CoordinateRange>> coordinateRanges(const Manifest &manifest) {
  const RankMesh mesh(manifest);
  size_t axes = mesh.sizes().size();
  std::vector<std::vector<CoordinateRange>> ranges(manifest.programs()->size(),
                                                   std::vector<CoordinateRange>(axes, {~0u, 0}));
  for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank) {
    std::vector<uint32_t> coordinates = mesh.coordinatesOf(rank);
    std::vector<CoordinateRange> &range = ranges[manifest.rank_program()->Get(rank)];
    for (size_t axis = 0; axis < axes; ++axis) {
      range[axis].first = std::min(range[axis].first, coordinates[axis]);
      range[axis].last = std::max(range[axis].last, coordinates[axis]);
    }
  }
  return ranges;
}

// Returns, per program and group, true if all of the program's ranks are in the group.
std::vector<std::vector<bool>> groupMembers(const Manifest &manifest) {
  const auto &programOf = *manifest.rank_program();
  std::vector<uint32_t> ranks(manifest.programs()->size());
  for (uint32_t rank = 0; rank < programOf.size(); ++rank)
    ++ranks[programOf.Get(rank)];
  std::vector<std::vector<bool>> members(ranks.size());
  for (uint32_t group = 0; group < sizeOf(manifest.groups()); ++group) {
    std::vector<uint32_t> inside(ranks.size());
    for (uint32_t rank : *manifest.groups()->Get(group)->ranks())
      ++inside[programOf.Get(rank)];
    for (size_t program = 0; program < ranks.size(); ++program)
      members[program].push_back(inside[program] == ranks[program]);
  }
  return members;
}

} // namespace

rt::Status verifyManifest(const Manifest &manifest, const std::string &fileName) {
  VerifyContext context(manifest, fileName);
  DTC_RETURN_IF_ERROR(verifyTables(context));
  std::vector<std::vector<CoordinateRange>> ranges = coordinateRanges(manifest);
  std::vector<std::vector<bool>> members = groupMembers(manifest);
  for (uint32_t i = 0; i < manifest.programs()->size(); ++i) {
    ProgramContext program(context, i, ranges[i], members[i]);
    DTC_RETURN_IF_ERROR(verifyProgram(program));
    for (const Task *task : *program.program.tasks()) {
      std::vector<uint32_t> layers = countLayers(*task);
      for (uint32_t k = 0; k < task->instructions()->size(); ++k)
        DTC_RETURN_IF_ERROR(verifyInstruction(program, *task, k, layers[k]));
    }
  }
  DTC_RETURN_IF_ERROR(verifyAcross(context));
  return verifyOrder(context);
}

rt::Status verifyExecutable(std::span<const uint8_t> file, const std::string &fileName,
                            const Manifest *&manifest) {
  Header header;
  DTC_RETURN_IF_ERROR(readHeader(file, fileName, header));
  std::span<const uint8_t> bytes = file.subspan(header.manifestOffset, header.manifestBytes);
  if (hash128(bytes) != header.manifestHash)
    return damaged(fileName, "the manifest does not match its hash");
  DTC_RETURN_IF_ERROR(decodeManifest(bytes, fileName, manifest));
  DTC_RETURN_IF_ERROR(
      checkSegments(file, *manifest, header.manifestOffset + header.manifestBytes, fileName));
  return verifyManifest(*manifest, fileName);
}

} // namespace dtc::format
