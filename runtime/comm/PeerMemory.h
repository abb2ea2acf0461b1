// The memory of other processes of this machine, read without their help (process_vm_readv).
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dtc::rt {

// A process's identity for its peers: they read a number at an address that only this process has,
// to verify that the process id is that of the sender, not of a process on another machine or in
// another container.
struct PeerCard {
  int64_t process = 0;
  uint64_t address = 0, number = 0;
};

// Returns the card of this process and allows processes of the same user to read its memory, if the
// system requires consent.
PeerCard makePeerCard();

// Reads the memory of other processes of this machine.
class PeerMemory {
public:
  // False where the memory of one of the processes can't be read: it is on another machine or in
  // another container, or the system forbids it.
  bool open(const std::vector<PeerCard> &cards);

  // Copies `bytes` at address `from` of the process of card `peer` to `to`. Aborted with the
  // system's words: "reading the memory of rank 1 (process 4711): No such process". The owner keeps
  // the bytes as they are meanwhile.
  Status read(size_t peer, const void *from, void *to, size_t bytes) const;

private:
  std::vector<int64_t> processes;
};

} // namespace dtc::rt
