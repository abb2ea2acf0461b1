// The collectives and receives of a program, and which of their results have been read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dtc {

// Numbers what brings values from other ranks, from 1 on: 0 stands for none.
class Communications {
public:
  // The position of a communication: its run in the order, and its position in the task of the run.
  struct Origin {
    uint32_t run = 0, step = 0;
  };

  // Begins an instruction that brings nothing.
  void beginOther() { number = 0; }
  // Begins a collective or receive.
  void begin(Origin origin) {
    number = static_cast<uint32_t>(origins.size());
    origins.push_back(origin);
    areRead.push_back(false);
  }
  // Returns the number of the instruction, or 0.
  uint32_t current() const { return number; }
  // Somebody reads the result of a communication.
  void markRead(uint32_t communication) { areRead[communication] = true; }
  // Returns true if somebody has read the result of a communication; true for 0.
  bool isRead(uint32_t communication) const { return communication == 0 || areRead[communication]; }
  // Returns the first communication that nobody has read; null if there is none.
  const Origin *findUnread() const {
    for (uint32_t i = 1; i < origins.size(); ++i)
      if (!areRead[i])
        return &origins[i];
    return nullptr;
  }

private:
  uint32_t number = 0;
  std::vector<Origin> origins = std::vector<Origin>(1);
  std::vector<bool> areRead = std::vector<bool>(1);
};

} // namespace dtc
