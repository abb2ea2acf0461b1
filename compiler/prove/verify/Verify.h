// Proves over all ranks' programs of an executable that a step does what it should: see README.md.
#pragma once

#include "compiler/prove/verify/Fault.h"
#include "runtime/format/dte_generated.h"

#include <optional>

namespace dtc {

// The result of verifying all programs of a file.
struct VerifyReport {
  std::optional<Fault> fault; // the first one
  uint64_t ranks = 0, programs = 0, classes = 0;
  uint64_t instructions = 0; // executed instructions, in all programs and entries
  uint64_t followed = 0; // instructions that were not skipped as a repetition: see SkipPeriods.h
};

// `manifest` has passed format::verifyManifest. `skips` is false in tests of what may be skipped.
VerifyReport verifyPrograms(const format::Manifest &manifest, bool skips = true);

} // namespace dtc
