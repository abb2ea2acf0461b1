// Ranks that a check need not tell apart.
#pragma once

#include "runtime/format/VerifyContext.h"

#include <compare>
#include <map>
#include <vector>

namespace dtc::format {

// Where ranks meet: in the collectives of a group on a stream, or in transfers over it by one shift,
// whatever the streams of both sides.
struct Channel {
  enum Kind : uint8_t { Collective, Send, Receive } kind = Collective;
  uint32_t group = 0;
  uint32_t stream = 0; // of collectives
  uint32_t shift = 0;  // of transfers
  auto operator<=>(const Channel &) const = default;

  // What the rank at the other end of it takes part in.
  Channel other(uint32_t groupSize) const {
    if (kind == Collective)
      return *this;
    return {kind == Send ? Receive : Send, group, 0, groupSize - shift};
  }
};

// Ranks of one class run one program, and in every channel of it they meet ranks of the same classes;
// so whatever one of them waits for, all do, and one can stand for all. Example: of a pipeline whose
// middle stages share a program each stage is a class of its own, however many ranks it has.
class RankClasses {
public:
  struct Class {
    uint32_t program = 0;
    uint32_t rank = 0; // the first of them, for messages
  };

  explicit RankClasses(const Manifest &manifest) : manifest(manifest) {}

  // `channels`: of each program, those that its ranks take part in; each has all its ranks in the
  // group. Starts with a class a program and takes apart those whose ranks meet unlike ones, until
  // none does. Fails where there are too many classes to be checked.
  rt::Status find(const VerifyContext &context, const std::vector<std::vector<Channel>> &channels);

  const std::vector<Class> &classes() const { return all; }
  // The classes that one of `index` meets in a channel of its program: those of the ranks in its list,
  // its own among them, or the one of its peer.
  std::vector<uint32_t> partners(uint32_t index, const Channel &channel) const;

private:
  // Takes classes apart by what they meet in a channel, whatever its stream.
  void refine(const Channel &channel);
  // The classes that the rank at `place` of the ranks of the group meets.
  std::vector<uint32_t> met(const Channel &channel, uint32_t place) const;

  const Manifest &manifest;
  std::vector<Class> all;
  std::vector<uint32_t> classOf;             // of each rank
  std::vector<std::vector<uint32_t>> places; // per group in use and class: of its first rank
  std::vector<std::vector<Channel>> used;    // per program, on stream 0
};

} // namespace dtc::format
