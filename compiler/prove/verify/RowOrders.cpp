#include "compiler/prove/verify/RowOrders.h"

#include <algorithm>
#include <utility>

namespace dtc {
namespace {

// The kinds of keys.
enum : int64_t { kChoice, kMade, kMoved };

} // namespace

// Takes room for so many integers. Returns false if there is less left.
bool RowOrders::take(size_t integers) {
  if (integers > room) {
    isFull = true;
    return false;
  }
  room -= integers;
  return true;
}

RowOrders::Number RowOrders::add(Key key, Entry entry) {
  if (auto found = numbers.find(key); found != numbers.end())
    return found->second;
  if (!take(key.size()))
    return kUnknown;
  auto number = static_cast<Number>(entries.size() + 1);
  if (entry.routing == kNone)
    entry.routing = number;
  entries.push_back(std::move(entry));
  numbers.emplace(std::move(key), number);
  return number;
}

// Notes that a choice is by the scores of a router. Returns false if there is no room for it.
bool RowOrders::note(const Router &router, Number choice) {
  auto found = choicesOf.find(router);
  if (found != choicesOf.end() && found->second.count(choice))
    return true;
  if (!take(found == choicesOf.end() ? router.size() + 1 : 1))
    return false;
  choicesOf[router].insert(choice);
  return true;
}

RowOrders::Number RowOrders::chosen(uint32_t task, uint32_t step, uint32_t result,
                                    const std::set<Router> &routers) {
  Number choice = add({kChoice, task, step, result}, {});
  if (choice == kUnknown)
    return kUnknown;
  bool isNoted = std::all_of(routers.begin(), routers.end(),
                             [&](const Router &router) { return note(router, choice); });
  return isNoted ? choice : kUnknown;
}

RowOrders::Number RowOrders::made(uint32_t kernel, const std::vector<int64_t> &scalars,
                                  uint32_t result, const std::vector<Number> &of, Kind kind) {
  Key key = {kMade, kernel, result, static_cast<int64_t>(scalars.size())};
  key.insert(key.end(), scalars.begin(), scalars.end());
  key.insert(key.end(), of.begin(), of.end());
  Entry entry;
  entry.routing = routingOf(of.front());
  entry.kernel = kernel;
  entry.madeOf = of;
  entry.kind = kind;
  return add(std::move(key), std::move(entry));
}

RowOrders::Number RowOrders::moved(Number below, Number indices) {
  Entry entry;
  entry.routing = routingOf(indices);
  entry.below = below;
  entry.indices = indices;
  return add({kMoved, below, indices}, std::move(entry));
}

bool RowOrders::areOf(Number indices, Number counts) const {
  if (indices == kNone)
    return false;
  const Entry &a = of(indices), &b = of(counts);
  return std::find(a.madeOf.begin(), a.madeOf.end(), counts) != a.madeOf.end() ||
         (a.kernel == b.kernel && a.madeOf == b.madeOf);
}

bool RowOrders::areOfOthers(const std::vector<Number> &choices, const Router &router) const {
  if (isFull) // a choice may be by scores that had no room
    return false;
  auto found = choicesOf.find(router);
  return found != choicesOf.end() && std::any_of(choices.begin(), choices.end(), [&](Number each) {
           return !found->second.count(each);
         });
}

} // namespace dtc
