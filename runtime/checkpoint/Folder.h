// The folder of a run's checkpoints.
//
// A checkpoint is made in DIR/.writing-N, synced, and renamed to DIR/step-N: whatever ends the
// process, step-N is there whole or not at all. A checkpoint is renamed to DIR/.removing-N before
// it is removed.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtc::rt {

inline constexpr const char *kManifestFile = "manifest.json", *kMarkerFile = "COMPLETE";

// Returns the content of COMPLETE for a manifest.
std::string markerOf(std::string_view manifest);

// Makes, lists and removes the checkpoints of a folder.
class CheckpointFolder {
public:
  CheckpointFolder() = default;
  // Removes the folder if openForWriting() has made it and it is empty: a run that ends before its
  // first checkpoint leaves nothing behind.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  // Makes the folder if it does not exist, and locks it for this process, as one run writes to a
  // folder at a time. Removes the unfinished checkpoints of earlier runs.
  Status openForWriting(const std::string &path);

  // Returns the error that openForWriting() would, and changes nothing.
  static Status checkWritable(const std::string &path);

  // Lists the steps of all checkpoints, good or not, newest first; none if there is no folder.
  static Status steps(const std::string &path, std::vector<uint64_t> &steps);
  // Returns DIR/step-N.
  static std::string stepPath(const std::string &path, uint64_t step);
  // Returns the folder in which the shards of step N are written.
  static std::string writingPath(const std::string &path, uint64_t step);

  // Makes the folder that shards are written to.
  Status begin(uint64_t step);
  // Completes a checkpoint whose shards are all there and durable: adds manifest and marker, and
  // gives it its name. Replaces an older one of that name.
  Status commit(uint64_t step, const std::string &manifest);
  // Removes the folder that begin() made.
  void discard(uint64_t step);
  // Removes checkpoints before step `newest`. Keeps the last `keep` - 1 that have a marker, and
  // those with a marker whose step is a multiple of `every`, if that is not 0.
  Status prune(uint64_t newest, uint64_t keep, uint64_t every = 0);
  // Removes the checkpoints of later steps.
  Status removeAfter(uint64_t step);

private:
  Status remove(uint64_t step);

  std::string path;
  int lock = -1;
  bool isMade = false; // by this process
};

} // namespace dtc::rt
