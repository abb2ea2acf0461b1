// The full check of a .dte file before anything of it is used.
//
// Nothing in the file is trusted: after this returns ok, every index is in range, every instruction
// stays inside its buffers and every buffer inside the arena, on every rank, no wait can hang, and
// collectives and transfers agree between ranks. What is trusted is that the machine code in a code segment does
// what its Kernel entry says.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <span>
#include <string>

namespace dtc::format {

// Limits that no sane file reaches; they bound the work of the checks.
inline constexpr uint64_t maxArenaBytes = uint64_t(1) << 48;
inline constexpr uint64_t maxManifestBytes = uint64_t(1) << 30;
inline constexpr uint64_t maxRanks = uint64_t(1) << 20;
inline constexpr uint32_t maxTables = uint32_t(1) << 22;
inline constexpr uint32_t maxDepth = 32;
inline constexpr uint32_t maxDims = 12;
inline constexpr uint32_t maxAxes = 16;
inline constexpr uint32_t maxStreams = 16;
inline constexpr uint32_t maxEvents = uint32_t(1) << 20;
inline constexpr uint32_t maxKernelOperands = 1024;
inline constexpr uint64_t maxMicroBatches = uint64_t(1) << 20;
inline constexpr uint64_t maxGroups = 4096;
inline constexpr uint64_t maxSlots = uint64_t(1) << 16;
// Records, waits, collectives and transfers of one program in one run of an entry.
inline constexpr uint64_t maxStops = uint64_t(1) << 24;
// How often a kind of rank is looked at while an entry is played.
inline constexpr uint64_t maxTurns = uint64_t(1) << 26;
inline constexpr uint32_t maxLayers = uint32_t(1) << 16;
// Instructions of a task with its repeats written out, and those of one run of an entry.
inline constexpr uint64_t maxUnrolled = uint64_t(1) << 22;
inline constexpr uint64_t maxExecuted = uint64_t(1) << 26;
inline constexpr uint32_t maxStringBytes = 4096;

// Checks a whole file that lies in memory at an address divisible by 16. On success `manifest`
// points into `file`. Errors: InvalidArgument or DataLoss, "model.dte: instruction 17 (gemm at
// model.mlir:3): ... is 12, wanted ...; recompile with dtc".
rt::Status verifyExecutable(std::span<const uint8_t> file, const std::string &fileName,
                            const Manifest *&manifest);

// The part after the hashes: what the manifest says, given that its FlatBuffers encoding is sound.
rt::Status verifyManifest(const Manifest &manifest, const std::string &fileName);

} // namespace dtc::format
