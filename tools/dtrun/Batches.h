// Reads what this rank needs for each step, in the form that the program expects.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Agree.h"
#include "runtime/data/Packing.h"
#include "runtime/data/SampleSource.h"
#include "runtime/data/Sampler.h"
#include "runtime/data/TokenSource.h"
#include "runtime/exec/Executor.h"
#include "tools/dtrun/DataFiles.h"
#include "tools/dtrun/DataSummary.h"
#include "tools/dtrun/Options.h"

#include <memory>
#include <optional>
#include <vector>

namespace dtc::rt {

// The boundaries of documents in data, for a model that reads documents.
struct DocumentOptions {
  std::optional<int32_t> end; // the token behind each document; nullopt: the files say where
  LongDocuments longer = LongDocuments::Split;
};

// Returns the options of documents on a command line.
DocumentOptions documentsOf(const Options &options);

// The data of --data or --eval-data, as batches of this rank.
class Batches {
public:
  // Training reads --data, in an order that the seed shuffles in each epoch. Evaluation reads
  // --eval-data, in the order of the files.
  enum class Use { Training, Evaluation };

  explicit Batches(Use use = Use::Training) : use(use) {}

  // Opens the files of `data` for the inputs of `executor`'s program. `data` must name a file for
  // every input of any program, and all files must have as many samples. Opens nothing for a
  // program without inputs. A program that reads documents gets packed samples of a source of
  // tokens; of files it needs those of tokens and documents.
  Status open(const std::string &data, const DocumentOptions &documents, uint64_t seed,
              const Executable &executable, const Executor &executor);

  // Reads everything that `steps` steps will read, to find a value that an input cannot take before
  // the first step. Ranks that have the same input share the work.
  Status check(uint64_t steps) const;

  // Lists what must be the same on all ranks: for each input the name of its file, the number of
  // samples, and a hash of the samples that a run of `steps` steps reads. Beyond some megabytes the
  // hash covers only part of them. An input that only other ranks have is listed without a value.
  Status traits(uint64_t steps, std::vector<Trait> &traits) const;

  // Summarises the data for people: what each file holds and how often `steps` steps read it. The
  // summary is empty on a rank that reads nothing.
  DataSummary summarise(uint64_t steps) const;
  // Returns the first rank whose program reads an input, or -1.
  static int firstReader(const Executable &executable);

  // Returns the number of different samples. The number for random data has no meaning.
  uint64_t samples() const { return sampler.samples(); }
  bool isRandom() const { return random; }

  // Returns true if exactly one input, of any rank, has elements that the loss ignores. If several
  // have some, it is not known which of them the loss ignores.
  static bool leavesOut(const Executable &executable);

  // Fills the program's inputs for `step`, counted from 1. Evaluation repeats the first sample
  // behind the last one.
  Status load(uint64_t step, Executor &executor);

private:
  struct Column {
    SampleType type;
    BatchSpec spec;
    std::unique_ptr<SampleSource> source;
    std::vector<std::byte> values;
    // index of this rank among those that read the input, and their number
    uint64_t share = 0, shares = 1;
  };

  const char *flag() const { return use == Use::Training ? "--data" : "--eval-data"; }
  // Opens the sources of tokens of the argument: one, or several with weights.
  Status openTokenColumns(const std::vector<DataFile> &files, const DocumentOptions &documents,
                          uint64_t seed);
  // Packs the documents of a source, and adds their samples to those of each column.
  Status packDocuments(const std::shared_ptr<const TokenSource> &source,
                       const DocumentOptions &documents, uint64_t seed,
                       std::vector<std::vector<std::unique_ptr<SampleSource>>> &sources);
  // Adds samples of random tokens, each of which is one document.
  Status addRandomDocuments(const std::shared_ptr<const TokenSource> &source, uint64_t length,
                            int32_t ignored,
                            std::vector<std::vector<std::unique_ptr<SampleSource>>> &sources) const;
  // Returns the input of a name, or null.
  const SampleType *findInput(const std::string &name) const;
  bool readsDocuments() const { return findInput("documents"); }
  // Finds the target that does not count, which a model of documents must have.
  Status findIgnored(int32_t &ignored) const;
  Status findVocabulary(const std::string &path, uint64_t &vocabulary) const;
  Status openFiles(const std::vector<DataFile> &files);
  Status openDocumentFiles(const std::vector<DataFile> &files);
  Status checkSampleCounts() const;
  void makeSampler(uint64_t seed);
  // Returns the number of different samples that `steps` steps read.
  uint64_t samplesOf(uint64_t steps) const;
  Status describeSamples(const Column &column, uint64_t steps, std::string &words) const;
  // Describes the inputs and how --data names files for them, as in "images f32 [64] and labels i32
  // []".
  std::string describeInputs() const;

  Use use;
  std::vector<SampleType> inputs; // inputs of all ranks, in one order
  std::vector<Column> columns;    // inputs of this rank
  Sampler sampler;
  uint64_t globalBatch = 1;
  bool random = false; // synthetic data, which is always valid
  uint64_t sequenceLength = 0;
  DataOrigin origin;
  uint64_t tokens = 0; // number of tokens, for a source of tokens
  std::optional<DataSummary::Packed> packed;
  std::vector<DataSummary::Part> mixture; // empty unless --data has weights
};

} // namespace dtc::rt
