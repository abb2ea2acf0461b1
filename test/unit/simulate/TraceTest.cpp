// The trace file: its JSON, its events, its determinism.
#include "compiler/show/simulate/Trace.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <map>

using namespace dtc;

namespace {

// Device 0 computes 1 us, sends 2 us to device 1, which computes 1 us.
Simulation twoDevices() {
  Simulation simulation;
  for (int i : {0, 1}) {
    int device = simulation.addDevice({"gpu \"" + std::to_string(i) + "\""});
    simulation.addStream({device, "compute"});
    simulation.addStream({device, "comm"});
  }
  int a = simulation.addTask({SimTaskKind::Compute, "a", {0}, {}, 1e-6});
  int b = simulation.addTask({SimTaskKind::Transfer, "b", {1, 3}, {a}, 2e-6, 64, {}});
  simulation.addTask({SimTaskKind::Compute, "c", {2}, {b}, 1e-6});
  return simulation;
}

std::string traceOf(const Simulation &simulation) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeTrace(out, simulation, *simulation.run(),
             {{1, "memory", "bytes", {{0, 100}, {3e-6, int64_t(1) << 40}}}});
  return text;
}

} // namespace

TEST(Trace, HasAnEventPerTaskAndStream) {
  Simulation simulation = twoDevices();
  std::string text = traceOf(simulation);
  EXPECT_EQ(text, traceOf(simulation));
  EXPECT_NE(text.find(R"({"ph":"X","name":"b","cat":"transfer","pid":1,"tid":3,"ts":1.000,)"
                      R"("dur":2.000,"args":{"critical":true,"bytes":64}})"),
            std::string::npos)
      << text;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  std::map<std::string, int> counts;
  for (const llvm::json::Value &event : *parsed->getAsObject()->getArray("traceEvents"))
    ++counts[event.getAsObject()->getString("ph")->str()];
  // a to b, b's two ends, b to c.
  EXPECT_EQ(counts,
            (std::map<std::string, int>{{"C", 2}, {"M", 12}, {"X", 4}, {"f", 3}, {"s", 3}}));
  EXPECT_NE(text.find(R"("args":{"name":"gpu \"1\""}})"), std::string::npos);
  EXPECT_NE(text.find(R"("ts":3.000,"args":{"bytes":1099511627776}})"), std::string::npos);
}

// Every arrow starts and ends inside a slice of its stream, and does not go back in time.
TEST(Trace, ArrowsJoinSlices) {
  Simulation simulation = twoDevices();
  llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(traceOf(simulation)));
  const llvm::json::Array &events = *parsed.getAsObject()->getArray("traceEvents");
  std::map<int64_t, double> starts;
  int joined = 0;
  for (const llvm::json::Value &value : events) {
    const llvm::json::Object &event = *value.getAsObject();
    llvm::StringRef phase = *event.getString("ph");
    if (phase != "s" && phase != "f")
      continue;
    double at = *event.getNumber("ts");
    bool inside = false;
    for (const llvm::json::Value &other : events)
      if (const llvm::json::Object &slice = *other.getAsObject(); *slice.getString("ph") == "X")
        inside |= *slice.getInteger("tid") == *event.getInteger("tid") &&
                  *slice.getNumber("ts") <= at &&
                  at <= *slice.getNumber("ts") + *slice.getNumber("dur");
    EXPECT_TRUE(inside);
    int64_t id = *event.getInteger("id");
    if (phase == "s") {
      starts[id] = at;
    } else {
      ASSERT_TRUE(starts.count(id));
      EXPECT_GE(at, starts[id]);
      ++joined;
    }
  }
  EXPECT_EQ(joined, 3);
}

// Names come from files: whatever bytes they have, the trace is JSON.
TEST(Trace, TakesAnyName) {
  Simulation simulation;
  simulation.addStream({simulation.addDevice({"\xff\n"}), "\\"});
  simulation.addTask({SimTaskKind::Compute, "\x01\xc3", {0}, {}, 1});
  std::string text;
  llvm::raw_string_ostream out(text);
  writeTrace(out, simulation, *simulation.run());
  EXPECT_TRUE(static_cast<bool>(llvm::expectedToOptional(llvm::json::parse(text)))) << text;
}
