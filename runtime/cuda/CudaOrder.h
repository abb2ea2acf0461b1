// An order of a program as a CUDA graph: recorded the first time that it runs, replayed afterwards.
#pragma once

#include "runtime/cuda/CudaGroups.h"

namespace dtc::rt {

// Something that a command says to a stream.
struct OrderItem {
  int stream = 0;
  const char *what = ""; // "gemm", for messages
  StreamWork work;
  std::function<void(uint64_t tag)> announce; // as PreparedMeeting
};

class CudaOrder {
public:
  explicit CudaOrder(const cu::Driver &driver) : driver(driver) {}
  ~CudaOrder();
  CudaOrder(const CudaOrder &) = delete;
  CudaOrder &operator=(const CudaOrder &) = delete;

  bool isRecorded() const { return exec != nullptr; }

  // The order begins anew.
  void begin() { position = 0; }
  // The next command of an order that is not recorded; `hash` is of all that decides what it does.
  void record(std::vector<OrderItem> items, uint64_t hash, uint64_t tag);
  // The next command of one that is. Internal where it is another than the one that was recorded there.
  Status repeat(uint64_t hash, uint64_t tag);
  // The order ends: `streams[0]` is to run all of it behind what it has, and before what it gets.
  Status launch(const std::vector<cu::Stream> &streams);

private:
  struct Announcement {
    std::function<void(uint64_t tag)> call;
    uint64_t tag = 0;
  };
  struct Recorded {
    uint64_t hash = 0;
    int announcement = -1;
  };

  Status capture(const std::vector<cu::Stream> &streams);
  Status sayAll(const std::vector<cu::Stream> &streams);

  const cu::Driver &driver;
  std::vector<OrderItem> items; // until they are captured
  std::vector<Recorded> commands;
  std::vector<Announcement> announcements;
  size_t position = 0;
  cu::GraphExec exec = nullptr;
};

} // namespace dtc::rt
