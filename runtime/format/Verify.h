// The full check of a .dte file before anything of it is used.
//
// The file is not trusted: after this returns ok, every index is in range, every instruction stays
// inside its buffers and every buffer inside the arena, on every rank, no wait can hang, and
// collectives and transfers agree between ranks. Only the machine code in a code segment is trusted
// to do what its Kernel entry says.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/Limits.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <span>
#include <string>

namespace dtc::format {

// Checks a whole file that lies in memory at an address divisible by 16. On success `manifest`
// points into `file`. Errors: InvalidArgument or DataLoss, "model.dte: instruction 17 (gemm at
// model.mlir:3): ... is 12, wanted ...; recompile with dtc".
rt::Status verifyExecutable(std::span<const uint8_t> file, const std::string &fileName,
                            const Manifest *&manifest);

// Checks the content of a manifest whose FlatBuffers encoding is sound: the part after the hashes.
rt::Status verifyManifest(const Manifest &manifest, const std::string &fileName);

} // namespace dtc::format
