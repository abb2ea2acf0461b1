// Ranks as threads: every collective is a barrier at which members post their buffers, work on
// their share, and leave together.
#include "runtime/comm/Loopback.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/Reduce.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

namespace dtc::rt {
using format::text;

namespace {
// State of a whole job. One lock and one condition for all groups: members sleep most of the time.
struct Job {
  std::mutex mutex;
  std::condition_variable changed;
  std::string failure; // reason why the job was given up; empty while it runs
  double timeoutSeconds = 0;
};

// The arguments of one member in a matched call.
struct Call {
  const char *operation = nullptr;
  const void *source = nullptr;
  void *destination = nullptr;
  size_t count = 0;
  DataType type = DataType::U8;
  Reduction reduction = Reduction::Sum;
  int root = 0;
  int colour = 0, key = 0; // split
};

// A message of `send` that waits for its receiver.
struct Message {
  const void *source;
  size_t count;
  DataType type;
  bool taken = false;
};

struct Group {
  explicit Group(int size) : calls(static_cast<size_t>(size)), subgroups(calls.size()) {}
  std::vector<Call> calls;
  int arrived = 0, leaving = 0;
  uint64_t generation = 0; // counter of matched calls; odd while members work
  bool mismatch = false;   // true if the calls of the current match differ
  std::map<std::pair<int, int>, std::vector<Message *>> mail; // key: sender and receiver
  // Results of split by member: its group and its rank there.
  std::vector<std::pair<std::shared_ptr<Group>, int>> subgroups;
};

class Loopback final : public Comm {
public:
  Loopback(std::shared_ptr<Job> job, std::shared_ptr<Group> group, int rank, std::string name)
      : job(std::move(job)), group(std::move(group)), myRank(rank), groupName(std::move(name)) {}

  int rank() const override { return myRank; }
  int size() const override { return static_cast<int>(group->calls.size()); }
  void setName(std::string name) override { groupName = std::move(name); }
  const std::string &name() const override { return groupName; }

  Status allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) override;
  Status allGather(const void *src, void *dst, size_t count, DataType type) override;
  Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                       Reduction op) override;
  Status allToAll(const void *src, void *dst, size_t count, DataType type) override;
  Status broadcast(void *data, size_t count, DataType type, int root) override;
  Status send(const void *data, size_t count, DataType type, int peer) override;
  Status receive(void *data, size_t count, DataType type, int peer) override;
  Status barrier() override;
  Status split(int colour, int key, std::unique_ptr<Comm> &result) override;
  void abandon(const std::string &reason) override;

private:
  using Lock = std::unique_lock<std::mutex>;

  // Returns Aborted if the job was given up. `what()` makes the text of the error only if needed,
  // as calls are frequent and should not allocate.
  template <typename Words> Status checkRunning(Words what) const;
  // Waits for `ready` under `lock`; Aborted when the job was given up or time ran out before.
  template <typename Words, typename Ready> Status await(Lock &lock, Words what, Ready ready);
  // Posts `call`, waits for all members, runs work() outside the lock, and waits until all did.
  template <typename Work> Status meet(const Call &call, Work work);
  Status checkPeer(const char *operation, int peer) const;
  const Call &call(int rank) const { return group->calls[static_cast<size_t>(rank)]; }

  std::shared_ptr<Job> job;
  std::shared_ptr<Group> group;
  int myRank;
  std::string groupName;
};

std::string describe(const Call &call) {
  if (std::strcmp(call.operation, "barrier") == 0 || std::strcmp(call.operation, "split") == 0)
    return call.operation;
  std::string out = describeCall(call.operation, call.count, call.type);
  return std::strcmp(call.operation, "broadcast") == 0 ? text(out, " from rank ", call.root) : out;
}

bool sameCall(const Call &a, const Call &b) {
  return std::strcmp(a.operation, b.operation) == 0 && a.count == b.count && a.type == b.type &&
         a.reduction == b.reduction && a.root == b.root;
}

constexpr size_t kBlockBytes = 4096; // bytes of a reduction's intermediate result

// out[i] = reduction over the sources of `calls`, in order, of element first + i.
void reduceBlock(const std::vector<Call> &calls, size_t first, size_t count, DataType type,
                 Reduction op, void *out) {
  alignas(64) char sums[kBlockBytes];
  size_t step = kBlockBytes / bytesOf(accumulatorOf(type));
  for (size_t done = 0; done < count; done += step) {
    size_t length = std::min(step, count - done);
    startReduction(sums, at(calls[0].source, first + done, type), length, type);
    for (size_t rank = 1; rank < calls.size(); ++rank)
      reduceInto(sums, at(calls[rank].source, first + done, type), length, type, op);
    finishReduction(at(out, done, type), sums, length, type);
  }
}

void copy(void *to, const void *from, size_t count, DataType type) {
  if (count > 0 && to != from)
    std::memcpy(to, from, count * bytesOf(type));
}
} // namespace

template <typename Words> Status Loopback::checkRunning(Words what) const {
  if (job->failure.empty())
    return Status::okStatus();
  return Status::aborted(text(what(), describeMember(*this), ": ", job->failure));
}

template <typename Words, typename Ready>
Status Loopback::await(Lock &lock, Words what, Ready ready) {
  auto deadline = std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(std::min(job->timeoutSeconds, 1e9)));
  while (!ready()) {
    DTC_RETURN_IF_ERROR(checkRunning(what));
    if (job->changed.wait_until(lock, deadline) == std::cv_status::timeout && !ready() &&
        job->failure.empty()) {
      job->failure = text("a rank did not arrive within ", job->timeoutSeconds, " s");
      job->changed.notify_all();
    }
  }
  return Status::okStatus();
}

template <typename Work> Status Loopback::meet(const Call &call, Work work) {
  auto what = [&] { return describe(call); };
  Lock lock(job->mutex);
  Group &g = *group;
  // 1. The collective before this one must have been left by all. Nobody enters a job that was
  // given up, so a member that gave up while waiting can take its buffers away.
  DTC_RETURN_IF_ERROR(await(lock, what, [&] { return g.generation % 2 == 0; }));
  DTC_RETURN_IF_ERROR(checkRunning(what));
  uint64_t entered = g.generation;
  g.calls[static_cast<size_t>(myRank)] = call;
  // 2. The last to arrive compares the calls and starts the work.
  if (++g.arrived == size()) {
    g.arrived = 0;
    g.mismatch = !std::all_of(g.calls.begin(), g.calls.end(),
                              [&](const Call &other) { return sameCall(other, g.calls[0]); });
    ++g.generation;
    job->changed.notify_all();
  }
  DTC_RETURN_IF_ERROR(await(lock, what, [&] { return g.generation != entered; }));
  bool mismatch = g.mismatch;
  std::string others;
  for (int r = 0; mismatch && r < size(); ++r)
    others += text(r ? ", " : "", "rank ", r, " ", describe(this->call(r)));
  lock.unlock();
  if (!mismatch)
    work();
  lock.lock();
  // 3. Nobody returns, whatever happens to the job, while another may still use its buffers.
  if (++g.leaving == size()) {
    g.leaving = 0;
    ++g.generation;
    job->changed.notify_all();
  }
  job->changed.wait(lock, [&] { return g.generation >= entered + 2; });
  if (mismatch)
    return Status::internal(
        text("members of group '", groupName, "' called different operations: ", others));
  return Status::okStatus();
}

Status Loopback::checkPeer(const char *operation, int peer) const {
  if (peer >= 0 && peer < size())
    return Status::okStatus();
  return Status::invalidArgument(
      text(operation, describeMember(*this), ": rank ", peer, " is outside the group"));
}

Status Loopback::allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) {
  DTC_RETURN_IF_ERROR(checkReducible(type, "all-reduce"));
  return meet({"all-reduce", src, dst, count, type, op}, [&] {
    // This rank reduces its slice for all, so that src may be dst: nobody else touches the slice.
    size_t members = group->calls.size(), me = static_cast<size_t>(myRank);
    size_t begin = count / members * me + std::min(count % members, me);
    size_t end = begin + count / members + (me < count % members ? 1 : 0);
    alignas(64) char block[kBlockBytes];
    for (size_t first = begin, step = kBlockBytes / bytesOf(type); first < end; first += step) {
      size_t length = std::min(step, end - first);
      reduceBlock(group->calls, first, length, type, op, block);
      for (const Call &other : group->calls)
        copy(at(other.destination, first, type), block, length, type);
    }
  });
}

Status Loopback::allGather(const void *src, void *dst, size_t count, DataType type) {
  return meet({"all-gather", src, dst, count, type}, [&] {
    for (const Call &other : group->calls)
      copy(at(other.destination, static_cast<size_t>(myRank) * count, type), src, count, type);
  });
}

Status Loopback::reduceScatter(const void *src, void *dst, size_t count, DataType type,
                               Reduction op) {
  DTC_RETURN_IF_ERROR(checkReducible(type, "reduce-scatter"));
  return meet({"reduce-scatter", src, dst, count, type, op}, [&] {
    if (count > 0)
      reduceBlock(group->calls, static_cast<size_t>(myRank) * count, count, type, op, dst);
  });
}

Status Loopback::allToAll(const void *src, void *dst, size_t count, DataType type) {
  return meet({"all-to-all", src, dst, count, type}, [&] {
    for (int peer = 0; peer < size(); ++peer)
      copy(at(dst, static_cast<size_t>(peer) * count, type),
           at(call(peer).source, static_cast<size_t>(myRank) * count, type), count, type);
  });
}

Status Loopback::broadcast(void *data, size_t count, DataType type, int root) {
  DTC_RETURN_IF_ERROR(checkPeer("broadcast", root));
  Call call = {"broadcast", data, data, count, type};
  call.root = root;
  return meet(call, [&] { copy(data, this->call(root).source, count, type); });
}

Status Loopback::barrier() {
  return meet({"barrier"}, [] {});
}

Status Loopback::send(const void *data, size_t count, DataType type, int peer) {
  DTC_RETURN_IF_ERROR(checkPeer("send", peer));
  if (peer == myRank)
    return Status::invalidArgument(text("send", describeMember(*this), ": to itself"));
  auto what = [&] { return text(describeCall("send", count, type), " to rank ", peer); };
  Message message = {data, count, type};
  Lock lock(job->mutex);
  DTC_RETURN_IF_ERROR(checkRunning(what));
  auto &queue = group->mail[{myRank, peer}];
  queue.push_back(&message);
  job->changed.notify_all();
  Status status = await(lock, what, [&] { return message.taken; });
  if (!message.taken)
    queue.erase(std::find(queue.begin(), queue.end(), &message));
  return status;
}

Status Loopback::receive(void *data, size_t count, DataType type, int peer) {
  DTC_RETURN_IF_ERROR(checkPeer("receive", peer));
  if (peer == myRank)
    return Status::invalidArgument(text("receive", describeMember(*this), ": from itself"));
  auto what = [&] { return text(describeCall("receive", count, type), " from rank ", peer); };
  Lock lock(job->mutex);
  DTC_RETURN_IF_ERROR(checkRunning(what));
  auto &queue = group->mail[{peer, myRank}];
  DTC_RETURN_IF_ERROR(await(lock, what, [&] { return !queue.empty(); }));
  Message *message = queue.front();
  bool fits = message->count == count && message->type == type;
  // Under the lock: the sender may time out and take its buffer away.
  if (fits)
    copy(data, message->source, count, type);
  std::string sent = fits ? "" : describeCall("send", message->count, message->type);
  message->taken = true;
  queue.erase(queue.begin());
  job->changed.notify_all();
  if (!fits)
    return Status::internal(text(what(), describeMember(*this), " met ", sent));
  return Status::okStatus();
}

Status Loopback::split(int colour, int key, std::unique_ptr<Comm> &result) {
  if (colour < 0)
    return Status::invalidArgument(
        text("split", describeMember(*this), ": colour ", colour, "; wanted 0 or more"));
  Call call = {"split"};
  call.colour = colour;
  call.key = key;
  DTC_RETURN_IF_ERROR(meet(call, [&] {
    // Rank 0 makes the groups; the others see them after the collective.
    if (myRank != 0)
      return;
    std::map<int, std::vector<std::pair<int, int>>> members; // colour -> key, rank
    for (int r = 0; r < size(); ++r)
      members[this->call(r).colour].push_back({this->call(r).key, r});
    for (auto &[unused, list] : members) {
      std::sort(list.begin(), list.end());
      auto made = std::make_shared<Group>(static_cast<int>(list.size()));
      for (size_t i = 0; i < list.size(); ++i)
        group->subgroups[static_cast<size_t>(list[i].second)] = {made, static_cast<int>(i)};
    }
  }));
  // Only this member reads its own entry, and the next split needs this member.
  auto [made, rank] = std::move(group->subgroups[static_cast<size_t>(myRank)]);
  result = std::make_unique<Loopback>(job, std::move(made), rank,
                                      text("part ", colour, " of ", groupName));
  return Status::okStatus();
}

void Loopback::abandon(const std::string &reason) {
  Lock lock(job->mutex);
  if (job->failure.empty())
    job->failure = text("rank ", myRank, " of '", groupName, "' gave up: ", reason);
  job->changed.notify_all();
}

std::vector<std::unique_ptr<Comm>> makeLoopbackWorld(int size, double timeoutSeconds) {
  auto job = std::make_shared<Job>();
  job->timeoutSeconds = timeoutSeconds;
  auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Comm>> world;
  for (int rank = 0; rank < size; ++rank)
    world.push_back(std::make_unique<Loopback>(job, group, rank, "world"));
  return world;
}

} // namespace dtc::rt
