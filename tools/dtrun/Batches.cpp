#include "tools/dtrun/Batches.h"

#include "runtime/base/Text.h"
#include "runtime/data/DocumentSamples.h"
#include "runtime/data/JoinedSamples.h"
#include "runtime/data/NpySamples.h"
#include "runtime/data/OpenTokens.h"
#include "runtime/data/TokenSamples.h"
#include "runtime/data/TokenSource.h"
#include "runtime/exec/Binding.h"
#include "runtime/format/Counted.h"
#include "runtime/format/RankMesh.h"
#include "tools/dtrun/InputPart.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
namespace {

using format::text;

bool isTokens(const SampleType &type) {
  std::optional<DocumentInput> input = documentInput(type.input);
  bool isFloat = input == DocumentInput::Weights;
  return input && type.shape.size() == 1 &&
         type.element == (isFloat ? SampleElement::F32 : SampleElement::I32);
}

bool hasInput(const format::Program &program, const std::string &name) {
  return std::any_of(
      program.inputs()->begin(), program.inputs()->end(),
      [&](const format::Input *input) { return input->name()->string_view() == name; });
}

} // namespace

DocumentOptions documentsOf(const Options &options) {
  DocumentOptions documents;
  if (options.hasDocumentEnd)
    documents.end = options.documentEnd;
  documents.longer = options.longDocuments == "cut"      ? LongDocuments::Cut
                     : options.longDocuments == "refuse" ? LongDocuments::Refuse
                                                         : LongDocuments::Split;
  return documents;
}

std::string Batches::describeInputs() const {
  std::string all, example;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SampleType &type = inputs[i];
    all += text(i == 0                  ? ""
                : i + 1 < inputs.size() ? ", "
                                        : " and ",
                "'", type.input, "' (", describe(type), ")");
    example += text(i == 0 ? text(flag(), " ") : ",", type.input, "=PATH.npy");
  }
  return text("the model reads ", all, ": ", example);
}

Status Batches::findVocabulary(const std::string &path, uint64_t &vocabulary) const {
  // All inputs read the same tokens, so an error in one applies to all of them.
  uint64_t length = inputs[0].shape.empty() ? 0 : inputs[0].shape[0];
  for (const SampleType &type : inputs) {
    bool areIds = type.input == "tokens" || type.input == "targets";
    if (!isTokens(type) || type.shape[0] != length || !(areIds || readsDocuments()))
      return Status::invalidArgument(
          text(flag(), " ", path,
               " is a source of tokens, which fills inputs 'tokens' and 'targets' "
               "of one length, but ",
               describeInputs()));
    if (uint64_t below = areIds ? type.below : 0)
      vocabulary = vocabulary ? std::min(vocabulary, below) : below;
  }
  return {};
}

const SampleType *Batches::findInput(const std::string &name) const {
  auto found = std::find_if(inputs.begin(), inputs.end(),
                            [&](const SampleType &type) { return type.input == name; });
  return found == inputs.end() ? nullptr : &*found;
}

Status Batches::findIgnored(int32_t &ignored) const {
  const SampleType *targets = findInput("targets");
  if (!targets)
    return {};
  if (!targets->ignored)
    return Status::invalidArgument(
        "the model reads documents, whose last tokens have no target, and ignores no target; write "
        "'ignoring -100' behind the operands of its graph.cross_entropy");
  ignored = static_cast<int32_t>(*targets->ignored);
  return {};
}

Status Batches::addRandomDocuments(
    const std::shared_ptr<const TokenSource> &source, uint64_t length, int32_t ignored,
    std::vector<std::vector<std::unique_ptr<SampleSource>>> &sources) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    DocumentInput input = *documentInput(columns[i].type.input);
    std::unique_ptr<SampleSource> tokens;
    DTC_RETURN_IF_ERROR(
        makeTokenSamples(source, length, input == DocumentInput::Targets ? 1 : 0, tokens));
    std::shared_ptr<const SampleSource> numbers =
        makeOneDocumentEach(source->name(), tokens->samples());
    bool areTokens = input == DocumentInput::Tokens || input == DocumentInput::Targets;
    sources[i].push_back(makeDocumentSamples(
        numbers, areTokens ? std::shared_ptr<const SampleSource>(std::move(tokens)) : nullptr,
        input, input, length, ignored));
  }
  return {};
}

Status Batches::packDocuments(const std::shared_ptr<const TokenSource> &source,
                              const DocumentOptions &documents, uint64_t seed,
                              std::vector<std::vector<std::unique_ptr<SampleSource>>> &sources) {
  int32_t ignored = 0;
  DTC_RETURN_IF_ERROR(findIgnored(ignored));
  uint64_t length = inputs[0].shape[0];
  if (random)
    return addRandomDocuments(source, length, ignored, sources);
  std::vector<uint64_t> ends;
  DTC_RETURN_IF_ERROR(findDocuments(*source, documents.end, ends));
  auto packing = std::make_shared<Packing>();
  DTC_RETURN_IF_ERROR(Packing::make(ends, length, documents.longer, seed, use == Use::Training,
                                    source->name(), *packing));
  if (!packed)
    packed.emplace();
  packed->documents += ends.size();
  packed->tokens += packing->tokens();
  packed->rooms += packing->samples() * packing->length();
  for (size_t i = 0; i < columns.size(); ++i)
    sources[i].push_back(
        makePackedSamples(source, packing, *documentInput(columns[i].type.input), ignored));
  return {};
}

Status Batches::openTokenColumns(const std::vector<DataFile> &files,
                                 const DocumentOptions &documents, uint64_t seed) {
  uint64_t vocabulary = 0;
  DTC_RETURN_IF_ERROR(findVocabulary(files.front().path, vocabulary));
  bool isMixed = files.front().weight > 0;
  if (isMixed && use == Use::Evaluation)
    return Status::invalidArgument(
        text(flag(), " takes no weights: all samples of its data are read; name one source"));
  Split split = use == Use::Training ? Split::Training : Split::Validation;
  std::vector<std::vector<std::unique_ptr<SampleSource>>> sources(columns.size());
  for (const DataFile &file : files) {
    random = file.path == "synthetic";
    if (random && isMixed)
      return Status::invalidArgument(
          text(flag(), " mixes 'synthetic', which has no end, with other data"));
    std::unique_ptr<TokenSource> opened;
    DTC_RETURN_IF_ERROR(
        openTokens(file.path, {.vocabulary = vocabulary, .seed = seed, .split = split}, opened));
    std::shared_ptr<const TokenSource> source = std::move(opened);
    const DataOrigin &from = source->origin();
    origin.files.insert(origin.files.end(), from.files.begin(), from.files.end());
    origin.leftOut.insert(origin.leftOut.end(), from.leftOut.begin(), from.leftOut.end());
    if (origin.format.find(from.format) == std::string::npos)
      origin.format += text(origin.format.empty() ? "" : " and ", from.format);
    tokens += source->size();
    if (readsDocuments())
      DTC_RETURN_IF_ERROR(packDocuments(source, documents, seed, sources));
    for (size_t i = 0; i < columns.size() && !readsDocuments(); ++i)
      DTC_RETURN_IF_ERROR(makeTokenSamples(source, inputs[0].shape[0],
                                           columns[i].type.input == "targets" ? 1 : 0,
                                           sources[i].emplace_back()));
    if (isMixed)
      mixture.push_back(
          {file.path, file.weight, source->size(), sources.front().back()->samples(), 0});
  }
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i].source = isMixed ? std::make_unique<JoinedSamples>(std::move(sources[i]))
                                : std::move(sources[i].front());
  return {};
}

// Positions and targets follow from tokens and documents where they have no file.
Status Batches::openDocumentFiles(const std::vector<DataFile> &files) {
  int32_t ignored = 0;
  DTC_RETURN_IF_ERROR(findIgnored(ignored));
  auto openInput = [&](const std::string &input,
                       std::shared_ptr<const SampleSource> &source) -> Status {
    for (const DataFile &file : files)
      if (file.input == input) {
        std::unique_ptr<SampleSource> opened;
        DTC_RETURN_IF_ERROR(openNpy(file.path, *findInput(input), opened));
        source = std::move(opened);
      }
    return {};
  };
  std::shared_ptr<const SampleSource> numbers;
  DTC_RETURN_IF_ERROR(openInput("documents", numbers));
  for (Column &column : columns) {
    std::optional<DocumentInput> input = documentInput(column.type.input);
    if (!input || column.source)
      continue;
    DocumentInput givenAs = *input;
    std::shared_ptr<const SampleSource> given;
    if (*input != DocumentInput::Documents)
      DTC_RETURN_IF_ERROR(openInput(column.type.input, given));
    if (!given && *input == DocumentInput::Targets) {
      DTC_RETURN_IF_ERROR(openInput("tokens", given));
      givenAs = DocumentInput::Tokens;
    }
    if (given && given->samples() != numbers->samples())
      return Status::invalidArgument(text("'", numbers->name(), "' has ",
                                          format::counted(numbers->samples(), "sample"),
                                          " for input 'documents' and '", given->name(), "' has ",
                                          given->samples(), "; all inputs want as many"));
    column.source =
        makeDocumentSamples(numbers, given, *input, givenAs, column.type.shape[0], ignored);
  }
  return {};
}

Status Batches::openFiles(const std::vector<DataFile> &files) {
  bool ofDocuments =
      readsDocuments() && std::all_of(inputs.begin(), inputs.end(), [&](const SampleType &type) {
        return !documentInput(type.input) || isTokens(type);
      });
  origin.format = "npy";
  for (const DataFile &file : files) {
    origin.files.push_back(file.path);
    auto isIts = [&](const SampleType &type) { return type.input == file.input; };
    if (std::none_of(inputs.begin(), inputs.end(), isIts))
      return Status::invalidArgument(
          text(flag(), " names '", file.input, "', which is no input; ", describeInputs()));
    for (Column &column : columns)
      if (isIts(column.type) && !(ofDocuments && documentInput(file.input)))
        DTC_RETURN_IF_ERROR(openNpy(file.path, column.type, column.source));
  }
  for (const SampleType &type : inputs)
    if (bool follows = ofDocuments && (type.input == "targets" || type.input == "positions" ||
                                       type.input == "weights");
        !follows && std::none_of(files.begin(), files.end(),
                                 [&](const DataFile &file) { return file.input == type.input; }))
      return Status::invalidArgument(
          text(flag(), " names no file for input '", type.input, "'; ", describeInputs()));
  return ofDocuments ? openDocumentFiles(files) : Status();
}

Status Batches::checkSampleCounts() const {
  const Column &first = columns.front();
  for (const Column &column : columns)
    if (column.source->samples() != first.source->samples())
      return Status::invalidArgument(
          text("'", first.source->name(), "' has ",
               format::counted(first.source->samples(), "sample"), " for input '", first.type.input,
               "' and '", column.source->name(), "' has ", column.source->samples(), " for input '",
               column.type.input, "'; all inputs want as many"));
  return {};
}

Status Batches::open(const std::string &data, const DocumentOptions &documents, uint64_t seed,
                     const Executable &executable, const Executor &executor) {
  const format::Manifest &manifest = executable.manifest();
  globalBatch = manifest.global_batch();
  sequenceLength = manifest.sequence_length();
  for (const format::Program *program : *manifest.programs())
    for (const format::Input *input : *program->inputs())
      if (SampleType type = sampleTypeOf(*input);
          std::none_of(inputs.begin(), inputs.end(),
                       [&](const SampleType &known) { return known.input == type.input; }))
        inputs.push_back(std::move(type));
  const uint32_t mine = format::RankMesh(manifest).rankAt(executor.coordinates());
  for (const format::Input *input : *executor.program().inputs()) {
    Column &column = columns.emplace_back();
    column.type = sampleTypeOf(*input);
    column.shares = 0;
    for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank) {
      if (!hasInput(*manifest.programs()->Get(manifest.rank_program()->Get(rank)),
                    column.type.input))
        continue;
      if (rank == mine)
        column.share = column.shares;
      ++column.shares;
    }
    DTC_RETURN_IF_ERROR(findPart(*input, manifest, executor.coordinates(), column.spec));
    column.values.resize(column.spec.numMicroBatches * column.spec.microBatch *
                         column.spec.elements * kSampleElementBytes);
  }
  if (columns.empty())
    return {};
  std::vector<DataFile> files;
  DTC_RETURN_IF_ERROR(parseDataFiles(flag(), data, files));
  if (documents.end && !readsDocuments())
    return Status::invalidArgument("--document-end is given, and the model reads no documents; "
                                   "compile it with --documents");
  if (files.front().input.empty())
    DTC_RETURN_IF_ERROR(openTokenColumns(files, documents, seed));
  else
    DTC_RETURN_IF_ERROR(openFiles(files));
  DTC_RETURN_IF_ERROR(checkSampleCounts());
  makeSampler(seed);
  return {};
}

void Batches::makeSampler(uint64_t seed) {
  uint64_t found = columns.front().source->samples();
  sampler = use == Use::Training ? Sampler(found, seed) : Sampler::inOrder(found);
  if (mixture.empty())
    return;
  std::vector<Sampler::Share> shares;
  for (const DataSummary::Part &part : mixture)
    shares.push_back({part.samples, part.weight});
  sampler = Sampler::mixed(shares, seed);
}

DataSummary Batches::summarise(uint64_t steps) const {
  DataSummary data;
  data.files = origin.files;
  data.leftOut = origin.leftOut;
  data.format = origin.format;
  data.sequenceLength = sequenceLength;
  if (!random)
    data.samples = samples();
  if (!random && tokens > 0)
    data.tokens = tokens;
  else if (!random && sequenceLength > 0)
    data.tokens = samples() * sequenceLength;
  data.steps = steps;
  data.globalBatch = globalBatch;
  data.packed = packed;
  data.mixture = mixture;
  for (size_t i = 0; i < mixture.size(); ++i)
    data.mixture[i].epochs =
        sampler.drawnOf(i, steps * globalBatch) / static_cast<double>(mixture[i].samples);
  return data;
}

int Batches::firstReader(const Executable &executable) {
  const format::Manifest &manifest = executable.manifest();
  for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank)
    if (manifest.programs()->Get(manifest.rank_program()->Get(rank))->inputs()->size() > 0)
      return static_cast<int>(rank);
  return -1;
}

uint64_t Batches::samplesOf(uint64_t steps) const {
  uint64_t samples = sampler.samples();
  return steps > samples / globalBatch ? samples : steps * globalBatch;
}

Status Batches::check(uint64_t steps) const {
  if (random)
    return {};
  for (const Column &column : columns) {
    // Beyond one epoch every sample is read, so all are checked, in the order of the file.
    uint64_t end = samplesOf(steps);
    bool all = end == sampler.samples();
    std::vector<std::byte> sample(column.type.elements() * kSampleElementBytes);
    for (uint64_t i = column.share; i < end; i += column.shares)
      DTC_RETURN_IF_ERROR(column.source->read(all ? i : sampler.sample(i), 0, sample));
  }
  return {};
}

Status Batches::describeSamples(const Column &column, uint64_t steps, std::string &words) const {
  const std::string &path = column.source->name();
  words = text("'", path.substr(path.find_last_of('/') + 1), "' with ",
               format::counted(column.source->samples(), "sample"));
  if (random) // its seed determines everything
    return {};
  constexpr uint64_t mostBytes = uint64_t(16) << 20;
  std::vector<std::byte> sample(column.type.elements() * kSampleElementBytes);
  // Takes global samples of the run at even distances. Their order is the order of a shuffled file.
  uint64_t end = samplesOf(steps);
  uint64_t most = std::max<uint64_t>(mostBytes / std::max<size_t>(sample.size(), 1), 2);
  uint64_t stride = std::max<uint64_t>((end + most - 1) / most, 1);
  XXH64_hash_t hash = 0;
  for (uint64_t i = 0; i < end; i += stride) {
    DTC_RETURN_IF_ERROR(column.source->read(sampler.sample(i), 0, sample));
    hash = XXH3_64bits_withSeed(sample.data(), sample.size(), hash);
  }
  char digits[20];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  words += text(" (hash of ", end < most ? "all" : "some", " that are read: ", digits, ")");
  return {};
}

Status Batches::traits(uint64_t steps, std::vector<Trait> &traits) const {
  for (const SampleType &type : inputs) {
    const std::string &input = type.input;
    const char *what = use == Use::Training ? "data" : "evaluation data";
    Trait &trait = traits.emplace_back(Trait{text(what, " for input '", input, "':"), {}, {}});
    for (const Column &column : columns)
      if (column.type.input == input)
        DTC_RETURN_IF_ERROR(describeSamples(column, steps, trait.value));
  }
  Trait &count = traits.emplace_back(Trait{text("number of samples of ", flag()), {}, {}});
  if (!columns.empty() && !random)
    count.value = text(samples());
  return {};
}

bool Batches::leavesOut(const Executable &executable) {
  std::set<std::string_view> ignoring;
  for (const format::Program *program : *executable.manifest().programs())
    for (const format::Input *input : *program->inputs())
      if (input->ignored())
        ignoring.insert(input->name()->string_view());
  return ignoring.size() == 1;
}

Status Batches::load(uint64_t step, Executor &executor) {
  for (Column &column : columns) {
    DTC_RETURN_IF_ERROR(fillBatch(*column.source, sampler, step, column.spec, column.values));
    DTC_RETURN_IF_ERROR(executor.writeInput(column.type.input, column.values));
  }
  return {};
}

} // namespace dtc::rt
