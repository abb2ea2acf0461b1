// The folder that the checkpoints of a run lie in.
//
// A checkpoint is made in DIR/.writing-N, synced, and renamed to DIR/step-N: whatever ends the
// process, step-N is there whole or not at all. One that goes is renamed to DIR/.removing-N before.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

inline constexpr const char *kManifestFile = "manifest.json", *kMarkerFile = "COMPLETE";

// What COMPLETE holds beside that manifest.
std::string markerOf(std::string_view manifest);

class CheckpointFolder {
public:
  CheckpointFolder() = default;
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  // Makes the folder where it is not there, and takes it for this process, as one run writes to a
  // folder at a time; what an earlier run left half-made is removed.
  Status openForWriting(const std::string &path);

  // Returns the error that openForWriting() would, and changes nothing.
  static Status checkWritable(const std::string &path);

  // The steps of the checkpoints there, good or not, newest first; none where there is no folder.
  static Status steps(const std::string &path, std::vector<uint64_t> &steps);
  // DIR/step-N
  static std::string stepPath(const std::string &path, uint64_t step);
  // Where the shards of step N are written.
  static std::string writingPath(const std::string &path, uint64_t step);

  // Makes the folder that shards are written to.
  Status begin(uint64_t step);
  // All shards are there and durable: adds manifest and marker, and gives the checkpoint its name. An
  // older one of that name goes.
  Status commit(uint64_t step, const std::string &manifest);
  // Removes what begin() made.
  void discard(uint64_t step);
  // Removes the checkpoints of steps before `newest` but for the last `keep` - 1 that have a marker,
  // and those with one whose step is a multiple of `every`, where that is not 0.
  Status prune(uint64_t newest, uint64_t keep, uint64_t every = 0);
  // Removes the checkpoints of later steps.
  Status removeAfter(uint64_t step);

private:
  Status remove(uint64_t step);

  std::string path;
  int lock = -1;
};

} // namespace dtc::rt
