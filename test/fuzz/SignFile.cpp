// dtc-sign FILE.dte | FOLDER: sets the hashes of an executable, or the marker of a checkpoint (a
// folder step-N) for its current manifest. Tests use it to reach the checks behind hashes.
#include "runtime/checkpoint/Folder.h"
#include "test/fuzz/MutateProgram.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <vector>

static std::string read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dtc-sign FILE.dte | FOLDER\n");
    return 2;
  }
  std::string path = argv[1];
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    std::string marker = dtc::rt::markerOf(read(path + "/" + dtc::rt::kManifestFile));
    std::ofstream(path + "/" + dtc::rt::kMarkerFile, std::ios::binary) << marker;
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
