// The Gloo backend, built as the plugin libdtc_gloo.so, for ranks that no MPI connects.
//
// All groups share the connections of the job: a group is a list of ranks, and a number that its
// messages carry in their slots. Gloo's own collectives add up in an order that depends on the
// algorithm; here they are made of messages, so that results are those of Loopback to the bit:
// reductions go from rank 0 up, and floats of 16 bits are rounded once.
#include "runtime/base/Text.h"
#include "runtime/comm/GlooPlugin.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/Reduce.h"
#include "runtime/gloo/GlooMesh.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

namespace {
// An all-reduce of fewer bytes goes to all ranks whole, in one exchange instead of two.
constexpr size_t kSmallBytes = 4096;
// A larger all-reduce, and a reduce-scatter, receive so many bytes before they add them up.
constexpr size_t kPieceBytes = 8 << 20;
constexpr size_t kBlockBytes = 64 * 1024; // block of a sum; stays in a core's own cache

enum class Kind : uint64_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  Message,
  Barrier,
  Split
};

struct Call : CommCall {
  Kind kind;
  uint64_t reduction = 0;
  // Number in its kind of order: of collectives, or of messages between two ranks.
  uint64_t number = 0;
};

uint64_t mix(std::initializer_list<uint64_t> numbers) {
  return XXH3_64bits(numbers.begin(), numbers.size() * sizeof(uint64_t));
}

class GlooComm final : public Comm {
public:
  GlooComm(std::shared_ptr<GlooMesh> mesh, const GlooOptions &options, std::vector<int> members,
           int rank, std::string name, uint64_t id)
      : mesh(std::move(mesh)), timeoutSeconds(options.timeoutSeconds),
        pieceElements(options.maxElements), members(std::move(members)), myRank(rank),
        groupName(std::move(name)), id(id), sends(this->members.size()),
        receives(this->members.size()) {}
  ~GlooComm() override {
    // Waits for all ranks, so that nobody closes a connection that others still need.
    if (isWorld)
      mesh->leave();
    if (isWorld && !mesh->hasFailed())
      (void)barrier();
  }

  int rank() const override { return myRank; }
  int size() const override { return static_cast<int>(members.size()); }
  void setName(std::string name) override { groupName = std::move(name); }
  const std::string &name() const override { return groupName; }
  void abandon(const std::string &reason) override { mesh->fail(text("given up: ", reason)); }

  Status allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) override;
  Status allGather(const void *src, void *dst, size_t count, DataType type) override;
  Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                       Reduction op) override;
  Status allToAll(const void *src, void *dst, size_t count, DataType type) override;
  Status broadcast(void *data, size_t count, DataType type, int root) override;
  Status send(const void *data, size_t count, DataType type, int peer) override;
  Status receive(void *data, size_t count, DataType type, int peer) override;
  Status barrier() override;
  Status split(int colour, int key, std::unique_ptr<Comm> &group) override;

  bool isWorld = false;

private:
  // Returns Aborted if the job was given up; else numbers the call.
  Status begin(Call &call, uint64_t &counter);
  uint64_t slotOf(const Call &call, uint64_t round) const;
  size_t ranks() const { return members.size(); }
  size_t me() const { return static_cast<size_t>(myRank); }

  // Add the messages of one round of a call.
  void addSend(size_t peer, const void *from, size_t bytes) {
    parcels.push_back({members[peer], from, nullptr, bytes});
  }
  void addReceive(size_t peer, void *to, size_t bytes) {
    parcels.push_back({members[peer], nullptr, to, bytes});
  }
  Status go(const Call &call, uint64_t round);

  // Sends each rank's `count` elements at `src` to all, in order of rank at `dst`.
  Status gather(const Call &call, uint64_t round, const void *src, void *dst, size_t count);
  // Computes to[i] = reduction over ranks, of `own` for this rank and of `received` for the others.
  void reduce(const void *own, void *to, size_t count, DataType type, Reduction op);
  Status reduceWhole(const Call &call, const void *src, void *dst, Reduction op);
  Status reducePiece(const Call &call, uint64_t round, const void *src, void *dst, size_t count,
                     Reduction op);
  size_t elementsAtOnce(DataType type, size_t parts) const {
    return pieceElements ? pieceElements : std::max<size_t>(kPieceBytes / bytesOf(type) / parts, 1);
  }

  std::shared_ptr<GlooMesh> mesh;
  double timeoutSeconds;
  size_t pieceElements;
  std::vector<int> members; // ranks of the world, in this group's order
  int myRank;
  std::string groupName;
  uint64_t id; // the group's: equal on all members, and no other group's
  uint64_t calls = 0;
  std::vector<uint64_t> sends, receives; // messages to and from each member so far
  std::vector<Parcel> parcels;
  std::vector<char> received, sums; // buffers, which grow to the largest
};
} // namespace

Status GlooComm::begin(Call &call, uint64_t &counter) {
  if (mesh->hasFailed())
    return Status::aborted(text(call.words(), ": ", mesh->reason()));
  call.number = counter++;
  return {};
}

// Returns a number that is equal on ranks that make the same call, and differs for other calls.
uint64_t GlooComm::slotOf(const Call &call, uint64_t round) const {
  uint64_t root = call.kind == Kind::Broadcast ? static_cast<uint64_t>(call.peer) : 0;
  return mix({id, static_cast<uint64_t>(call.kind), call.number, call.count,
              static_cast<uint64_t>(call.type), call.reduction, root, round});
}

Status GlooComm::go(const Call &call, uint64_t round) {
  uint64_t slot = slotOf(call, round);
  for (Parcel &parcel : parcels)
    parcel.slot = slot;
  bool isThere = mesh->transfer(parcels, timeoutSeconds);
  parcels.clear();
  return isThere ? Status() : Status::aborted(text(call.words(), ": ", mesh->reason()));
}

Status GlooComm::gather(const Call &call, uint64_t round, const void *src, void *dst,
                        size_t count) {
  size_t bytes = count * bytesOf(call.type);
  for (size_t step = 1; step < ranks(); ++step) {
    size_t to = (me() + step) % ranks(), from = (me() + ranks() - step) % ranks();
    addReceive(from, at(dst, from * count, call.type), bytes);
    addSend(to, src, bytes);
  }
  DTC_RETURN_IF_ERROR(go(call, round));
  char *own = at(dst, me() * count, call.type);
  if (bytes > 0 && own != src)
    std::memcpy(own, src, bytes);
  return {};
}

void GlooComm::reduce(const void *own, void *to, size_t count, DataType type, Reduction op) {
  size_t perBlock = kBlockBytes / bytesOf(accumulatorOf(type));
  sums.resize(kBlockBytes);
  for (size_t first = 0; first < count; first += perBlock) {
    size_t length = std::min(perBlock, count - first);
    for (size_t rank = 0; rank < ranks(); ++rank) {
      const char *part =
          rank == me() ? at(own, first, type) : at(received.data(), rank * count + first, type);
      if (rank == 0)
        startReduction(sums.data(), part, length, type);
      else
        reduceInto(sums.data(), part, length, type, op);
    }
    finishReduction(at(to, first, type), sums.data(), length, type);
  }
}

// Reduces in one round: each rank receives all data and adds it up for itself.
Status GlooComm::reduceWhole(const Call &call, const void *src, void *dst, Reduction op) {
  received.resize(std::max(received.size(), ranks() * call.count * bytesOf(call.type)));
  DTC_RETURN_IF_ERROR(gather(call, 0, src, received.data(), call.count));
  reduce(src, dst, call.count, call.type, op);
  return {};
}

// Reduces a piece: each rank adds up its share, then all gather the shares, with as many bytes as a
// ring.
Status GlooComm::reducePiece(const Call &call, uint64_t round, const void *src, void *dst,
                             size_t count, Reduction op) {
  size_t element = bytesOf(call.type);
  auto beginOf = [&](size_t rank) {
    return count / ranks() * rank + std::min(count % ranks(), rank);
  };
  auto bytesOfShare = [&](size_t rank) { return (beginOf(rank + 1) - beginOf(rank)) * element; };
  size_t mine = beginOf(me() + 1) - beginOf(me());
  received.resize(std::max(received.size(), ranks() * mine * element));
  for (size_t step = 1; step < ranks(); ++step) {
    size_t to = (me() + step) % ranks(), from = (me() + ranks() - step) % ranks();
    addReceive(from, at(received.data(), from * mine, call.type), mine * element);
    addSend(to, at(src, beginOf(to), call.type), bytesOfShare(to));
  }
  DTC_RETURN_IF_ERROR(go(call, round));
  // If src is dst, the others have already received their part of it.
  char *share = at(dst, beginOf(me()), call.type);
  reduce(at(src, beginOf(me()), call.type), share, mine, call.type, op);
  for (size_t step = 1; step < ranks(); ++step) {
    size_t to = (me() + step) % ranks(), from = (me() + ranks() - step) % ranks();
    addReceive(from, at(dst, beginOf(from), call.type), bytesOfShare(from));
    addSend(to, share, mine * element);
  }
  return go(call, round + 1);
}

Status GlooComm::allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) {
  Call call{{this, "all-reduce", count, type}, Kind::AllReduce};
  call.reduction = static_cast<uint64_t>(op);
  DTC_RETURN_IF_ERROR(checkReducible(type, "all-reduce"));
  DTC_RETURN_IF_ERROR(begin(call, calls));
  if (count * bytesOf(type) <= kSmallBytes)
    return reduceWhole(call, src, dst, op);
  size_t most = elementsAtOnce(type, 1);
  uint64_t round = 0;
  for (size_t first = 0; first < count; first += most, round += 2)
    DTC_RETURN_IF_ERROR(reducePiece(call, round, at(src, first, type), at(dst, first, type),
                                    std::min(most, count - first), op));
  return {};
}

Status GlooComm::reduceScatter(const void *src, void *dst, size_t count, DataType type,
                               Reduction op) {
  Call call{{this, "reduce-scatter", count, type}, Kind::ReduceScatter};
  call.reduction = static_cast<uint64_t>(op);
  DTC_RETURN_IF_ERROR(checkReducible(type, "reduce-scatter"));
  DTC_RETURN_IF_ERROR(begin(call, calls));
  size_t most = elementsAtOnce(type, ranks());
  uint64_t round = 0;
  for (size_t first = 0; first < count; first += most, ++round) {
    size_t length = std::min(most, count - first), bytes = length * bytesOf(type);
    received.resize(std::max(received.size(), ranks() * bytes));
    for (size_t step = 1; step < ranks(); ++step) {
      size_t to = (me() + step) % ranks(), from = (me() + ranks() - step) % ranks();
      addReceive(from, at(received.data(), from * length, type), bytes);
      addSend(to, at(src, to * count + first, type), bytes);
    }
    DTC_RETURN_IF_ERROR(go(call, round));
    reduce(at(src, me() * count + first, type), at(dst, first, type), length, type, op);
  }
  return {};
}

Status GlooComm::allGather(const void *src, void *dst, size_t count, DataType type) {
  Call call{{this, "all-gather", count, type}, Kind::AllGather};
  DTC_RETURN_IF_ERROR(begin(call, calls));
  return gather(call, 0, src, dst, count);
}

Status GlooComm::allToAll(const void *src, void *dst, size_t count, DataType type) {
  Call call{{this, "all-to-all", count, type}, Kind::AllToAll};
  DTC_RETURN_IF_ERROR(begin(call, calls));
  size_t bytes = count * bytesOf(type);
  for (size_t step = 1; step < ranks(); ++step) {
    size_t to = (me() + step) % ranks(), from = (me() + ranks() - step) % ranks();
    addReceive(from, at(dst, from * count, type), bytes);
    addSend(to, at(src, to * count, type), bytes);
  }
  DTC_RETURN_IF_ERROR(go(call, 0));
  if (bytes > 0)
    std::memcpy(at(dst, me() * count, type), at(src, me() * count, type), bytes);
  return {};
}

// Broadcasts along a tree: with ranks counted from the root, each receives from the one without its
// highest bit.
Status GlooComm::broadcast(void *data, size_t count, DataType type, int root) {
  Call call{{this, "broadcast", count, type, root}, Kind::Broadcast};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/true));
  DTC_RETURN_IF_ERROR(begin(call, calls));
  size_t bytes = count * bytesOf(type), first = static_cast<size_t>(root);
  size_t position = (me() + ranks() - first) % ranks(), bit = 1;
  while (bit <= position)
    bit *= 2;
  if (position > 0) {
    addReceive((position - bit / 2 + first) % ranks(), data, bytes);
    DTC_RETURN_IF_ERROR(go(call, 0));
  }
  for (; position + bit < ranks(); bit *= 2)
    addSend((position + bit + first) % ranks(), data, bytes);
  return go(call, 0);
}

Status GlooComm::send(const void *data, size_t count, DataType type, int peer) {
  Call call{{this, "send", count, type, peer}, Kind::Message};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/false));
  DTC_RETURN_IF_ERROR(begin(call, sends[static_cast<size_t>(peer)]));
  addSend(static_cast<size_t>(peer), data, count * bytesOf(type));
  return go(call, 0);
}

Status GlooComm::receive(void *data, size_t count, DataType type, int peer) {
  Call call{{this, "receive", count, type, peer}, Kind::Message};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/false));
  DTC_RETURN_IF_ERROR(begin(call, receives[static_cast<size_t>(peer)]));
  addReceive(static_cast<size_t>(peer), data, count * bytesOf(type));
  return go(call, 0);
}

// Waits for all ranks: in round k each rank sends to the one 2^k behind it that the 2^k ranks
// before it have arrived.
Status GlooComm::barrier() {
  Call call{{this, "barrier"}, Kind::Barrier};
  call.hasData = false;
  DTC_RETURN_IF_ERROR(begin(call, calls));
  uint64_t round = 0;
  for (size_t far = 1; far < ranks(); far *= 2) {
    char mine = 1, theirs = 0;
    addReceive((me() + ranks() - far) % ranks(), &theirs, 1);
    addSend((me() + far) % ranks(), &mine, 1);
    DTC_RETURN_IF_ERROR(go(call, round++));
  }
  return {};
}

Status GlooComm::split(int colour, int key, std::unique_ptr<Comm> &group) {
  Call call{{this, "split"}, Kind::Split};
  call.hasData = false;
  if (colour < 0)
    return Status::invalidArgument(text(call.words(), ": colour ", colour, "; wanted 0 or more"));
  DTC_RETURN_IF_ERROR(begin(call, calls));
  call.type = DataType::I64;
  const int64_t mine[] = {colour, key};
  std::vector<int64_t> all(2 * ranks());
  DTC_RETURN_IF_ERROR(gather(call, 0, mine, all.data(), 2));
  std::vector<std::pair<int64_t, size_t>> chosen; // key and rank here
  for (size_t rank = 0; rank < ranks(); ++rank)
    if (all[2 * rank] == colour)
      chosen.emplace_back(all[2 * rank + 1], rank);
  std::sort(chosen.begin(), chosen.end());
  std::vector<int> theirs;
  int position = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    theirs.push_back(members[chosen[i].second]);
    if (chosen[i].second == me())
      position = static_cast<int>(i);
  }
  GlooOptions options;
  options.timeoutSeconds = timeoutSeconds;
  options.maxElements = pieceElements;
  group = std::make_unique<GlooComm>(mesh, options, std::move(theirs), position,
                                     text("part ", colour, " of ", groupName),
                                     mix({id, call.number, static_cast<uint64_t>(colour)}));
  return {};
}

static Status createWorld(const GlooOptions &options, std::unique_ptr<Comm> &world) {
  std::shared_ptr<GlooMesh> mesh;
  DTC_RETURN_IF_ERROR(GlooMesh::create(options, mesh));
  std::vector<int> all(static_cast<size_t>(options.size));
  std::iota(all.begin(), all.end(), 0);
  auto made = std::make_unique<GlooComm>(std::move(mesh), options, std::move(all), options.rank,
                                         "world", 0);
  made->isWorld = true;
  world = std::move(made);
  return {};
}

extern "C" {
[[gnu::visibility("default")]] int dtcGlooPluginVersion() { return kGlooPluginVersion; }
[[gnu::visibility("default")]] void
dtcGlooCreateWorld(const GlooOptions &options, std::unique_ptr<Comm> &world, Status &status) {
  status = createWorld(options, world);
}
}
} // namespace dtc::rt
