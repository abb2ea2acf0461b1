// The orders in which routings place rows of experts, numbered so that equal ones have one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace dtc {

// A routing is the instruction that chooses experts by scores. Integers are made of what it
// chooses: indices of rows, numbers of rows, and others, such as how often an expert was chosen. A
// kernel that reads indices moves rows: it packs
// tokens, sorts what was packed, and undoes both by the same indices in the reverse order. So an
// order of rows is a stack of indices, and that of tokens is empty.
//
// Numbers depend on the instructions of a program and on layers, not on micro-batches. The same
// kernel makes integers of one number of equal ones, so that recomputed indices equal those before.
//
// A kernel of a repeat that makes integers of themselves gets new numbers each time. So there is
// room for some numbers alone; what comes after them is kUnknown.
class RowOrders {
public:
  using Number = uint32_t;
  // The addresses of the persistent tensors that scores are made with.
  using Router = std::set<int64_t>;
  // The integers that keys of numbers and routers may have together. Each takes some 100 bytes.
  static constexpr size_t kRoom = size_t(1) << 22;
  // No routing has placed a value.
  static constexpr Number kNone = 0;
  // A value has rows in several orders, or in one that is not known: there was no room for it.
  static constexpr Number kUnknown = UINT32_MAX;

  // Returns the number of both; kUnknown if they differ and neither is kNone.
  static Number joined(Number a, Number b) {
    return a == b || b == kNone ? a : a == kNone ? b : kUnknown;
  }

  // The meaning of integers that are made of a choice.
  enum class Kind : uint8_t { Indices, Counts, Others };

  // `room` is as kRoom.
  explicit RowOrders(size_t room = kRoom) : room(room) {}

  // Returns the number of what the instruction `step` of a task chooses, as its result `result`, by
  // the scores of some routers; kUnknown if there is no room for it.
  Number chosen(uint32_t task, uint32_t step, uint32_t result, const std::set<Router> &routers);
  // Returns the number of integers that a kernel makes of others, at least one; kUnknown if there
  // is no room for it. `scalars` tell instructions of one kernel apart.
  Number made(uint32_t kernel, const std::vector<int64_t> &scalars, uint32_t result,
              const std::vector<Number> &of, Kind kind);
  // Returns the order of rows that `indices` have moved from the order `below`; kUnknown if there
  // is no room for it.
  Number moved(Number below, Number indices);

  // Returns the number of the choice that integers are made of, or rows are placed by. `number` is
  // neither kNone nor kUnknown.
  Number routingOf(Number number) const { return of(number).routing; }
  // Returns true if integers are the choice itself.
  bool isChoice(Number number) const { return of(number).routing == number; }
  // Returns the meaning of integers, Kind::Others for a choice itself.
  Kind kindOf(Number number) const { return of(number).kind; }
  // Returns the indices that have last moved rows of an order.
  Number indicesOf(Number order) const { return of(order).indices; }
  // Returns the order before indicesOf() moved the rows.
  Number below(Number order) const { return of(order).below; }
  // Returns true if indices are made of the integers `counts`, or of the same ones by one kernel.
  // kNone, the indices of integers that are read as rows, is made of none.
  bool areOf(Number indices, Number counts) const;
  // Returns true if one of these choices is known not to be by the scores of a router.
  bool areOfOthers(const std::vector<Number> &choices, const Router &router) const;

private:
  struct Entry {
    Number routing = kNone, below = kNone, indices = kNone;
    int64_t kernel = -1;        // that makes it; -1: none
    std::vector<Number> madeOf; // integers
    Kind kind = Kind::Others;
  };
  using Key = std::vector<int64_t>;

  const Entry &of(Number number) const { return entries[number - 1]; }
  Number add(Key key, Entry entry);
  bool note(const Router &router, Number choice);
  bool take(size_t integers);

  std::vector<Entry> entries;
  std::map<Key, Number> numbers;
  std::map<Router, std::set<Number>> choicesOf;
  size_t room;         // that is left
  bool isFull = false; // something had no room
};

} // namespace dtc
