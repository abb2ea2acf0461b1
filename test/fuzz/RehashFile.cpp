// dtc-rehash FILE.dte | FOLDER [--shards]: sets the hashes of an executable, or the marker of a
// checkpoint (a folder step-N) for its current manifest, with --shards for its current shards, too.
// Tests use it to reach the checks behind hashes.
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ManifestRead.h"
#include "test/fuzz/MutateProgram.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

static std::string read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

static void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

static void rehashCheckpoint(const std::string &folder, bool ofShards) {
  std::string path = folder + "/" + dtc::rt::kManifestFile, words = read(path);
  dtc::rt::CheckpointManifest manifest;
  if (ofShards && dtc::rt::parseManifest(path, words, manifest).ok()) {
    for (size_t i = 0; i < manifest.shards.size(); ++i) {
      std::string shard = read(folder + "/" + dtc::rt::shardFile(i));
      auto bytes = std::as_bytes(std::span(shard));
      manifest.shards[i].hashes.clear();
      for (size_t at = 0; at < bytes.size(); at += dtc::rt::kCheckpointBlock)
        manifest.shards[i].hashes.push_back(dtc::rt::hashOf(
            bytes.subspan(at, std::min<size_t>(bytes.size() - at, dtc::rt::kCheckpointBlock))));
    }
    words = toJson(manifest);
    write(path, words);
  }
  write(folder + "/" + dtc::rt::kMarkerFile, dtc::rt::markerOf(words));
}

int main(int argc, char **argv) {
  bool ofShards = argc == 3 && std::string_view(argv[2]) == "--shards";
  if (argc != 2 && !ofShards) {
    std::fprintf(stderr, "usage: dtc-rehash FILE.dte | FOLDER [--shards]\n");
    return 2;
  }
  std::string path = argv[1];
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    rehashCheckpoint(path, ofShards);
    return 0;
  }
  std::string text = read(path);
  std::vector<uint8_t> file(text.begin(), text.end());
  dtc::fuzz::sign(file);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()),
             static_cast<std::streamsize>(file.size()));
  return 0;
}
