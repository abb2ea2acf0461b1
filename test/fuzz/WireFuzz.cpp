// Reads the messages between ranks and the addresses at which they meet: frames of keepers, notes
// on programs, messages of the rendezvous, launchers' addresses.
#include "runtime/comm/Rendezvous.h"
#include "runtime/comm/RendezvousAddress.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousWire.h"
#include "runtime/monitor/Hub.h"
#include "runtime/monitor/Link.h"
#include "test/fuzz/Outside.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>

namespace dtc::fuzz {
namespace {

using rt::Status;

constexpr int kRanks = 4;

// Returns the notes on rank 0's program, with the groups that frames mention.
rt::ProgramNotes hubNotes() {
  rt::ProgramNotes notes;
  notes.groups = {{"dp", 2, 0, {0, 1, 2, 3}}, {"pp", 4, 1, {3, 2, 1, 0}}};
  return notes;
}

void checkReport(const std::string &report) {
  for (char c : report)
    if (c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
      std::abort();
}

// Checks that an accepted frame is encoded to the same bytes.
void checkFrame(const rt::Frame &frame) {
  std::vector<uint8_t> bytes = rt::encode(frame);
  rt::Frame again;
  Status status = rt::decode(static_cast<uint32_t>(frame.kind),
                             std::span(bytes).subspan(rt::kFrameHeader), again);
  if (!status.ok() || rt::encode(again) != bytes)
    std::abort();
}

// Returns the other end of a connection that holds all `sent` bytes; -1 if they do not fit into its
// buffer.
int connectionWith(Bytes sent) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    std::abort();
  bool isThere = ::send(ends[0], sent.data(), sent.size(), 0) == static_cast<ssize_t>(sent.size());
  ::close(ends[0]);
  if (isThere)
    return ends[1];
  ::close(ends[1]);
  return -1;
}

} // namespace

// Reads frames. Before each come its rank, the quarters of a second since the last one, its kind,
// and the size of its content in two bytes.
void readFrames(Bytes bytes) {
  rt::ProgramNotes notes = hubNotes();
  rt::Hub hub({.ranks = kRanks}, notes);
  double now = 0;
  constexpr size_t kFront = 5;
  while (bytes.size() >= kFront) {
    int rank = bytes[0] % (kRanks + 1);
    now += bytes[1] * 0.25;
    size_t size = std::min<size_t>(bytes[3] | size_t(bytes[4]) << 8, bytes.size() - kFront);
    rt::Frame frame;
    Status status = rt::decode(bytes[2], bytes.subspan(kFront, size), frame);
    check(status);
    bytes = bytes.subspan(kFront + size);
    if (status.ok())
      checkFrame(frame);
    if ((!status.ok() || !hub.receive(rank, frame, now)) && rank < kRanks)
      hub.close(rank, "sent what no keeper sends: " + status.message(), now);
    checkReport(hub.tickStragglers(now));
    if (std::optional<rt::Verdict> verdict = hub.tick(now))
      checkReport(verdict->report);
  }
}

void readStream(Bytes bytes) {
  int socket = connectionWith(bytes);
  if (socket < 0)
    return;
  rt::Link link(socket);
  std::vector<rt::Frame> frames;
  std::string why;
  while (link.receive(frames, why)) {
  }
  check(Status::aborted(why));
  size_t most = bytes.size() / rt::kFrameHeader;
  if (why.empty() || frames.size() > most)
    std::abort();
  for (const rt::Frame &frame : frames)
    checkFrame(frame);
}

void readNotes(Bytes bytes) {
  rt::ProgramNotes notes;
  Status status = rt::ProgramNotes::decode(bytes, notes);
  check(status);
  if (!status.ok())
    return;
  std::vector<uint8_t> again = notes.encode();
  if (!std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()))
    std::abort();
  for (uint32_t entry = 0; entry <= rt::ProgramNotes::kEntries; ++entry)
    for (uint32_t issue = 0; issue < 4; ++issue)
      if (const rt::NotedInstruction *each = notes.find(entry, issue))
        for (uint32_t rank = 0; rank < kRanks; ++rank)
          (void)notes.peerOf(each->group, each->meets, rank);
}

// Reads messages of the rendezvous; the first byte gives the number of ranks.
void readRendezvous(Bytes bytes) {
  size_t size = 1 + (bytes.empty() ? 0 : bytes[0] % kRanks);
  int socket = connectionWith(bytes.subspan(bytes.empty() ? 0 : 1));
  if (socket < 0)
    return;
  rt::Wire wire(socket);
  std::vector<rt::Message> messages;
  std::string why;
  while (wire.receive(rt::mostBytes(static_cast<int>(size)), messages, why)) {
  }
  check(Status::aborted(why));
  if (why.empty())
    std::abort();
  for (const rt::Message &message : messages) {
    rt::Hello hello;
    if (rt::decode(message.payload, hello) && rt::encode(hello).size() != message.payload.size())
      std::abort();
    std::vector<std::string> pieces;
    if (rt::decodePieces(message.payload, size, pieces) &&
        rt::encodePieces(pieces) != message.payload)
      std::abort();
  }
}

// Reads an address of rank 0 as Slurm's variable has it, and as Open MPI's.
void readAddress(Bytes bytes) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  std::string host;
  Status status = rt::firstHostOf(text, host);
  check(status);
  if (status.ok() == host.empty() || host.size() > text.size())
    std::abort();
  if (rt::addressesOf(text).size() > text.size())
    std::abort();
}

} // namespace dtc::fuzz
