// Tests the rendezvous: ranks that come, ranks that do not, and strangers.
#include "runtime/comm/Rendezvous.h"
#include "runtime/comm/JoinRendezvous.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousWire.h"
#include "test/unit/comm/RanksAsThreads.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace dtc::rt {
namespace {
using test::onRanks;

using Variables = std::map<std::string, std::string>;

Status plan(const Variables &variables, RendezvousOptions &options, int rank = 0, int size = 2) {
  LaunchEnvironment launch;
  launch.rank = rank;
  launch.size = size;
  launch.source = "RANK, WORLD_SIZE";
  return planRendezvous(
      launch,
      [&](const char *name) {
        auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
      },
      120, options);
}

RendezvousOptions optionsOf(int rank, int size, uint16_t port, const std::string &job,
                            double seconds = 10) {
  RendezvousOptions options;
  options.rank = rank;
  options.size = size;
  options.host = "127.0.0.1";
  options.ports = {port};
  options.job = job;
  options.seconds = seconds;
  return options;
}

// Returns a connection to a port of this machine, once somebody listens there.
int connectSoon(uint16_t port) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string why;
  bool isSilent = false;
  for (int times = 0; times < 500; ++times) {
    int socket = connectTo(reinterpret_cast<sockaddr *>(&to), sizeof(to), now() + 1, why, isSilent);
    if (socket >= 0)
      return socket;
    ::usleep(10'000);
  }
  return -1;
}

std::string pieceOf(int from, int to) {
  return "from " + std::to_string(from) + " to " + std::to_string(to);
}

// Meets, and exchanges twice.
void joinAndTalk(const RendezvousOptions &options) {
  std::unique_ptr<Rendezvous> rendezvous;
  Status status = joinRendezvous(options, rendezvous);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(rendezvous->token().size(), 16u);
  for (int times = 0; times < 2; ++times) {
    std::vector<std::string> sent, received, wanted;
    for (int rank = 0; rank < options.size; ++rank) {
      sent.push_back(pieceOf(options.rank, rank));
      wanted.push_back(pieceOf(rank, options.rank));
    }
    status = rendezvous->exchange(sent, received);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(received, wanted);
  }
}

TEST(PlanRendezvous, TakesThePortThatTorchrunsAgentLeaves) {
  RendezvousOptions options;
  EXPECT_EQ(plan({}, options).message(), "joining the job of RANK, WORLD_SIZE: MASTER_ADDR is not "
                                         "set; it names rank 0's host");
  ASSERT_TRUE(plan({{"MASTER_ADDR", "node0"}}, options).ok());
  EXPECT_EQ(options.host, "node0");
  EXPECT_EQ(options.ports.size(), 9u);
  EXPECT_EQ(options.ports[0], 29500);
  Variables variables = {{"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "4000"},
                         {"TORCHELASTIC_RUN_ID", "mine"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  ASSERT_TRUE(plan(variables, options).ok());
  EXPECT_EQ(options.ports.front(), 4001);
  EXPECT_EQ(options.ports.back(), 4008);
  EXPECT_EQ(options.job, "mine at port 4000"); // other jobs of the machine may have other ports
  variables["DTC_RENDEZVOUS_PORT"] = "5000";
  variables["DTC_JOB_ID"] = "other";
  ASSERT_TRUE(plan(variables, options).ok());
  EXPECT_EQ(options.ports, std::vector<uint16_t>{5000});
  EXPECT_EQ(options.job, "other");
  // Ranks that dtrun -n starts are all on this machine, and their job has a name of its own.
  ASSERT_TRUE(plan({{"DTRUN_CHILD", "dtrun-launch-7"}}, options).ok());
  EXPECT_EQ(options.host, "127.0.0.1");
  EXPECT_EQ(options.job, "dtrun-launch-7");
  for (const char *port : {"0", "x", "65536", "-1", "80 "})
    EXPECT_EQ(plan({{"MASTER_ADDR", "a"}, {"MASTER_PORT", port}}, options).message(),
              std::string("reading the launch environment: MASTER_PORT is '") + port +
                  "'; wanted a port, 1 to 65535");
  ASSERT_TRUE(plan({{"MASTER_ADDR", "a"}, {"MASTER_PORT", "65534"}}, options).ok());
  EXPECT_EQ(options.ports.size(), 2u);
  EXPECT_FALSE(plan({{"MASTER_ADDR", "a"},
                     {"MASTER_PORT", "65535"},
                     {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
                    options)
                   .ok());
  EXPECT_FALSE(plan({{"MASTER_ADDR", "a"}}, options, 0, 5000).ok());
}

TEST(Rendezvous, CarriesWhatEachRankHasForEach) {
  for (int ranks : {2, 3, 8}) {
    uint16_t port = test::freePort();
    std::string job = test::ownJobName();
    onRanks(ranks, [&](int rank) {
      ::usleep(static_cast<useconds_t>(rank == 0 ? 100'000 : 0)); // rank 0 comes last
      joinAndTalk(optionsOf(rank, ranks, port, job));
    });
  }
}

TEST(Rendezvous, SaysWhoHasNotCome) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName();
  onRanks(3, [&](int rank) {
    // Ranks 2 and 4 of five never come.
    RendezvousOptions options = optionsOf(rank == 2 ? 3 : rank, 5, port, job, rank == 0 ? 1 : 10);
    options.isQuiet = rank == 2;
    std::unique_ptr<Rendezvous> rendezvous;
    Status status = joinRendezvous(options, rendezvous);
    EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
    std::string host = ownHostName(),
                said = "rank 0 on host '" + host + "' waited 1 s at port " + std::to_string(port) +
                       ": ranks 2 and 4 of 5 have not come; here are ranks 1 and 3 on host '" +
                       host +
                       "'; where ranks need longer to start, raise DTC_START_TIMEOUT or --timeout";
    EXPECT_EQ(status.message(), rank == 0   ? said
                                : rank == 1 ? "rank 1 on host '" + host + "': " + said
                                            : "");
  });
}

TEST(Rendezvous, SaysThatRankZeroIsNotThere) {
  uint16_t port = test::freePort();
  std::unique_ptr<Rendezvous> rendezvous;
  Status status = joinRendezvous(optionsOf(1, 2, port, "job", 0.5), rendezvous);
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_EQ(status.message(),
            "rank 1 on host '" + ownHostName() +
                "' waited 0.5 s for rank 0: no rank 0 of this job is at '127.0.0.1' (MASTER_ADDR), "
                "port " +
                std::to_string(port) +
                " (Connection refused); where ranks need longer to start, raise DTC_START_TIMEOUT "
                "or --timeout");
  RendezvousOptions nowhere = optionsOf(1, 2, port, "job", 0.5);
  nowhere.host = "no-such-host.invalid";
  status = joinRendezvous(nowhere, rendezvous);
  EXPECT_NE(status.message().find("at 'no-such-host.invalid' (MASTER_ADDR)"), std::string::npos);
  EXPECT_NE(status.message().find("the name has no address: "), std::string::npos);
}

// Strangers that send nothing, nonsense, half of a message or a very long one delay nobody.
TEST(Rendezvous, PaysNoHeedToStrangers) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName(), length;
  put(length, 0x31746d6e75727464);
  put(length, static_cast<uint64_t>(Word::Hello));
  std::string half = length;
  put(length, uint64_t(1) << 62);
  std::string wrong = half;
  put(wrong, std::string(40, '\xff'));
  std::mt19937 random(1);
  std::string noise(100'000, 0);
  for (char &byte : noise)
    byte = static_cast<char>(random());
  std::vector<std::string> nonsense = {
      "", "GET / HTTP/1.1\r\n\r\n", "dtrunmt1", half, length, wrong, noise};
  std::vector<int> sockets;
  std::thread strangers([&] {
    for (int times = 0; times < 30; ++times)
      for (const std::string &words : nonsense) {
        int socket = connectSoon(port);
        (void)!::send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        sockets.push_back(socket);
      }
  });
  std::thread host([&] { joinAndTalk(optionsOf(0, 3, port, job)); });
  strangers.join();
  double begin = now();
  std::thread second([&] { joinAndTalk(optionsOf(2, 3, port, job)); });
  joinAndTalk(optionsOf(1, 3, port, job));
  host.join();
  second.join();
  EXPECT_LT(now() - begin, 3);
  for (int socket : sockets)
    ::close(socket);
}

// These words may come only from a guest that has told who it is.
TEST(Rendezvous, HearsOnlyTheWordThatIsDue) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName();
  std::thread host([&] { joinAndTalk(optionsOf(0, 2, port, job)); });
  for (Word word : {Word::Parcel, Word::Failed, Word::Welcome, Word::Taken}) {
    Wire wire(connectSoon(port));
    wire.send(word, encode({hashOf(job), 1, 2, 77, "b", "127.0.0.1"}));
    Message answer;
    std::string why;
    EXPECT_FALSE(wire.await(4096, now() + 3, answer, why));
    EXPECT_EQ(why, "has ended, or closed the connection");
  }
  joinAndTalk(optionsOf(1, 2, port, job));
  host.join();
}

TEST(Rendezvous, RefusesWhoIsNoneOfTheJob) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName(), host = ownHostName();
  std::thread first([&] { joinAndTalk(optionsOf(0, 3, port, job)); });
  std::thread second;
  auto refused = [&](const RendezvousOptions &options) {
    std::unique_ptr<Rendezvous> rendezvous;
    Status status = joinRendezvous(options, rendezvous);
    EXPECT_FALSE(status.ok());
    return status;
  };
  Status status = refused(optionsOf(1, 4, port, job));
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "rank 1 on host '" + host +
                                  "' is refused by rank 0: it is one of 4 ranks, rank 0 on host '" +
                                  host + "' one of 3");
  // Another job's rank 0 may be elsewhere, so it is looked for until the time is over.
  status = refused(optionsOf(1, 3, port, "another job's name", 0.5));
  EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
  EXPECT_NE(status.message().find("(another job: that of rank 0 on host '" + host + "')"),
            std::string::npos)
      << status.message();
  second = std::thread([&] { joinAndTalk(optionsOf(2, 3, port, job)); });
  ::usleep(300'000);
  status = refused(optionsOf(2, 3, port, job));
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "rank 2 on host '" + host +
                                  "' is refused by rank 0: rank 2 is here already: process " +
                                  std::to_string(::getpid()) + " on host '" + host + "'");
  joinAndTalk(optionsOf(1, 3, port, job));
  first.join();
  second.join();
}

// A rank that was killed while others are waited for may be started again.
TEST(Rendezvous, LetsARankComeAgain) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName();
  std::thread host([&] { joinAndTalk(optionsOf(0, 3, port, job)); });
  {
    Wire wire(connectSoon(port));
    wire.send(Word::Hello, encode({hashOf(job), 1, 3, 77, "b", "127.0.0.1"}));
    Message answer;
    std::string why;
    ASSERT_TRUE(wire.await(4096, now() + 3, answer, why)) << why;
    EXPECT_EQ(answer.word, Word::Taken);
  }
  ::usleep(300'000);
  onRanks(2, [&](int rank) { joinAndTalk(optionsOf(rank + 1, 3, port, job)); });
  host.join();
}

// Two jobs got the same port: the second takes the next one, and its ranks find it. The host has
// several names, and not all of them lead to it from here.
TEST(Rendezvous, FindsRankZeroByAnyOfItsNames) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName(), none(300, 'a'); // longer than names may be
  onRanks(2, [&](int rank) {
    RendezvousOptions options = optionsOf(rank, 2, port, job);
    options.host = none + "," + "127.0.0.1," + none;
    joinAndTalk(options);
  });
}

TEST(Rendezvous, KeepsJobsOfOnePortApart) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName();
  onRanks(6, [&](int each) {
    RendezvousOptions options = optionsOf(each / 2, 3, port, job + (each % 2 ? " odd" : " even"));
    options.ports = {port, static_cast<uint16_t>(port + 1), static_cast<uint16_t>(port + 2)};
    joinAndTalk(options);
  });
}

TEST(Rendezvous, NamesARankThatLeavesOrSaysNothingWhileRanksConnect) {
  uint16_t port = test::freePort();
  std::string job = test::ownJobName(), host = ownHostName();
  for (bool leaves : {true, false})
    onRanks(3, [&](int rank) {
      RendezvousOptions options = optionsOf(rank, 3, port, job, rank == 0 ? 1 : 5);
      std::unique_ptr<Rendezvous> rendezvous;
      Status status = joinRendezvous(options, rendezvous);
      ASSERT_TRUE(status.ok()) << status.message();
      if (rank == 2 && leaves)
        return;
      if (rank == 2)
        ::usleep(2'000'000);
      std::vector<std::string> sent(3), received;
      status = rendezvous->exchange(sent, received);
      EXPECT_EQ(status.statusCode(), StatusCode::Aborted);
      std::string wanted =
          leaves ? "rank 2 on host '" + host + "' (process " + std::to_string(::getpid()) +
                       ") has ended, or closed the connection while ranks connect"
                 : "waited 1 s while ranks connect: rank 2 of 3 does not answer (it is process " +
                       std::to_string(::getpid());
      EXPECT_NE(status.message().find(wanted), std::string::npos) << status.message();
    });
}

TEST(Rendezvous, SaysThatNoPortIsFree) {
  uint16_t port = test::freePort();
  int socket = -1, error = 0;
  ASSERT_TRUE(listenOn(port, socket, error).ok());
  std::unique_ptr<Rendezvous> rendezvous;
  EXPECT_EQ(joinRendezvous(optionsOf(0, 2, port, "job"), rendezvous).message(),
            "connecting to the other ranks: rank 0 on host '" + ownHostName() +
                "' can't listen on port " + std::to_string(port) +
                ": Address already in use; name a free port by DTC_RENDEZVOUS_PORT");
  ::close(socket);
}

TEST(RendezvousWire, TakesNoMessageThatIsTooLong) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Wire sender(ends[0]), receiver(ends[1]);
  sender.send(Word::Parcel, std::string(100, 'x'));
  sender.send(Word::Parcel, std::string(101, 'x'));
  std::vector<Message> messages;
  std::string why;
  EXPECT_FALSE(receiver.receive(100, messages, why));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].payload.size(), 100u);
  EXPECT_EQ(why, "does not speak as ranks of dtrun do");
}

TEST(RendezvousFields, ComeBackAsTheyWere) {
  Hello hello{1, 2, 3, 4, "host\n\x1b", "::1"}, read;
  std::string bytes = encode(hello);
  ASSERT_TRUE(decode(bytes, read));
  EXPECT_EQ(read.rank, 2u);
  EXPECT_EQ(read.host, "host??");
  EXPECT_EQ(read.address, "::1");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length), read)) << length;
  EXPECT_FALSE(decode(bytes + "x", read));
  std::vector<std::string> pieces = {"a", "", std::string(1024, 'b')}, back;
  bytes = encodePieces(pieces);
  ASSERT_TRUE(decodePieces(bytes, 3, back));
  EXPECT_EQ(back, pieces);
  EXPECT_FALSE(decodePieces(bytes, 2, back));
  EXPECT_FALSE(decodePieces(bytes, 4, back));
  EXPECT_FALSE(decodePieces(encodePieces({std::string(1025, 'b')}), 1, back));
}

} // namespace
} // namespace dtc::rt
