// Tests Gloo: the conformance suite on 1 to 4 ranks, each a thread with connections of its own, and
// what only Gloo guarantees.
#include "runtime/comm/Bootstrap.h"
#include "runtime/comm/GlooPlugin.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/Loopback.h"
#include "runtime/comm/RendezvousWire.h"
#include "test/unit/comm/Conformance.h"
#include "test/unit/comm/RanksAsThreads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <random>

namespace dtc::rt {
namespace {
using test::onEach;
using test::onRanks;

using Worlds = std::vector<std::unique_ptr<Comm>>;

// Returns the world of `ranks` ranks, which met over TCP. The plugin also makes a world of one.
Worlds makeGlooWorld(int ranks, double timeoutSeconds = 20, size_t maxElements = 0,
                     const std::string &host = "127.0.0.1", PhaseListener *phases = nullptr) {
  ::setenv("DTC_GLOO_LIBRARY", DTC_GLOO_PLUGIN, 1);
  std::string port = std::to_string(test::freePort()), job = test::ownJobName();
  auto read = [&](const char *name) -> const char * {
    if (!std::strcmp(name, "MASTER_ADDR"))
      return host.c_str();
    if (!std::strcmp(name, "MASTER_PORT"))
      return port.c_str();
    return std::strcmp(name, "DTC_JOB_ID") ? nullptr : job.c_str();
  };
  Worlds world(static_cast<size_t>(ranks));
  onRanks(ranks, [&](int rank) {
    LaunchEnvironment launch;
    launch.launcher = Launcher::Torchrun;
    launch.rank = rank;
    launch.size = ranks;
    Status status = createWorld({.launch = launch,
                                 .timeoutSeconds = timeoutSeconds,
                                 .startSeconds = 20,
                                 .maxElements = maxElements,
                                 .phases = phases,
                                 .environment = read},
                                world[static_cast<size_t>(rank)]);
    ASSERT_TRUE(status.ok()) << status.message();
  });
  return world;
}

// Each rank leaves in its thread, because the last call of a world is collective.
void leave(Worlds &world) {
  std::vector<std::thread> threads;
  for (auto &comm : world)
    threads.emplace_back([&] { comm.reset(); });
  for (std::thread &thread : threads)
    thread.join();
}

bool isComplete(const Worlds &world) {
  return std::all_of(world.begin(), world.end(), [](const auto &comm) { return comm != nullptr; });
}

class GlooConformance : public testing::TestWithParam<std::tuple<int, size_t>> {};

TEST_P(GlooConformance, Holds) {
  auto [ranks, maxElements] = GetParam();
  Worlds world = makeGlooWorld(ranks, 20, maxElements);
  ASSERT_TRUE(isComplete(world));
  for (int check = 0; check < conformance::numChecks; ++check) {
    SCOPED_TRACE(conformance::checks[check].name);
    onEach(world, conformance::checks[check].run);
  }
  leave(world);
}
INSTANTIATE_TEST_SUITE_P(Ranks, GlooConformance,
                         testing::Values(std::tuple(2, 0), std::tuple(3, 0), std::tuple(4, 0),
                                         std::tuple(5, 0), std::tuple(3, 20011)),
                         [](const auto &info) {
                           return "On" + std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "InPieces" : "");
                         });

// Sums of random numbers depend on their order.
TEST(Gloo, GivesTheBitsOfLoopback) {
  for (size_t count : {3, 1000, 50001}) {
    constexpr int ranks = 4;
    auto results = [&](Worlds world) {
      std::vector<std::vector<uint32_t>> bits(ranks);
      onEach(world, [&](Comm &comm) {
        std::mt19937 random(static_cast<uint32_t>(comm.rank()));
        std::normal_distribution<float> normal;
        std::vector<float> source(count * ranks), whole(count * ranks), part(count);
        for (float &value : source)
          value = normal(random);
        auto narrow = source;
        ASSERT_TRUE(
            comm.allReduce(source.data(), whole.data(), whole.size(), DataType::F32, Reduction::Sum)
                .ok());
        ASSERT_TRUE(
            comm.reduceScatter(source.data(), part.data(), count, DataType::F32, Reduction::Sum)
                .ok());
        ASSERT_TRUE(comm.allReduce(narrow.data(), narrow.data(), narrow.size() * 2, DataType::Bf16,
                                   Reduction::Sum)
                        .ok());
        auto &own = bits[static_cast<size_t>(comm.rank())];
        for (const auto *values : {&whole, &part, &narrow}) {
          size_t before = own.size();
          own.resize(before + values->size());
          std::memcpy(own.data() + before, values->data(), values->size() * sizeof(float));
        }
      });
      leave(world);
      return bits;
    };
    EXPECT_EQ(results(makeGlooWorld(ranks)), results(makeLoopbackWorld(ranks))) << count;
  }
}

TEST(Gloo, NamesGroupOperationAndRankOfATimeOut) {
  Worlds world = makeGlooWorld(3, 0.3);
  ASSERT_TRUE(isComplete(world));
  float value = 1;
  Status status = world[1]->broadcast(&value, 1, DataType::F32, 0);
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_EQ(status.message(),
            "broadcast of 1 f32, peer 0, on group 'world' (rank 1 of 3): not complete after 0.3 s; "
            "rank 0 of the job died, hangs or is in another operation");
  // The job has ended for this rank, and for those that still talk to it.
  EXPECT_EQ(world[1]->barrier().message(),
            "barrier on group 'world' (rank 1 of 3): not complete after 0.3 s; rank 0 of the job "
            "died, hangs or is in another operation");
  status = world[0]->receive(&value, 1, DataType::F32, 1);
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_NE(status.message().find("rank 1 of the job is lost: "), std::string::npos)
      << status.message();
}

// Ranks may be late if they work on their own before the first step.
TEST(Gloo, WaitsAsLongAsTheStartWantsIt) {
  struct Patient final : PhaseListener {
    void enter(Phase) override {}
    std::string suspects() override { return ""; }
    double patienceOf(double) override { return 30; }
  } patient;
  Worlds world = makeGlooWorld(2, 0.3, 0, "127.0.0.1", &patient);
  ASSERT_TRUE(isComplete(world));
  onEach(world, [](Comm &comm) {
    if (comm.rank() == 1)
      ::usleep(1'000'000);
    Status status = comm.barrier();
    EXPECT_TRUE(status.ok()) << status.message();
  });
  leave(world);
}

TEST(Gloo, NamesARankThatIsGone) {
  // No signal is delivered when sockets are written that nobody reads.
  struct sigaction fatal = {}, before = {};
  fatal.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &fatal, &before), 0);
  Worlds world = makeGlooWorld(3);
  ASSERT_TRUE(isComplete(world));
  world[2]->abandon("its data is damaged");
  world[2].reset();
  auto begin = std::chrono::steady_clock::now();
  world.pop_back();
  onEach(world, [&](Comm &comm) {
    std::vector<float> values(100000, 1);
    Status status;
    for (int times = 0; times < 3 && status.ok(); ++times)
      status = comm.allReduce(values.data(), values.data(), values.size(), DataType::F32,
                              Reduction::Sum);
    EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
    EXPECT_NE(status.message().find("all-reduce of 100000 f32 on group 'world' (rank " +
                                    std::to_string(comm.rank()) +
                                    " of 3): rank 2 of the job is lost: "),
              std::string::npos)
        << status.message();
    for (int times = 0; times < 3; ++times)
      EXPECT_EQ(comm.send(values.data(), 100000, DataType::F32, 2).statusCode(),
                StatusCode::Aborted);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  ::sigaction(SIGPIPE, &before, nullptr);
}

// Gloo itself reports one of its messages that has not begun, but not one that has arrived in part.
TEST(Gloo, NoticesThatARankGoesInTheMiddleOfAMessage) {
  Worlds world = makeGlooWorld(2);
  ASSERT_TRUE(isComplete(world));
  constexpr size_t kLarge = size_t(256) << 20;
  auto begin = std::chrono::steady_clock::now();
  std::thread receiver([&] {
    std::vector<char> values(kLarge);
    std::thread end([&] {
      ::usleep(20'000);
      world[1]->abandon("the test ends it");
    });
    (void)world[1]->receive(values.data(), values.size(), DataType::U8, 0);
    end.join();
    world[1].reset();
  });
  std::vector<char> values(kLarge);
  Status status = world[0]->send(values.data(), values.size(), DataType::U8, 1);
  receiver.join();
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_NE(status.message().find("of the job is lost: "), std::string::npos) << status.message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Gloo, GivingUpEndsTheCallsOfAllGroupsOfARank) {
  Worlds world = makeGlooWorld(2);
  ASSERT_TRUE(isComplete(world));
  std::unique_ptr<Comm> pairs[2];
  onEach(world,
         [&](Comm &comm) { ASSERT_TRUE(comm.split(0, comm.rank(), pairs[comm.rank()]).ok()); });
  std::thread waits([&] {
    EXPECT_EQ(pairs[0]->barrier().message(), "barrier on group 'part 0 of world' (rank 0 of 2): "
                                             "given up: its data is damaged");
  });
  ::usleep(200'000);
  world[0]->abandon("its data is damaged");
  waits.join();
  EXPECT_EQ(world[0]->barrier().statusCode(), StatusCode::Aborted);
  world[1]->abandon("so does this one");
}

// A message of one rank is not taken for one that another call asked for: neither its size nor its
// place in a buffer would be right.
TEST(Gloo, GivesNoRankWhatWasMeantForAnotherCall) {
  Worlds world = makeGlooWorld(2, 0.5);
  ASSERT_TRUE(isComplete(world));
  onEach(world, [&](Comm &comm) {
    float values[4] = {7, 7, 7, 7};
    Status status = comm.rank() == 0 ? comm.allGather(values, values, 2, DataType::F32)
                                     : comm.broadcast(values, 4, DataType::F32, 0);
    EXPECT_EQ(status.statusCode(), StatusCode::Aborted) << comm.rank();
    EXPECT_EQ(values[2], 7);
  });
}

// A rendezvous that gives this rank, once, a stranger's port in place of each other rank's.
class Misled final : public Rendezvous {
public:
  Misled(Rendezvous &real, uint16_t port) : real(real), port(port) {}
  Status exchange(const std::vector<std::string> &sent,
                  std::vector<std::string> &received) override {
    Status status = real.exchange(sent, received);
    for (std::string &address : received)
      if (exchanges == 0 && !address.empty())
        address.replace(2, 2, {static_cast<char>(port >> 8), static_cast<char>(port & 255)});
    ++exchanges;
    return status;
  }
  const std::string &address() const override { return real.address(); }
  const std::string &token() const override { return real.token(); }
  int exchanges = 0;

private:
  Rendezvous &real;
  uint16_t port;
};

// Gloo accepts anyone who connects to a port or answers there. Who does not have the job's token is
// not part of the job.
TEST(Gloo, TriesAgainWhereAStrangerAnswers) {
  void *library = ::dlopen(DTC_GLOO_PLUGIN, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  auto *create = reinterpret_cast<GlooCreateWorld *>(::dlsym(library, kGlooCreateWorldSymbol));
  ASSERT_NE(create, nullptr);
  int stranger = -1, error = 0;
  uint16_t port = test::freePort(), strangersPort = test::freePort();
  ASSERT_TRUE(listenOn(strangersPort, stranger, error).ok());
  Worlds world(2);
  std::string job = test::ownJobName();
  onRanks(2, [&](int rank) {
    RendezvousOptions options;
    options.rank = rank;
    options.size = 2;
    options.host = "127.0.0.1";
    options.ports = {port};
    options.job = job;
    std::unique_ptr<Rendezvous> rendezvous;
    ASSERT_TRUE(joinRendezvous(options, rendezvous).ok());
    Misled misled(*rendezvous, strangersPort);
    GlooOptions gloo;
    gloo.rank = rank;
    gloo.size = 2;
    gloo.timeoutSeconds = 20;
    gloo.rendezvous = &misled;
    Status status;
    create(gloo, world[static_cast<size_t>(rank)], status);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(misled.exchanges, 4);
  });
  ::close(stranger);
  ASSERT_TRUE(isComplete(world));
  onEach(world, [](Comm &comm) { EXPECT_TRUE(comm.barrier().ok()); });
  leave(world);
}

TEST(Gloo, MeetsOverIPv6) {
  Worlds world = makeGlooWorld(2, 20, 0, "::1");
  if (!isComplete(world))
    GTEST_SKIP() << "this machine has no IPv6";
  onEach(world, [](Comm &comm) { EXPECT_TRUE(comm.barrier().ok()); });
  leave(world);
}

} // namespace
} // namespace dtc::rt
