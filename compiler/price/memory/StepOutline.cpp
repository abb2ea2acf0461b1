// Collectives beside compute, and the bytes that are live.
#include "compiler/price/memory/StepOutline.h"

#include "passes/schedule/CollectiveBuckets.h"
#include "passes/schedule/MemoryPlan.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace dtc {
namespace {

int64_t aligned(int64_t bytes) {
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(bytes), kBufferAlignment));
}

// A collective or bucket on the stream of communication.
struct Transfer {
  int64_t time, neededAt;
  std::vector<int> buffers;
};

class CollectiveRunner {
public:
  CollectiveRunner(StepOutline &outline, int64_t bucketBytes, size_t inFlight)
      : outline(outline), bucketBytes(bucketBytes), inFlight(inFlight),
        isGone(outline.buffers.size(), false) {}

  void run() {
    merge(/*reducesScattered=*/true);
    merge(/*reducesScattered=*/false);
    std::sort(transfers.begin(), transfers.end(), [](const Transfer &a, const Transfer &b) {
      return a.time < b.time; // one stream, so no two are equal
    });
    keepUntilWaitedFor();
    dropMoved();
  }

private:
  void merge(bool reducesScattered) {
    std::vector<std::vector<unsigned>> chosen = chooseBuckets(reducesScattered);
    for (const std::vector<unsigned> &members : chosen)
      if (members.size() > 1)
        addBucket(members);
      else
        addSingle(outline.collectives[members.front()]);
    if (reducesScattered)
      delayNeeds(chosen);
  }

  // Moves the time at which a reduce-scatter's result is needed to the reduction of its bucket.
  void delayNeeds(const std::vector<std::vector<unsigned>> &chosen) {
    std::map<int64_t, int64_t> moved; // times
    for (const std::vector<unsigned> &members : chosen)
      for (unsigned index : members)
        moved[outline.collectives[index].time] = outline.collectives[members.back()].time;
    for (StepOutline::Collective &collective : outline.collectives)
      if (auto found = moved.find(collective.neededAt); found != moved.end()) {
        collective.neededAt = found->second;
        reducedAt.insert(found->second);
      }
  }

  // When compute waits for a collective: not for the sake of another, which follows it on its
  // stream.
  int64_t waitedForAt(const StepOutline::Collective &collective) const {
    return reducedAt.count(collective.neededAt) ? outline.length : collective.neededAt;
  }

  std::vector<std::vector<unsigned>> chooseBuckets(bool reducesScattered) {
    CollectiveBuckets buckets(bucketBytes);
    for (unsigned index = 0; index < outline.collectives.size(); ++index) {
      const StepOutline::Collective &collective = outline.collectives[index];
      if (collective.reducesScattered != reducesScattered)
        continue;
      buckets.closeIf(
          [&](unsigned member) { return outline.collectives[member].neededAt <= collective.time; });
      if (collective.isMember)
        buckets.add(index, collective.key, collective.bucketBytes);
      else
        addSingle(collective);
    }
    return buckets.take();
  }

  void addSingle(const StepOutline::Collective &collective) {
    Transfer transfer{collective.time, waitedForAt(collective), {}};
    for (int buffer : {collective.src, collective.dst})
      if (buffer >= 0)
        transfer.buffers.push_back(buffer);
    transfers.push_back(std::move(transfer));
  }

  int create(int64_t bytes, int64_t begin, int64_t end, exec::BufferKind kind) {
    outline.buffers.push_back({bytes, begin, end, kind});
    isGone.push_back(false);
    return static_cast<int>(outline.buffers.size()) - 1;
  }

  void addBucket(const std::vector<unsigned> &members) {
    const StepOutline::Collective &first = outline.collectives[members.front()];
    int64_t time = outline.collectives[members.back()].time, bytes = 0;
    Transfer transfer{time, outline.length, {}};
    int64_t sourceBegin = time, destinationEnd = time;
    bool isInPlace = true; // all results are parts of one bucket that is reduced later
    for (unsigned index : members) {
      const StepOutline::Collective &member = outline.collectives[index];
      bytes += aligned(member.partBytes);
      transfer.neededAt = std::min(transfer.neededAt, waitedForAt(member));
      sourceBegin = std::min(sourceBegin, member.packedAt);
      bool isMoved = member.dst >= 0 && isGone[static_cast<size_t>(member.dst)];
      isInPlace &= isMoved;
      if (member.movesDestination && member.dst >= 0 && !isMoved)
        destinationEnd = std::max(destinationEnd, take(member.dst).end);
      if (member.movesSource && member.src >= 0) {
        const StepOutline::Buffer &source = take(member.src);
        if (first.kind != exec::CollectiveKind::ReduceScatter)
          sourceBegin = std::min(sourceBegin, source.begin);
      }
    }
    switch (first.kind) {
    case exec::CollectiveKind::AllReduce:
      transfer.buffers = {create(bytes, sourceBegin, destinationEnd, exec::BufferKind::Gradient)};
      break;
    case exec::CollectiveKind::ReduceScatter:
      transfer.buffers = {
          create(first.ranks * bytes, sourceBegin, time, exec::BufferKind::Communication)};
      if (!isInPlace)
        transfer.buffers.push_back(create(bytes, time, destinationEnd, exec::BufferKind::Gradient));
      break;
    default:
      transfer.buffers = {create(bytes, sourceBegin, time, exec::BufferKind::Communication),
                          create(first.ranks * bytes, time, time, exec::BufferKind::Communication)};
    }
    transfers.push_back(std::move(transfer));
  }

  const StepOutline::Buffer &take(int buffer) {
    isGone[static_cast<size_t>(buffer)] = true;
    return outline.buffers[static_cast<size_t>(buffer)];
  }

  bool sends(const Transfer &transfer) const {
    return std::any_of(transfer.buffers.begin(), transfer.buffers.end(), [&](int buffer) {
      return outline.buffers[static_cast<size_t>(buffer)].kind == exec::BufferKind::Communication;
    });
  }

  // Compute waits for what it depends on, and before a transfer with buffers of its own for the one
  // that is `inFlight` back; whatever it waits for, all before it is over, too.
  void keepUntilWaitedFor() {
    std::vector<size_t> own; // transfers with buffers of their own
    for (size_t index = 0; index < transfers.size(); ++index)
      if (sends(transfers[index]))
        own.push_back(index);
    int64_t over = outline.length;
    size_t next = own.size(); // the first of `own` behind the transfer
    for (size_t index = transfers.size(); index-- > 0;) {
      over = std::min(over, transfers[index].neededAt);
      while (next > 0 && own[next - 1] > index)
        --next;
      size_t waits = std::max<size_t>(1, next) + inFlight - 1;
      if (inFlight > 0 && waits < own.size())
        over = std::min(over, transfers[own[waits]].time);
      for (int buffer : transfers[index].buffers) {
        int64_t &end = outline.buffers[static_cast<size_t>(buffer)].end;
        end = std::max(end, over);
      }
    }
  }

  void dropMoved() {
    std::vector<StepOutline::Buffer> left;
    for (size_t index = 0; index < isGone.size(); ++index)
      if (!isGone[index])
        left.push_back(outline.buffers[index]);
    outline.buffers = std::move(left);
    outline.collectives.clear();
  }

  StepOutline &outline;
  int64_t bucketBytes;
  size_t inFlight;
  std::vector<bool> isGone; // buffers that are parts of a bucket's
  std::vector<Transfer> transfers;
  std::set<int64_t> reducedAt; // times of what reduces what others scatter
};

std::vector<PlannedBuffer> plannedIn(const StepOutline &outline, bool onHost) {
  std::vector<PlannedBuffer> planned;
  for (const StepOutline::Buffer &buffer : outline.buffers)
    if (buffer.isOnHost == onHost)
      planned.push_back({aligned(buffer.bytes), buffer.begin, buffer.end});
  return planned;
}

BytesByKind mostLive(const StepOutline &outline, llvm::ArrayRef<PlannedBuffer> planned) {
  int64_t time = timeOfMostLive(planned);
  BytesByKind bytes = outline.persistent;
  for (const StepOutline::Buffer &buffer : outline.buffers)
    if (!buffer.isOnHost && buffer.begin <= time && time <= buffer.end)
      bytes[static_cast<size_t>(buffer.kind)] += aligned(buffer.bytes);
  return bytes;
}

} // namespace

void keepSums(StepOutline &outline) {
  for (StepOutline::Buffer &buffer : outline.buffers)
    if (buffer.isSum) {
      buffer.begin = 0;
      buffer.end = std::max(buffer.end, outline.lastRepeated);
    }
}

void runCollectivesAside(StepOutline &outline, int64_t bucketBytes, size_t inFlight) {
  CollectiveRunner(outline, bucketBytes, inFlight).run();
}

BytesByKind mostLiveBytes(const StepOutline &outline) {
  return mostLive(outline, plannedIn(outline, /*onHost=*/false));
}

BytesByKind plannedBytes(const StepOutline &outline, int64_t goodEnough) {
  std::vector<PlannedBuffer> planned = plannedIn(outline, /*onHost=*/false);
  BytesByKind bytes = mostLive(outline, planned);
  MemoryPlan plan(planned, goodEnough);
  bytes[static_cast<size_t>(exec::BufferKind::Temporary)] +=
      plan.getArenaBytes() - plan.getLowerBound();
  return bytes;
}

int64_t plannedOnHost(const StepOutline &outline) {
  return outline.persistentOnHost + MemoryPlan(plannedIn(outline, /*onHost=*/true)).getArenaBytes();
}

} // namespace dtc
