// A folder of one test, and files of binary values in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace dtc::rt {

// A test with a folder of its own, which is removed afterwards.
class TempFolder : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dtc-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf '" + folder + "'").c_str()), 0); }
  std::string path(const std::string &name) const { return folder + "/" + name; }

  void writeFile(const std::string &name, const std::string &bytes) const {
    ::unlink(path(name).c_str()); // rewriting in place is slow on ext4
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string readFile(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder;
};

// Returns the bytes of `values` as T, one after the other.
template <typename T> std::string bytesOfValues(const std::vector<int64_t> &values) {
  std::string out;
  for (int64_t value : values) {
    T narrow = static_cast<T>(value);
    out.append(reinterpret_cast<const char *>(&narrow), sizeof(narrow));
  }
  return out;
}

} // namespace dtc::rt
