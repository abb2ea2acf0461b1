// The tokens of this rank for each step, in the form that the program wants.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/data/Sampler.h"
#include "runtime/data/TokenSource.h"
#include "runtime/exec/Executor.h"

#include <memory>
#include <vector>

namespace dtc::rt {

class Batches {
public:
  // Opens `path` for the program of `executor`; nothing is opened for a program that takes no
  // tokens.
  Status open(const std::string &path, uint64_t seed, const Executable &executable,
              const Executor &executor);

  // Reads all that `steps` steps will read, a share on each of `ranks` ranks, so that a token
  // outside the vocabulary is found before the first step.
  Status check(uint64_t steps, int rank, int ranks) const;

  // Fills the program's inputs for `step`, counted from 1.
  Status load(uint64_t step, Executor &executor);

private:
  Status checkAll(int rank, int ranks) const;

  std::unique_ptr<TokenSource> source;
  Sampler sampler;
  BatchSpec spec;
  bool random = false; // synthetic: right by construction
  bool wantsTokens = false, wantsTargets = false;
  std::vector<int32_t> tokens, targets;
};

} // namespace dtc::rt
