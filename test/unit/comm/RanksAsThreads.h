// Runs the ranks of a job as threads of a test, and gives them a place to meet.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/comm/Rendezvous.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace dtc::rt::test {

// Runs body(comm) for each member in a thread of its own.
template <typename Body> void onEach(std::vector<std::unique_ptr<Comm>> &world, Body body) {
  std::vector<std::thread> threads;
  for (auto &comm : world)
    threads.emplace_back([&] { body(*comm); });
  for (std::thread &thread : threads)
    thread.join();
}

// Runs body(rank) for each rank in a thread of its own.
template <typename Body> void onRanks(int ranks, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { body(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

// Returns a port that is free now. It is below the range that the system gives to connections
// (ip_local_port_range, from 32768 on), because another process may get one of those before the
// test listens.
inline uint16_t freePort() {
  std::random_device random;
  for (int tries = 0; tries < 1000; ++tries) {
    uint16_t port = static_cast<uint16_t>(20000 + random() % 12000);
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_port = htons(port);
    bool isFree = ::bind(socket, reinterpret_cast<sockaddr *>(&own), sizeof(own)) == 0;
    ::close(socket);
    if (isFree)
      return port;
  }
  ADD_FAILURE() << "no port from 20000 on is free";
  return 0;
}

// Returns a job name that no other test on this machine has.
inline std::string ownJobName() {
  static std::atomic<int> number{0};
  return "test " + std::to_string(::getpid()) + " " + std::to_string(number++);
}

} // namespace dtc::rt::test
