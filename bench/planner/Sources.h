// What the bench knows of each source beyond its rows: software, conventions, half.
#pragma once

#include "bench/planner/Row.h"

namespace dtc::published {

// How a source turns seconds into TFLOP/s. L layers, h width, s tokens, V vocabulary; of one
// sample.
enum class FlopsFormula {
  Graph,           // matrix products of the graph, attention in full, backward twice the forward
  GraphRecomputed, // the same, and the layers' forward once more
  Causal,          // matrix products of the graph, half of attention
  Parameters       // 6 N s, and 12 L h s^2 of attention
};

// Rows of a source whose name contains `name`; the first match counts.
struct SourceRule {
  llvm::StringRef name;
  llvm::StringRef stack;     // by name; the notes may refine it
  llvm::StringRef family;    // sources that are near-duplicates of one another
  FlopsFormula formula;      // of tflops_per_gpu and mfu
  int64_t zero;              // where zero_stage is empty
  bool sequenceParallel;     // where seq_parallel is empty and tp > 1
  llvm::StringRef recompute; // where recompute is empty
  bool interleaves = false;  // where vpp is empty and pp > 1
  bool foldsExperts = false; // where the notes name no expert tensor parallelism and tp > 1
};

// For a source that no rule names, the rule of the nearest software: by words
// of the row, by ZeRO's stage, by the age of the device.
const SourceRule &ruleOf(const Row &row);
bool isKnownSource(const Row &row);

// Whether constants may be fitted on the row. All configurations of one model with one sequence
// length in one family of sources are in the same half: a bit of the FNV-1a hash of these three
// says in which. Releases of a source, weak-scaling series and sweeps are near-duplicates, so rows
// by themselves would not be independent.
bool isFitted(const Row &row);

// Whether the row is kept for releases: one in five, by a hash of its own text. Nothing is fitted or
// decided on it, and it is in no table but the one figure of --release.
bool isForRelease(const Row &row);

// The software stack of a row: its source's, refined by kernels and options in the notes.
std::string stackOf(const Row &row);

} // namespace dtc::published
