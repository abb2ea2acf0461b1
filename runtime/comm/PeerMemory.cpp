#include "runtime/comm/PeerMemory.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dtc::rt {

PeerCard makePeerCard() {
  static const uint64_t number = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  // Allows reads if Yama restricts them to parents; fails elsewhere, and is not needed there.
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  return {::getpid(), reinterpret_cast<uint64_t>(&number), number};
}

bool PeerMemory::open(const std::vector<PeerCard> &cards) {
  processes.clear();
  for (const PeerCard &card : cards)
    processes.push_back(card.process);
  for (size_t peer = 0; peer < cards.size(); ++peer) {
    uint64_t found = 0;
    const auto *address = reinterpret_cast<const void *>(cards[peer].address);
    if (!read(peer, address, &found, sizeof(found)).ok() || found != cards[peer].number)
      return false;
  }
  return true;
}

Status PeerMemory::read(size_t peer, const void *from, void *to, size_t bytes) const {
  auto *destination = static_cast<char *>(to);
  const auto *source = static_cast<const char *>(from);
  while (bytes > 0) {
    iovec here = {destination, bytes};
    iovec there = {const_cast<char *>(source), bytes};
    ssize_t copied =
        ::process_vm_readv(static_cast<pid_t>(processes[peer]), &here, 1, &there, 1, 0);
    if (copied <= 0)
      return Status::aborted(format::text("reading the memory of rank ", peer, " (process ",
                                          processes[peer], "): ", std::strerror(errno)));
    destination += copied;
    source += copied;
    bytes -= static_cast<size_t>(copied);
  }
  return Status::okStatus();
}

} // namespace dtc::rt
