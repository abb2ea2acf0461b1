// Best fit by a tree of bits over the free tokens of open samples: each piece takes a few steps.
#include "runtime/data/Packing.h"

#include "runtime/base/Text.h"
#include "runtime/data/Sampler.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dtc::rt {
using format::text;

namespace {

constexpr uint64_t kBits = 64;
constexpr uint32_t kNone = ~uint32_t(0);

// The open samples by how many of their tokens are free.
class Rooms {
public:
  // `length`: the tokens of a sample.
  explicit Rooms(uint64_t length) : first(length + 1, kNone) {
    for (uint64_t words = length / kBits + 1;; words = words / kBits + 1) {
      levels.emplace_back(words, 0);
      if (words == 1)
        break;
    }
  }

  // Returns the room that has the fewest free tokens of those with `wanted` or more, which is
  // taken out; kNone if there is none. `free` is how many it has.
  uint32_t take(uint64_t wanted, uint64_t &free) {
    free = next(wanted);
    if (free >= first.size())
      return kNone;
    uint32_t room = first[free];
    first[free] = following[room];
    if (first[free] == kNone)
      mark(free, false);
    return room;
  }

  // Puts a room with `free` tokens in.
  void put(uint32_t room, uint64_t free) {
    if (following.size() <= room)
      following.resize(room + 1, kNone);
    following[room] = first[free];
    if (first[free] == kNone)
      mark(free, true);
    first[free] = room;
  }

private:
  // Sets or clears the bit of a size, and those above it that say whether any below is set.
  void mark(uint64_t size, bool isSet) {
    for (std::vector<uint64_t> &words : levels) {
      uint64_t bit = uint64_t(1) << (size % kBits);
      size /= kBits;
      isSet ? words[size] |= bit : words[size] &= ~bit;
      if (!isSet && words[size] != 0)
        return;
    }
  }

  // Returns the first size from `size` on whose bit is set, or one past the last.
  uint64_t next(uint64_t size) const {
    for (size_t level = 0; level < levels.size(); ++level) {
      uint64_t word = size / kBits;
      if (word < levels[level].size())
        if (uint64_t rest = levels[level][word] & (~uint64_t(0) << (size % kBits))) {
          size = word * kBits + static_cast<uint64_t>(std::countr_zero(rest));
          while (level-- > 0)
            size = size * kBits + static_cast<uint64_t>(std::countr_zero(levels[level][size]));
          return size;
        }
      size = word + 1;
    }
    return first.size();
  }

  std::vector<std::vector<uint64_t>> levels;
  std::vector<uint32_t> first;     // of each number of free tokens, a room with as many, or kNone
  std::vector<uint32_t> following; // of each room, another one with as many, or kNone
};

// Cuts documents into pieces of at most `length` tokens.
Status cutDocuments(std::span<const uint64_t> ends, uint64_t length, LongDocuments longer,
                    const std::string &source, std::vector<PackedPiece> &pieces) {
  uint64_t begin = 0;
  for (uint64_t index = 0; index < ends.size(); ++index) {
    uint64_t end = ends[index], tokens = end - begin;
    if (tokens > length && longer == LongDocuments::Refuse)
      return Status::invalidArgument(
          text("packing '", source, "': document ", index, " has ", tokens,
               " tokens, more than the ", length,
               " of a sample; --long-documents split or cut takes it, or compile the model with a "
               "longer --seq-len"));
    if (longer == LongDocuments::Cut)
      tokens = std::min(tokens, length);
    for (uint64_t from = begin; tokens > 0;) {
      uint64_t now = std::min(tokens, length);
      pieces.push_back({from, now});
      from += now, tokens -= now;
    }
    begin = end;
  }
  return {};
}

} // namespace

void Packing::addWindow(std::span<const PackedPiece> window) {
  // The longest first; equal ones in the order that they have.
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (uint32_t i = 0; i < window.size(); ++i)
    order.push_back({roomOf - window[i].length, i});
  std::sort(order.begin(), order.end());
  Rooms rooms(roomOf);
  std::vector<uint32_t> roomOfPiece;
  std::vector<uint64_t> counts; // pieces of each room
  for (auto [less, index] : order) {
    const PackedPiece &piece = window[index];
    uint64_t free = 0;
    uint32_t room = rooms.take(piece.length, free);
    if (room == kNone) {
      room = static_cast<uint32_t>(counts.size()), free = roomOf;
      counts.push_back(0);
    }
    ++counts[room];
    roomOfPiece.push_back(room);
    packedTokens += piece.length;
    rooms.put(room, free - piece.length);
  }
  // The place of each room's next piece.
  std::vector<uint64_t> positions;
  uint64_t position = pieces.size();
  for (uint64_t count : counts) {
    positions.push_back(position);
    position += count;
    firstPieces.push_back(position);
  }
  pieces.resize(position);
  for (size_t i = 0; i < order.size(); ++i)
    pieces[positions[roomOfPiece[i]]++] = window[order[i].second];
}

Status Packing::make(std::span<const uint64_t> ends, uint64_t length, LongDocuments longer,
                     uint64_t seed, bool isShuffled, const std::string &source, Packing &packing) {
  packing = Packing();
  packing.roomOf = length;
  std::vector<PackedPiece> all;
  DTC_RETURN_IF_ERROR(cutDocuments(ends, length, longer, source, all));
  if (all.empty())
    return Status::invalidArgument(text("packing '", source, "': it has no tokens"));
  // A key of its own, as the sampler of the seed shuffles what is packed.
  constexpr uint64_t key = 0x7061636b;
  std::vector<PackedPiece> window;
  for (uint64_t from = 0; from < all.size(); from += kWindow) {
    window.clear();
    for (uint64_t i = from; i < std::min<uint64_t>(all.size(), from + kWindow); ++i)
      window.push_back(all[isShuffled ? permute(i, all.size(), seed, key) : i]);
    packing.addWindow(window);
  }
  return {};
}

} // namespace dtc::rt
