#include "compiler/price/uncertainty/ErrorTable.h"
#include "compiler/support/File.h"

#include <gtest/gtest.h>

#include <set>

using namespace dtc;

namespace {

ClassErrors named(const std::string &stack, const std::string &device,
                  std::optional<ModelKind> kind) {
  ClassErrors errors;
  errors.stack = stack;
  errors.device = device;
  errors.kind = kind;
  return errors;
}

std::string nameOf(const ClassErrors &errors) {
  std::string kind = !errors.kind ? "both" : *errors.kind == ModelKind::Dense ? "dense" : "experts";
  return errors.stack + "|" + errors.device + "|" + kind;
}

const std::vector<ClassErrors> &exampleTable() {
  static const std::vector<ClassErrors> table = {
      named("", "", std::nullopt),
      named("", "", ModelKind::Dense),
      named("core", "", ModelKind::Dense),
      named("core", "H100", ModelKind::Dense),
      named("core", "H100", ModelKind::Mixture),
      named("bridge", "", ModelKind::Dense),
      named("bridge", "B200", ModelKind::Dense),
  };
  return table;
}

std::string foundFor(std::vector<std::string> stacks, const std::string &device, ModelKind kind) {
  return nameOf(errorsOf(exampleTable(), {std::move(stacks), device, kind}));
}

std::string lines(const std::string &row) { return errorTableHeader() + "\n" + row + "\n"; }
const std::string kRow = ",,,10,8,H100,-0.1,0.2,0.05,1,2,3,4,5,6,7,8,9,10,11,12,13";

std::string messageOf(const std::string &text) {
  Result<std::vector<ClassErrors>> table = parseErrorTable(text);
  return table.ok() ? "" : table.error().text();
}

} // namespace

TEST(ErrorsOf, TakesTheNearestClassThatHasErrors) {
  EXPECT_EQ(foundFor({"bridge", "core"}, "B200", ModelKind::Dense), "bridge|B200|dense");
  // The stack itself on any device is preferred to a stack that it extends on the same device.
  EXPECT_EQ(foundFor({"bridge", "core"}, "H100", ModelKind::Dense), "bridge||dense");
  EXPECT_EQ(foundFor({"own", "core"}, "H100", ModelKind::Dense), "core|H100|dense");
  EXPECT_EQ(foundFor({"own", "core"}, "L4", ModelKind::Dense), "core||dense");
  EXPECT_EQ(foundFor({"bridge", "core"}, "H100", ModelKind::Mixture), "core|H100|experts");
  EXPECT_EQ(foundFor({"own"}, "H100", ModelKind::Dense), "||dense");
  EXPECT_EQ(foundFor({"own"}, "H100", ModelKind::Mixture), "||both");
}

TEST(DeviceWordOf, IsTheFirstOne) {
  EXPECT_EQ(deviceWordOf("H100-SXM5-80GB"), "H100");
  EXPECT_EQ(deviceWordOf("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(deviceWordOf("TPU-v5e"), "TPU");
  EXPECT_EQ(deviceWordOf("L4"), "L4");
}

TEST(ParseErrorTable, ReadsWhatIsWritten) {
  ClassErrors errors = named("megatron-core", "H100", ModelKind::Mixture);
  errors.runs = 20;
  errors.ownRuns = 15;
  errors.devices = "H100";
  errors.timeLow = -0.25;
  errors.timeHigh = 0.5;
  errors.noise = 0.0625;
  for (size_t i = 0; i < errors.memory.size(); ++i)
    errors.memory[i] = static_cast<double>(i) / 8 - 0.5;
  Result<std::vector<ClassErrors>> table =
      parseErrorTable("# words\n" + lines(errorTableLine(errors)) + kRow + "\n");
  ASSERT_TRUE(table.ok()) << table.error().text();
  ASSERT_EQ(table->size(), 2u);
  const ClassErrors &read = table->front();
  EXPECT_EQ(nameOf(read), "megatron-core|H100|experts");
  EXPECT_EQ(read.runs, 20);
  EXPECT_EQ(read.ownRuns, 15);
  EXPECT_EQ(read.devices, "H100");
  EXPECT_EQ(read.timeLow, -0.25);
  EXPECT_EQ(read.timeHigh, 0.5);
  EXPECT_EQ(read.noise, 0.0625);
  EXPECT_EQ(read.memory, errors.memory);
  EXPECT_EQ(nameOf(table->back()), "||both");
}

TEST(ParseErrorTable, SaysWhatIsWrong) {
  EXPECT_EQ(messageOf(lines(kRow)), "");
  auto wrong = [&](const std::string &from, const std::string &to) {
    std::string row = kRow;
    row.replace(row.find(from), from.size(), to);
    return messageOf(lines(row)).substr(0, 200);
  };
  auto says = [](const std::string &message, const char *words) {
    return message.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(messageOf("stack,device\n"), "errors.csv:1"));
  EXPECT_TRUE(says(messageOf("stack,device\n"), "the first line names other columns"));
  EXPECT_TRUE(says(wrong(",,,10", ",,moe,10"), "kind is 'moe', wanted dense, mixture or nothing"));
  EXPECT_TRUE(says(wrong("10,8,H100", "ten,8,H100"), "runs is 'ten', wanted a whole number"));
  EXPECT_TRUE(says(wrong("8,H100", "few,H100"), "own is 'few', wanted a whole number"));
  EXPECT_TRUE(says(wrong("8,H100", "11,H100"), "own runs are not among the runs"));
  EXPECT_TRUE(says(wrong("0.05", "much"), "'much' is no number"));
  EXPECT_TRUE(says(wrong(",13", ""), "21 cells, wanted 22"));
  EXPECT_TRUE(says(wrong(",5,6", ",6,6"), "quantiles of memory that do not rise"));
  EXPECT_TRUE(says(wrong("-0.1", "0.1"), "time_low is above 0"));
  EXPECT_TRUE(says(wrong("0.2", "-0.2"), "time_high below it"));
  EXPECT_TRUE(says(wrong("0.05", "-0.05"), "a noise or a number of runs below 0"));
  EXPECT_TRUE(says(wrong(",,,10", "x,,,10"), "there is no line of all runs"));
}

TEST(ErrorTable, IsTheFileOfTheTree) {
  Result<std::string> text = readFile(DTC_SOURCE_DIR "/compiler/price/uncertainty/errors.csv");
  ASSERT_TRUE(text.ok());
  Result<std::vector<ClassErrors>> table = parseErrorTable(*text);
  ASSERT_TRUE(table.ok()) << table.error().text();
  ASSERT_EQ(table->size(), errorTable().size());
  std::set<std::string> names;
  for (size_t i = 0; i < table->size(); ++i) {
    EXPECT_EQ(errorTableLine((*table)[i]), errorTableLine(errorTable()[i]));
    EXPECT_TRUE(names.insert(nameOf((*table)[i])).second) << nameOf((*table)[i]);
  }
  // The most common targets of plans have classes of their own.
  for (const char *name : {"megatron-core|H100|dense", "megatron-core|H100|experts",
                           "fsdp-compiled||dense", "gpu||dense", "||dense"})
    EXPECT_EQ(names.count(name), 1u) << name;
}
