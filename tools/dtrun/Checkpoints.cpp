#include "tools/dtrun/Checkpoints.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"
#include "runtime/format/Operands.h"
#include "runtime/format/RankMesh.h"
#include "runtime/trust/Digest.h"
#include "tools/dtrun/StopSignal.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sys/stat.h>

namespace dtc::rt {

using format::text;

namespace {

class Timer {
public:
  explicit Timer(double &sum) : sum(sum) {}
  ~Timer() {
    sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

private:
  double &sum;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

} // namespace

// Lists parameters and state of all programs. Tensors of one name are one tensor: the loader has
// checked that all programs describe it in the same way.
Status Checkpoints::readSources() {
  const format::Manifest &manifest = executable->manifest();
  const auto &rankProgram = *manifest.rank_program();
  std::vector<std::vector<uint32_t>> ranksOf(manifest.programs()->size());
  for (uint32_t rank = 0; rank < rankProgram.size(); ++rank)
    ranksOf[rankProgram.Get(rank)].push_back(rank);
  std::map<std::string, size_t> known;
  for (uint32_t p = 0; p < ranksOf.size(); ++p) {
    const format::Program &of = *manifest.programs()->Get(p);
    bool isMine = &of == &executor->program();
    auto add = [&](const format::Tensor &tensor, bool isParameter) {
      auto [entry, isNew] = known.try_emplace(tensor.name()->str(), sources.size());
      if (isNew) {
        sources.push_back(
            {tensorSpec(tensor), isParameter, tensor.copy_of() ? tensor.copy_of()->str() : ""});
        held.push_back(nullptr);
      }
      if (isMine)
        held[entry->second] = &tensor;
      std::vector<uint32_t> &holders = sources[entry->second].spec.holders;
      holders.insert(holders.end(), ranksOf[p].begin(), ranksOf[p].end());
    };
    for (const format::Tensor *tensor : *of.parameters())
      add(*tensor, true);
    for (uint32_t i = 0; i < format::sizeOf(of.optimizer_state()); ++i)
      add(*of.optimizer_state()->Get(i), false);
  }
  for (CheckpointSource &source : sources) {
    std::sort(source.spec.holders.begin(), source.spec.holders.end());
    if (source.spec.holders.size() == rankProgram.size())
      source.spec.holders.clear();
  }
  format::RankMesh mesh(manifest);
  DTC_RETURN_IF_ERROR(layOut(sources, mesh, layout));
  for (size_t i = 0; i < layout.shards.size(); ++i)
    if (layout.shards[i].rank == world->rank()) {
      mine = &layout.shards[i];
      shardNumber = i;
    }
  return {};
}

// If a new run wrote among the checkpoints of another one, they would later be taken for its own.
Status Checkpoints::refuseOldOnes() const {
  std::vector<uint64_t> steps;
  DTC_RETURN_IF_ERROR(CheckpointFolder::steps(options->checkpointDir, steps));
  if (options->resume || steps.empty())
    return {};
  return Status::invalidArgument(text("--checkpoint-dir '", options->checkpointDir,
                                      "' has checkpoints of a run up to step ", steps.front(),
                                      "; add --resume to go on with it, or name another folder"));
}

Status Checkpoints::openFolder() {
  if (world->rank() != 0)
    return {};
  DTC_RETURN_IF_ERROR(options->dryRun ? CheckpointFolder::checkWritable(options->checkpointDir)
                                      : folder.openForWriting(options->checkpointDir));
  return refuseOldOnes();
}

Status Checkpoints::readKeys() {
  if (!options->trust.empty())
    DTC_RETURN_IF_ERROR(trusted.load(options->trust));
  if (options->signKey.empty())
    return {};
  DTC_RETURN_IF_ERROR(loadSecretKey(options->signKey, /*passwordFile=*/"", signKey));
  if (options->trust.empty() || trusted.has(signKey.publicKey()))
    return {};
  return Status::invalidArgument(text("'", options->trust, "' does not have the key ",
                                      nameOf(signKey.number), " of --sign-key '", options->signKey,
                                      "', so the run could not go on from its own checkpoints; add "
                                      "its public key"));
}

Status Checkpoints::open(const Options &given, const Executable &of, Control &control,
                         Executor &runs, Device &on, uint64_t numSamples, float baseRate) {
  options = &given;
  executable = &of;
  world = &control;
  executor = &runs;
  device = &on;
  rate = baseRate;
  if (!isOn())
    return {};
  // A rank that reads no input has a sample count of one.
  auto most = static_cast<int64_t>(std::min<uint64_t>(numSamples, INT64_MAX));
  DTC_RETURN_IF_ERROR(world->largest({&most, 1}));
  samples = static_cast<uint64_t>(most);
  program = hashOf(std::as_bytes(executable->bytes()));
  DTC_RETURN_IF_ERROR(agree(*world, envSeconds(EnvVar::CheckpointTimeout, mostWait)));
  DTC_RETURN_IF_ERROR(agree(*world, readKeys()));
  DTC_RETURN_IF_ERROR(agree(*world, openFolder()));
  DTC_RETURN_IF_ERROR(agree(*world, readSources()));
  // Allocates before the first step, so that later no step waits for memory or finds none.
  std::span<std::byte> staged;
  DTC_RETURN_IF_ERROR(agree(*world, mine ? writer.stage(mine->bytes, staged) : Status()));
  takeStopSignals();
  return {};
}

bool Checkpoints::isDue(uint64_t step) const {
  return step == options->steps ||
         (options->checkpointEvery > 0 && step % options->checkpointEvery == 0);
}

double Checkpoints::takeStall() { return std::exchange(stall, 0); }

// Tells all ranks whether any of them got a signal, and whether all have finished writing.
Status Checkpoints::agreeOnEnd(bool &stops, bool &allDone) {
  int64_t raised[2] = {stopIsWanted(), !isDone()};
  DTC_RETURN_IF_ERROR(world->largest(raised));
  stops = raised[0] != 0;
  allDone = raised[1] == 0;
  return {};
}

// Waits until no checkpoint is being written.
Status Checkpoints::waitForWriters(bool forEver) {
  auto begin = std::chrono::steady_clock::now();
  bool stops = false, allDone = false, hasReported = false;
  while (underWay) {
    // Ranks meet often, so that a slow disk is not taken for a dead rank.
    (void)writer.waitFor(0.5);
    (void)committer.waitFor(0.5);
    DTC_RETURN_IF_ERROR(agreeOnEnd(stops, allDone));
    if (allDone) {
      DTC_RETURN_IF_ERROR(advance());
      continue;
    }
    double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    int64_t patience = waited < mostWait; // the clock of rank 0 decides
    DTC_RETURN_IF_ERROR(world->broadcast(&patience, 1, DataType::I64, 0));
    if (!forEver && !patience)
      return {};
    if (!patience && !std::exchange(hasReported, true) && world->rank() == 0)
      std::fprintf(stderr, "dtrun: still writing the checkpoint of step %llu to '%s'\n",
                   static_cast<unsigned long long>(underWay->step), options->checkpointDir.c_str());
  }
  return {};
}

Status Checkpoints::afterStep(const Progress &progress, bool &stops) {
  stops = false;
  if (!isOn())
    return {};
  bool allDone = true;
  DTC_RETURN_IF_ERROR(agreeOnEnd(stops, allDone));
  if (progress.step == options->steps)
    stops = false; // the run ends anyway
  bool isLast = stops || progress.step == options->steps;
  bool isWanted = isLast || isDue(progress.step);
  if (!isWanted && !(underWay && allDone))
    return {};
  Timer timer(stall);
  if (underWay && allDone)
    DTC_RETURN_IF_ERROR(advance());
  if (!isWanted)
    return {};
  DTC_RETURN_IF_ERROR(waitForWriters(isLast));
  if (!underWay) {
    endsRun = isLast;
    return save(progress);
  }
  if (world->rank() == 0)
    std::fprintf(stderr,
                 "dtrun: step %llu takes no checkpoint, as that of step %llu is still being "
                 "written\n",
                 static_cast<unsigned long long>(progress.step),
                 static_cast<unsigned long long>(underWay->step));
  return {};
}

Status Checkpoints::finish() {
  DTC_RETURN_IF_ERROR(waitForWriters(true));
  return last.ok() ? last
                   : Status(last.statusCode(),
                            text("the last checkpoint was not written: ", last.message()));
}

void Checkpoints::explainFailure(const Status &status) {
  if (world->rank() != 0)
    return;
  folder.discard(underWay->step);
  std::fprintf(stderr, "dtrun: no checkpoint of step %llu: %s%s\n",
               static_cast<unsigned long long>(underWay->step), status.message().c_str(),
               endsRun ? "" : "; training goes on, and the next one is tried");
}

// Training waits only for the copies. The writer does the rest.
Status Checkpoints::save(const Progress &progress) {
  underWay = progress;
  // Rank 0 writes the skipped steps, but its own program may not report them.
  int64_t skips[2] = {static_cast<int64_t>(progress.skippedSteps),
                      static_cast<int64_t>(progress.skippedRow)};
  DTC_RETURN_IF_ERROR(world->largest(skips));
  underWay->skippedSteps = static_cast<uint64_t>(skips[0]);
  underWay->skippedRow = static_cast<uint64_t>(skips[1]);
  Status status = agree(*world, world->rank() == 0 ? folder.begin(progress.step) : Status());
  if (status.ok())
    status = agree(*world, mine ? stageShard() : Status());
  if (status.statusCode() == StatusCode::Aborted)
    return status;
  if (!status.ok()) {
    conclude(status);
    return {};
  }
  if (mine)
    writer.start(text(CheckpointFolder::writingPath(options->checkpointDir, progress.step), "/",
                      shardFile(shardNumber)),
                 !options->signKey.empty());
  return {};
}

Status Checkpoints::stageShard() {
  std::span<std::byte> file;
  DTC_RETURN_IF_ERROR(writer.stage(mine->bytes, file));
  std::copy_n(reinterpret_cast<const std::byte *>(mine->header.data()), mine->header.size(),
              file.begin());
  for (const OwnedPiece &piece : mine->pieces)
    DTC_RETURN_IF_ERROR(copyPiece(piece, file));
  return {};
}

Status Checkpoints::copyPiece(const OwnedPiece &piece, std::span<std::byte> file) {
  const format::Tensor &tensor = *held[piece.source];
  const std::vector<uint64_t> &localShape = sources[piece.source].spec.localShape;
  const char *address = executor->address(tensor.buffer());
  uint64_t width = format::bytesOf(tensor.dtype());
  std::span<std::byte> target = file.subspan(piece.offset, elementCount(piece.extent) * width);
  if (piece.extent == localShape)
    return device->copyOut(target.data(), address, target.size());
  std::vector<std::byte> local(elementCount(localShape) * width);
  DTC_RETURN_IF_ERROR(device->copyOut(local.data(), address, local.size()));
  forEachRun(piece.extent, {localShape, piece.local},
             {piece.extent, std::vector<uint64_t>(piece.extent.size())},
             [&](uint64_t from, uint64_t to, uint64_t length) {
               std::copy_n(local.begin() + static_cast<ptrdiff_t>(from * width), length * width,
                           target.begin() + static_cast<ptrdiff_t>(to * width));
             });
  return {};
}

// Takes the next step after all ranks have finished one: the manifest follows the shards, and the
// end follows the manifest.
Status Checkpoints::advance() {
  std::vector<std::string> own;
  Status mineDone = isCommitting ? committer.finish() : mine ? writer.finish(own) : Status();
  Status status = agree(*world, mineDone);
  if (status.statusCode() == StatusCode::Aborted)
    return status;
  if (isCommitting || !status.ok()) {
    conclude(status);
    return {};
  }
  DTC_RETURN_IF_ERROR(gatherHashes(own));
  isCommitting = true;
  if (world->rank() == 0)
    committer.start([this] { return commit(); });
  return {};
}

void Checkpoints::conclude(const Status &status) {
  last = status;
  if (!status.ok())
    explainFailure(status);
  else if (underWay)
    saved = CheckpointFolder::stepPath(options->checkpointDir, underWay->step);
  underWay.reset();
  isCommitting = false;
}

Status Checkpoints::gatherHashes(const std::vector<std::string> &own) {
  hashes.assign(layout.shards.size(), {});
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    int owner = layout.shards[i].rank;
    if (owner == 0 && world->rank() == 0)
      hashes[i] = own;
    if (owner == 0 || (world->rank() != 0 && world->rank() != owner))
      continue;
    size_t digits = kHashDigits + (options->signKey.empty() ? 0 : kDigestDigits);
    size_t blocks = (layout.shards[i].bytes + kCheckpointBlock - 1) / kCheckpointBlock;
    std::string all;
    for (const std::string &hash : own)
      all += world->rank() == owner ? hash : "";
    all.resize(blocks * digits);
    if (world->rank() == owner) {
      DTC_RETURN_IF_ERROR(world->send(all.data(), all.size(), DataType::U8, 0));
      continue;
    }
    DTC_RETURN_IF_ERROR(world->receive(all.data(), all.size(), DataType::U8, owner));
    for (size_t block = 0; block < blocks; ++block)
      hashes[i].push_back(all.substr(block * digits, digits));
  }
  return {};
}

std::string Checkpoints::manifestOf() const {
  const format::Manifest &manifest = executable->manifest();
  CheckpointManifest contents;
  contents.producer = kVersion;
  contents.model = manifest.model_name() ? manifest.model_name()->str() : "";
  contents.program = program;
  contents.config = manifest.config() ? manifest.config()->str() : "";
  contents.run = {.step = underWay->step,
                  .totalSteps = options->steps,
                  .seed = options->seed,
                  .baseLearningRate = rate,
                  .globalBatch = manifest.global_batch(),
                  .skippedBatches = underWay->skippedBatches,
                  .sequenceLength = manifest.sequence_length(),
                  .samples = samples,
                  .skippedSteps = underWay->skippedSteps,
                  .skippedRow = underWay->skippedRow,
                  .meanLoss = underWay->meanLoss.value,
                  .meanLossSteps = underWay->meanLoss.steps,
                  .lossScale = underWay->lossScale,
                  .spent = {}};
  for (size_t i = 0; i < numSpent; ++i)
    contents.run.spent.emplace_back(nameOf(static_cast<Spent>(i)), underWay->spent[i]);
  for (const format::Axis *axis : *manifest.mesh())
    contents.mesh.emplace_back(axis->name()->str(), axis->size());
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    CheckpointShard &shard = contents.shards.emplace_back();
    shard.bytes = layout.shards[i].bytes;
    for (const std::string &hash : hashes[i])
      shard.hashes.push_back(hash.substr(0, kHashDigits));
  }
  contents.tensors = layout.tensors;
  return toJson(contents);
}

SignedDigests Checkpoints::digestsOf(std::string_view manifest) const {
  SignedDigests digests{digestOf(std::as_bytes(std::span(manifest))), {}};
  for (const std::vector<std::string> &shard : hashes) {
    std::vector<std::string> &blocks = digests.shards.emplace_back();
    for (const std::string &hash : shard)
      blocks.push_back(hash.substr(kHashDigits));
  }
  return digests;
}

Status Checkpoints::commit() {
  std::string writing = CheckpointFolder::writingPath(options->checkpointDir, underWay->step);
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    std::string file = text(writing, "/", shardFile(i));
    struct stat info;
    if (::stat(file.c_str(), &info) != 0 ||
        static_cast<uint64_t>(info.st_size) != layout.shards[i].bytes)
      return Status::invalidArgument(
          text("rank 0 does not see '", file, "', which rank ", layout.shards[i].rank,
               " wrote; --checkpoint-dir wants a folder that all hosts share"));
  }
  std::string manifest = manifestOf();
  if (!options->signKey.empty())
    DTC_RETURN_IF_ERROR(writeSignedDigests(writing, digestsOf(manifest), signKey));
  DTC_RETURN_IF_ERROR(folder.commit(underWay->step, manifest));
  // The checkpoint is complete, even if an older one cannot be removed.
  if (Status pruned = folder.prune(underWay->step, options->keep, options->keepEvery); !pruned.ok())
    std::fprintf(stderr, "dtrun: %s\n", pruned.message().c_str());
  return {};
}

} // namespace dtc::rt
