// Checks all bytes of a checkpoint.
#include "runtime/checkpoint/Verify.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/SafetensorsRead.h"

namespace dtc::rt {
namespace {

using format::text;

struct Piece {
  const CheckpointTensor *tensor;
  const CheckpointPiece *piece;
};

// Reads a shard as any reader of safetensors does: each piece has to be there under its name, at
// its place, and nothing else.
void compareWithManifest(const std::string &path, const std::vector<Piece> &pieces,
                         std::vector<std::string> &problems) {
  SafetensorsFile file;
  if (Status status = file.open(path); !status.ok()) {
    problems.push_back(status.message());
    return;
  }
  for (auto [tensor, piece] : pieces) {
    std::string name = entryName(*tensor, *piece);
    const SafetensorsEntry *entry = file.find(name);
    if (!entry)
      problems.push_back(text("'", path, "' has no tensor '", name,
                              "', which the manifest has at byte ", piece->offset));
    else if (entry->dtype != tensor->dtype || entry->shape != piece->box.extent ||
             file.dataBegin() + entry->begin != piece->offset)
      problems.push_back(text("'", path, "' has tensor '", name, "' as ", entry->dtype, " at byte ",
                              file.dataBegin() + entry->begin, ", the manifest as ", tensor->dtype,
                              " at byte ", piece->offset, ", or in another shape"));
  }
  if (file.entries().size() > pieces.size())
    problems.push_back(text("'", path, "' has ", file.entries().size(),
                            " tensors, of which the manifest has ", pieces.size()));
}

} // namespace

void verifyCheckpoint(const std::string &folder, CheckpointReader &reader,
                      std::vector<std::string> &problems, const TrustedKeys *trusted) {
  problems.clear();
  if (Status status = reader.open(folder, trusted); !status.ok()) {
    problems.push_back(status.message());
    return;
  }
  const CheckpointManifest &manifest = reader.manifest();
  std::vector<std::vector<Piece>> pieces(manifest.shards.size());
  for (const CheckpointTensor &tensor : manifest.tensors)
    for (const CheckpointPiece &piece : tensor.pieces)
      pieces[piece.shard].push_back({&tensor, &piece});
  std::vector<uint8_t> bytes;
  for (size_t shard = 0; shard < pieces.size(); ++shard) {
    size_t before = problems.size();
    for (uint64_t block = 0; block < manifest.shards[shard].hashes.size(); ++block)
      if (Status status = reader.readBlock(shard, block, bytes); !status.ok())
        problems.push_back(status.message());
    if (problems.size() == before)
      compareWithManifest(text(folder, "/", shardFile(shard)), pieces[shard], problems);
  }
}

} // namespace dtc::rt
