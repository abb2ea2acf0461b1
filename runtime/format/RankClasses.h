// Classes of ranks that behave the same, so that a check visits one rank of each.
#pragma once

#include "runtime/format/VerifyContext.h"

#include <compare>
#include <map>
#include <vector>

namespace dtc::format {

// A way in which ranks meet: the collectives of a group on a stream, or transfers over it by one
// shift, whatever the streams of both sides.
struct Channel {
  // The kinds of channels.
  enum Kind : uint8_t { Collective, Send, Receive } kind = Collective;
  uint32_t group = 0;
  uint32_t stream = 0; // collectives only
  uint32_t shift = 0;  // transfers only
  auto operator<=>(const Channel &) const = default;

  // Returns the channel that the rank at the other end takes part in.
  Channel other(uint32_t groupSize) const {
    if (kind == Collective)
      return *this;
    return {kind == Send ? Receive : Send, group, 0, groupSize - shift};
  }
};

// Groups ranks into classes. Ranks of one class run one program, and in each of its channels they
// meet ranks of the same classes; so all of them wait for the same, and one can stand for all.
// Example: if the middle stages of a pipeline share a program, each stage is still a class of its
// own, however many ranks it has.
class RankClasses {
public:
  // One class.
  struct Class {
    uint32_t program = 0;
    uint32_t rank = 0; // its first rank, for messages
  };

  explicit RankClasses(const Manifest &manifest) : manifest(manifest) {}

  // Finds the classes. `channels` has those of each program; every rank of a program is in the
  // group of each. Starts with a class a program and splits classes whose ranks meet different
  // classes, until none is left. Fails if there are too many classes to check.
  rt::Status find(const VerifyContext &context, const std::vector<std::vector<Channel>> &channels);

  const std::vector<Class> &classes() const { return all; }
  // Returns the classes that class `index` meets in a channel of its program: those of the ranks in
  // its list, its own among them, or the one of its peer.
  std::vector<uint32_t> partners(uint32_t index, const Channel &channel) const;

private:
  // Splits classes by the classes that they meet in a channel, whatever its stream.
  void refine(const Channel &channel);
  // Returns the classes met by the rank at index `position` of the group's ranks.
  std::vector<uint32_t> met(const Channel &channel, uint32_t position) const;

  const Manifest &manifest;
  std::vector<Class> all;
  std::vector<uint32_t> classOf; // class of each rank
  std::vector<std::vector<uint32_t>>
      positions;                          // per group in use and class: index of its first rank
  std::vector<std::vector<Channel>> used; // per program, on stream 0
};

} // namespace dtc::format
