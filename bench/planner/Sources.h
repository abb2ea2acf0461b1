// Knowledge of the bench on each source beyond its rows: software, conventions, half.
#pragma once

#include "bench/planner/Row.h"

namespace dtc::published {

// The formula by which a source turns seconds into TFLOP/s, for one sample. L layers, h width, s
// tokens, V vocabulary.
enum class FlopsFormula {
  Graph,           // matrix products of the graph, attention in full, backward twice the forward
  GraphRecomputed, // the same, and the layers' forward once more
  Causal,          // matrix products of the graph, half of attention
  Parameters       // 6 N s, and 12 L h s^2 of attention
};

// A rule for the rows of a source whose name contains `name`; the first match counts.
struct SourceRule {
  llvm::StringRef name;
  llvm::StringRef stack;     // name of the stack; the notes may refine it
  llvm::StringRef family;    // sources that are near-duplicates of one another
  FlopsFormula formula;      // formula of tflops_per_gpu and mfu
  int64_t zero;              // used if zero_stage is empty
  bool sequenceParallel;     // used if seq_parallel is empty and tp > 1
  llvm::StringRef recompute; // used if recompute is empty
  bool interleaves = false;  // used if vpp is empty and pp > 1
  bool foldsExperts = false; // used if the notes name no expert tensor parallelism and tp > 1
};

// Returns the rule of a row's source. A source that no rule names gets the rule of the nearest
// software: by words of the row, by ZeRO's stage, by the age of the device.
const SourceRule &ruleOf(const Row &row);
// Returns true if a rule names the row's source.
bool isKnownSource(const Row &row);

// Returns true if constants may be fitted on the row. All configurations of one model with one
// sequence length in one family of sources are in the same half, which is a bit of the FNV-1a hash
// of these three. Releases of a source, weak-scaling series and sweeps are near-duplicates, so
// single rows would not be independent.
bool isFitted(const Row &row);

// Returns true if the row is kept for releases: one in five, by a hash of its own text. Nothing is
// fitted or decided on it, and it is in no table but the one figure of --release.
bool isForRelease(const Row &row);

// Returns the software stack of a row: its source's, refined by kernels and options in the notes.
std::string stackOf(const Row &row);

} // namespace dtc::published
