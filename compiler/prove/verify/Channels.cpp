#include "compiler/prove/verify/Channels.h"

namespace dtc {

std::optional<Board::Sent> Channels::sentBy(const Board::Key &key, size_t number) {
  if (const Board::Sent *sent = board.find(key, number))
    return *sent;
  if (!isForced)
    return std::nullopt;
  board.guess(
      key, number,
      at.fail("values", "contributes a partial sum that other programs' ranks have yet to finish"));
  return Board::Sent{kAllAxes, 0, kAllAxes};
}

// Joins what another program sends, or returns false if it is not known yet.
bool Channels::joinSent(Value &value, const Board::Key &key, size_t number) {
  std::optional<Board::Sent> sent = sentBy(key, number);
  if (!sent)
    return false;
  AxisSet varying = groups.varying(at.steps.index);
  value.axes |= sent->axes & varying;
  value.partial |= sent->partial;
  value.samples |= sent->samples & varying;
  value.exchanged |= sent->exchanged & varying;
  value.ring |= sent->ring;
  return true;
}

std::optional<Value> Channels::contributed(const Board::Key &key) {
  Value value;
  const std::vector<uint32_t> &programs = groups.met(key.group, at.steps.index);
  if (programs.size() > 1)
    for (uint32_t other : programs)
      if (!joinSent(value, {other, key.group, key.way}, met[key]))
        return std::nullopt;
  return value;
}

// Returns the channel at the other end of a receive.
Board::Key Channels::sendTo(uint32_t program, const Board::Key &receive) const {
  uint32_t size = at.steps.manifest.groups()->Get(receive.group)->size();
  return {program, receive.group, kSends + size - (receive.way & ~kReceives)};
}

std::optional<Value> Channels::received(const Board::Key &key) {
  Value value;
  for (uint32_t peer : groups.peers(key.group, key.way & ~kReceives, at.steps.index))
    if (!joinSent(value, sendTo(peer, key), met[key]))
      return std::nullopt;
  return value;
}

// Assumes that the programs at the other end send the same again: see Board::expect.
void Channels::expect(const Board::Key &key, size_t from, size_t length, size_t count) {
  if (count == 0)
    return;
  if (key.way & kReceives) {
    for (uint32_t peer : groups.peers(key.group, key.way & ~kReceives, at.steps.index))
      board.expect(sendTo(peer, key), from, length, count);
    return;
  }
  const std::vector<uint32_t> &programs = groups.met(key.group, at.steps.index);
  for (uint32_t program : programs)
    if (programs.size() > 1)
      board.expect({program, key.group, key.way}, from, length, count);
}

void Channels::skip(const Board::Counts &before, uint32_t periods) {
  for (auto &[key, count] : met) {
    auto found = before.find(key);
    size_t first = found == before.end() ? 0 : found->second, length = count - first;
    expect(key, first, length, periods * length);
    count += periods * length;
  }
}

} // namespace dtc
