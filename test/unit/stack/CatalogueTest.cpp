// Checks that the stacks of the catalogue and of the bench can be read, and that each figure has a
// source.
#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/StackFields.h"
#include "compiler/describe/stack/StackFile.h"
#include "compiler/support/File.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <set>

using namespace dtc;

namespace {

std::vector<std::string> filesOf(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(DTC_SOURCE_DIR "/" + folder, code), end; it != end;
       it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".toml"))
      files.push_back(it->path());
  EXPECT_FALSE(files.empty()) << folder;
  return files;
}

std::vector<std::string> allFiles() {
  std::vector<std::string> files = filesOf("stacks");
  for (const std::string &file : filesOf("bench/planner/stacks"))
    files.push_back(file);
  return files;
}

bool namesASource(llvm::StringRef comment) {
  for (llvm::StringRef word : {"[code]", "[doc]", "[fit]", "[measured]", "[assumed]"})
    if (comment.contains(word))
      return true;
  return false;
}

} // namespace

TEST(StackCatalogue, HasTheFilesOfTheFolder) {
  std::set<std::string> names;
  for (const std::string &file : filesOf("stacks"))
    names.insert(llvm::StringRef(file).rsplit('/').second.drop_back(5).str());
  std::vector<std::string> listed = stackNames();
  EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), names);
}

TEST(StackCatalogue, NamesAreThoseOfTheFiles) {
  for (const std::string &file : allFiles()) {
    Result<SoftwareStack> stack = loadStack(file);
    ASSERT_TRUE(stack.ok()) << stack.error().text();
    EXPECT_EQ(stack->name + ".toml", llvm::StringRef(file).rsplit('/').second.str());
    EXPECT_NE(stack->description, "") << file;
  }
}

// The source is on the line of the figure or in the comment directly above it, and for [space]
// above the table.
TEST(StackCatalogue, EachFigureSaysItsSource) {
  for (const std::string &file : allFiles()) {
    Result<std::string> text = readFile(file);
    ASSERT_TRUE(text.ok());
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(*text).split(lines, '\n');
    bool inTable = false, isSourced = false;
    std::string above;
    for (llvm::StringRef line : lines) {
      if (line.starts_with("[")) {
        inTable = true;
        isSourced = line == "[space]" && namesASource(above);
      }
      if (line.starts_with("#")) {
        above += line.str();
        continue;
      }
      if (inTable && line.contains('=')) {
        EXPECT_TRUE(isSourced || namesASource(line.split('#').second) || namesASource(above))
            << file << ": " << line.str();
      }
      above.clear();
    }
  }
}

// Each key is once in the tables, as in "dtc stack show".
TEST(StackCatalogue, KeysAreInOneTableEach) {
  std::set<std::string> keys;
  size_t count = 0;
  for (llvm::StringRef table : stackTables())
    for (llvm::StringRef key : keysOf(table)) {
      keys.insert(key.str());
      ++count;
    }
  EXPECT_EQ(keys.size(), count);
  EXPECT_EQ(count,
            stackFlags().size() + stackFigures().size() + spaceFlags().size() + spaceSets().size());
}

TEST(LoadStackFor, TakesTheStackOfTheDevice) {
  DeviceKind cpu, gpu;
  cpu.deviceClass = DeviceClass::Cpu;
  gpu.deviceClass = DeviceClass::Gpu;
  EXPECT_EQ(loadStackFor(kOwnStack, cpu)->name, "dtc");
  EXPECT_EQ(loadStackFor(kOwnStack, gpu)->name, "dtc-gpu");
  EXPECT_EQ(loadStackFor("dtc-gpu", cpu)->name, "dtc-gpu");
  EXPECT_EQ(loadStackFor("megatron-core", gpu)->name, "megatron-core");
}

// The stack that replaces dtc on GPUs applies to dtc alone, not to stacks that extend it.
TEST(LoadStackFor, InheritsNoStackOfGpus) {
  Result<SoftwareStack> mine = parseStack("name = \"mine\"\nextends = \"dtc\"\n", "mine.toml");
  ASSERT_TRUE(mine.ok()) << mine.error().text();
  EXPECT_EQ(mine->onGpu, "");
}

// Its kernels have measured figures, and the rest follows from the code. Nothing is known about
// collectives yet.
TEST(StackCatalogue, DtcOnGpusHasItsOwnKernelsAndHidesNoTensorCollectives) {
  SoftwareStack own = *loadStack("dtc-gpu"), core = *loadStack("megatron-core");
  EXPECT_GT(own.sustained, 0.95);
  EXPECT_EQ(core.sustained, 0); // the device's constants apply
  EXPECT_TRUE(own.replaysGraphs && own.productEpilogues && own.partsInPlace && own.skipsUnread);
  EXPECT_FALSE(core.replaysGraphs || core.productEpilogues || core.partsInPlace ||
               core.skipsUnread);
  EXPECT_EQ(own.hostSecondsPerLayer, 0);
  EXPECT_EQ(own.dpHidden, core.dpHidden);
  EXPECT_GT(core.tpHidden, 0);
  EXPECT_EQ(own.tpHidden, 0);
  EXPECT_EQ(own.reservedBytes, 1.7e9);
  EXPECT_EQ(core.reservedBytes, 2.9e9);
  EXPECT_TRUE(own.choosesBuckets && own.runsPrograms && own.searchesPlacements);
  // Its space is dtc's, not that of the stack from which it takes the kernels.
  SoftwareStack dtc = *loadStack("dtc");
  for (const SpaceFlag &flag : spaceFlags())
    EXPECT_EQ(own.space.*flag.member, dtc.space.*flag.member) << flag.key.str();
  for (const SpaceSet &set : spaceSets())
    EXPECT_EQ(own.space.*set.member, dtc.space.*set.member) << set.key.str();
  EXPECT_FALSE(core.choosesBuckets || core.runsPrograms || core.searchesPlacements);
}
