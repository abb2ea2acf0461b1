// The limits of a .dte file and of what it describes.
#pragma once

#include <cstdint>

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
// The most times that a class of ranks is visited while an entry is played.
inline constexpr uint64_t maxTurns = uint64_t(1) << 26;
inline constexpr uint32_t maxLayers = uint32_t(1) << 16;
// Instructions of a task with its repeats written out, and those of one run of an entry.
inline constexpr uint64_t maxUnrolled = uint64_t(1) << 22;
inline constexpr uint64_t maxExecuted = uint64_t(1) << 26;
inline constexpr uint32_t maxStringBytes = 4096;

} // namespace dtc::format
