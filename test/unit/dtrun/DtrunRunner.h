// Starts dtrun as a user does, in a folder with the sample program for one rank (s1.dte) and two.
#pragma once

#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>

namespace dtc::test {

// The result of a command.
struct Result {
  int exitCode = -1;
  std::string output; // stdout and stderr
};

// A test with a folder of its own, which has the sample programs.
class DtrunTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "dtrun-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    std::vector<uint8_t> object = readBytes(DTC_SAMPLE_KERNELS);
    for (uint32_t ranks : {1u, 2u})
      ASSERT_TRUE(writeBytes(path("s" + std::to_string(ranks) + ".dte"),
                             sampleProgram(ranks, object).file())
                      .ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }

  // Writes the sample program with an entry for evaluation. The entry runs the training step,
  // because these tests do not depend on what it computes.
  void writeProgramThatEvaluates(const std::string &name, uint32_t ranks) const {
    ProgramBuilder builder = sampleProgram(ranks, readBytes(DTC_SAMPLE_KERNELS));
    auto entry = std::make_unique<format::EntryT>(*builder.program().entries[0]);
    entry->kind = format::EntryKind::evaluate;
    builder.program().entries.push_back(std::move(entry));
    ASSERT_TRUE(writeBytes(path(name), builder.file()).ok());
  }

  // Writes `samples` of 4 tokens from 0 to 15, as bytes.
  void writeSamples(const std::string &name, size_t samples) const {
    std::string tokens;
    for (size_t i = 0; i < samples * 4; ++i)
      tokens += static_cast<char>(i * 7 % 16);
    writeSamples(name, tokens);
  }
  // Writes samples of these tokens, 4 each.
  void writeSamples(const std::string &name, const std::string &tokens) const {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                         std::to_string(tokens.size() / 4) + ", 4)}\n";
    std::ofstream file(path(name), std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0'
         << header << tokens;
  }

  // Runs dtrun with `arguments` in the test's folder.
  Result run(const std::string &arguments) const { return shell("$DTRUN " + arguments); }

  // Runs a command of bash in which $DTRUN is the program. Returns its stdout and stderr.
  Result shell(const std::string &text) const {
    std::ofstream(path("command.sh"))
        << "exec 2>&1; cd " << folder << "; DTRUN=" << DTC_DTRUN << "\n"
        << text << "\n";
    std::string command = "bash " + path("command.sh");
    Result result;
    std::FILE *pipe = ::popen(command.c_str(), "r");
    if (!pipe)
      return result;
    char block[4096];
    for (size_t count; (count = std::fread(block, 1, sizeof(block), pipe)) > 0;)
      result.output.append(block, count);
    int status = ::pclose(pipe);
    result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return result;
  }

  std::string folder;
};

// Returns true if there is an mpirun. Ranks as threads of one process would hide errors, so tests
// of several ranks need it.
inline bool hasMpirun() { return std::system("mpirun --version > /dev/null 2>&1") == 0; }

// Returns the number of lines in a text.
inline size_t linesOf(const std::string &text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace dtc::test
