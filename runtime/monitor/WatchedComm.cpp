#include "runtime/monitor/WatchedComm.h"

namespace dtc::rt {
namespace {

class WatchedComm final : public Comm {
public:
  WatchedComm(std::unique_ptr<Comm> inner, Progress &progress)
      : inner(std::move(inner)), progress(progress) {}

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  void setName(std::string name) override { inner->setName(std::move(name)); }
  const std::string &name() const override { return inner->name(); }
  void abandon(const std::string &reason) override { inner->abandon(reason); }

  Status allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) override {
    return during(HostCall::AllReduce, [&] { return inner->allReduce(src, dst, count, type, op); });
  }
  Status allGather(const void *src, void *dst, size_t count, DataType type) override {
    return during(HostCall::AllGather, [&] { return inner->allGather(src, dst, count, type); });
  }
  Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                       Reduction op) override {
    return during(HostCall::ReduceScatter,
                  [&] { return inner->reduceScatter(src, dst, count, type, op); });
  }
  Status allToAll(const void *src, void *dst, size_t count, DataType type) override {
    return during(HostCall::AllToAll, [&] { return inner->allToAll(src, dst, count, type); });
  }
  Status broadcast(void *data, size_t count, DataType type, int root) override {
    return during(HostCall::Broadcast, [&] { return inner->broadcast(data, count, type, root); });
  }
  Status barrier() override {
    return during(HostCall::Barrier, [&] { return inner->barrier(); });
  }
  Status split(int colour, int key, std::unique_ptr<Comm> &group) override {
    return during(HostCall::Split, [&] { return inner->split(colour, key, group); });
  }
  Status send(const void *data, size_t count, DataType type, int peer) override {
    return during(
        HostCall::Send, [&] { return inner->send(data, count, type, peer); }, peer);
  }
  Status receive(void *data, size_t count, DataType type, int peer) override {
    return during(
        HostCall::Receive, [&] { return inner->receive(data, count, type, peer); }, peer);
  }

private:
  template <typename Call> Status during(HostCall kind, const Call &call, int peer = -1) {
    constexpr int stream = static_cast<int>(ProgressPage::kHostStream);
    uint64_t tag = kHostTag | static_cast<uint64_t>(peer + 1) << 32 | static_cast<uint32_t>(kind);
    // Calls with one peer are not part of the order of all ranks.
    uint64_t event =
        peer < 0 ? progress.schedule(tag, ProgressPage::kHostGroup, Meets::Collective) : 0;
    progress.begin(stream, tag, event, monotonicNanos());
    Status status = call();
    progress.end(stream, event, monotonicNanos());
    return status;
  }

  std::unique_ptr<Comm> inner;
  Progress &progress;
};

} // namespace

std::unique_ptr<Comm> watch(std::unique_ptr<Comm> inner, Progress &progress) {
  return std::make_unique<WatchedComm>(std::move(inner), progress);
}

} // namespace dtc::rt
