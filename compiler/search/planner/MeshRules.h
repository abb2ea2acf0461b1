// Says which sizes of axes a model, its software and pins permit: the enumeration of meshes and the
// errors about meshes have these rules in common. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <optional>
#include <string>

namespace dtc {

// The largest micro-batch of a rank, in samples. Larger micro-batches change nothing but memory, as
// matrix products are large enough by then.
constexpr int64_t kMostSamples = 32;
// A rank keeps at least this many tokens of a sequence: shorter parts are all communication.
constexpr int64_t kLeastTokensOfContext = 512;

// A size of the model that tp has to divide in the software.
struct DividedSize {
  int64_t size;
  const char *what; // "kv heads"
  const char *why;
};

// Returns the first size that the software needs tp to divide and that it does not; nullopt if
// there is none. With `folds`, experts are whole on ranks of tensor parallelism.
std::optional<DividedSize> findUndivided(int64_t tp, bool folds, const SpaceLimits &limits);

// Returns text such as "the 25 attention heads of the model, and the stack has whole heads on each
// rank".
std::string undividedText(const DividedSize &size);

// Returns the least number of chunks that pins leave to so many stages. A single stage has no V
// schedule.
int64_t leastChunksOf(int64_t stages, const Pins &pins);

// Returns true if `cp` ranks may share a sequence, beside `tp` ones of tensor parallelism, among
// which programs may split what each of them has of it.
bool fitsSequence(int64_t cp, int64_t tp, const SpaceLimits &limits, const Pins &pins);
// Returns true if 'dtc compile' may be asked for so many ranks of context parallelism, if the plan
// is for it: of models without experts, where a pin says so or all attention is known to permit it.
bool mayCompile(int64_t cp, const SpaceLimits &limits, const Pins &pins);

// Returns true if an executable may run all micro-batches through the layers of the largest stage.
bool mayRunAll(const Decisions &decisions, const SpaceLimits &limits);

// Returns true if the model and its software permit the mesh.
bool isAllowedMesh(const Decisions &mesh, const SpaceLimits &limits);

} // namespace dtc
