// Writes .dte files: from a manifest in memory and the bytes of its segments to the bytes of the
// file.
//
// Example:
//   ManifestT manifest = ...;                        // all but `segments`
//   std::vector<SegmentBytes> segments = {{SegmentKind::code, object}};
//   std::vector<uint8_t> file;
//   DTC_RETURN_IF_ERROR(writeExecutable(manifest, segments, file));
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dtc::format {

// The content of one segment.
struct SegmentBytes {
  SegmentKind kind = SegmentKind::code;
  std::vector<uint8_t> bytes;
};

// Makes the complete file. `manifest.segments` and `manifest.format_version` are overwritten;
// Kernel.code_segment indexes `segments`. Deterministic: the same input gives the same bytes. The
// result is checked by verifyExecutable, so that what this returns is what dtrun accepts; the
// Status is that check's.
rt::Status writeExecutable(ManifestT &manifest, std::span<const SegmentBytes> segments,
                           std::vector<uint8_t> &file);

// Makes the file without the check, for tests of the verifier.
std::vector<uint8_t> writeUnchecked(ManifestT &manifest, std::span<const SegmentBytes> segments);

} // namespace dtc::format
