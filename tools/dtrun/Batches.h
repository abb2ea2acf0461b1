// What this rank reads for each step, in the form that the program wants.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Agree.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/Sampler.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/DataFiles.h"
#include "tools/dtrun/DataSummary.h"

#include <memory>
#include <vector>

namespace dtc::rt {

class Batches {
public:
  // Of the argument of --data, which an epoch reads in an order that the seed shuffles, or of
  // --eval-data, in the order of the files.
  enum class Use { Training, Evaluation };

  explicit Batches(Use use = Use::Training) : use(use) {}

  // Opens the files of `data` for the inputs of `executor`'s program. `data` must name one for every
  // input of any program; all have as many samples. Nothing is opened for a program without inputs.
  Status open(const std::string &data, uint64_t seed, const Executable &executable,
              const Executor &executor);

  // Reads all that `steps` steps will read, a share of each input on each rank that has it, so that a
  // value that an input does not take is found before the first step.
  Status check(uint64_t steps) const;

  // What must be alike on all ranks: for each input the name of its file, the number of samples, and
  // a hash of those that a run of `steps` steps reads, or of many of them where they are more than
  // some megabytes. An input that only other ranks have is there without a value.
  Status traits(uint64_t steps, std::vector<Trait> &traits) const;

  // The data for people: what each file holds and how often `steps` steps read it. Nothing is known
  // of it on a rank that reads nothing.
  DataSummary summarise(uint64_t steps) const;
  // The first rank whose program reads an input; -1 where none does.
  static int firstReader(const Executable &executable);

  // Different samples that there are; those of random data have no end to speak of.
  uint64_t samples() const { return sampler.samples(); }
  bool isRandom() const { return random; }

  // Whether one input, of any rank, has elements that a loss leaves out; where several have, which of
  // them it leaves out is not known.
  static bool leavesOut(const Executable &executable);

  // Fills the program's inputs for `step`, counted from 1. Behind the last sample of data for
  // evaluation there is the first one again and again.
  Status load(uint64_t step, Executor &executor);

private:
  struct Column {
    SampleType type;
    BatchSpec spec;
    std::unique_ptr<SampleSource> source;
    std::vector<std::byte> values;
    uint64_t share = 0, shares = 1; // of the ranks that read this input, which one this is
  };

  const char *flag() const { return use == Use::Training ? "--data" : "--eval-data"; }
  Status openTokenColumns(const std::string &path, uint64_t seed);
  Status openFiles(const std::vector<DataFile> &files);
  Status checkSampleCounts() const;
  // How many different samples `steps` steps read.
  uint64_t samplesOf(uint64_t steps) const;
  Status describeSamples(const Column &column, uint64_t steps, std::string &words) const;
  // "images f32 [64] and labels i32 []", and how --data names files for them.
  std::string describeInputs() const;

  Use use;
  std::vector<SampleType> inputs; // of all ranks, in one order
  std::vector<Column> columns;    // of this one
  Sampler sampler;
  uint64_t globalBatch = 1;
  bool random = false; // synthetic: right by construction
  uint64_t sequenceLength = 0;
  DataOrigin origin;
  uint64_t tokens = 0; // of a source of tokens
};

} // namespace dtc::rt
