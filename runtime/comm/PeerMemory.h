// The memory of other processes of this machine, read without their help (process_vm_readv).
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dtc::rt {

// What a process tells the others of itself: by a number that only it has at that address they see that the process
// of that id is the one that wrote this, and not one of another machine or container.
struct PeerCard {
  int64_t process = 0;
  uint64_t address = 0, number = 0;
};

// Of this process. Lets processes of the same user read its memory, where the system asks for consent.
PeerCard makePeerCard();

class PeerMemory {
public:
  // False where the memory of one of the processes can't be read: it is on another machine or in another container,
  // or the system forbids it.
  bool open(const std::vector<PeerCard> &cards);

  // Copies `bytes` at address `from` of the process of card `peer` to `to`. Aborted with the system's words: "reading the
  // memory of rank 1 (process 4711): No such process". The owner keeps the bytes as they are meanwhile.
  Status read(size_t peer, const void *from, void *to, size_t bytes) const;

private:
  std::vector<int64_t> processes;
};

} // namespace dtc::rt
