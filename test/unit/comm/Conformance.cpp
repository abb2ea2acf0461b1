// The conformance suite of Comm. Values are small integers, so sums are exact in any order.
#include "test/unit/comm/Conformance.h"
#include "runtime/base/HalfFloats.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace dtc::rt::conformance {
namespace {
#define EXPECT_OK(expr)                                                                            \
  do {                                                                                             \
    Status status = (expr);                                                                        \
    EXPECT_TRUE(status.ok()) << status.message();                                                  \
  } while (false)

constexpr size_t counts[] = {0, 1, 31, 32, 33, 1000, 100003};

// Returns element i of rank r's buffer.
template <typename T> T valueOf(int rank, size_t i) {
  return static_cast<T>((rank + 1) * 3 + static_cast<int>(i % 101) - 50);
}
template <typename T> std::vector<T> bufferOf(int rank, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = valueOf<T>(rank, i);
  return values;
}
template <typename T> T reduced(int ranks, size_t i, Reduction op) {
  T result = valueOf<T>(0, i);
  for (int r = 1; r < ranks; ++r)
    result = op == Reduction::Sum ? result + valueOf<T>(r, i) : std::max(result, valueOf<T>(r, i));
  return result;
}

template <typename T> void allReduceOf(Comm &world, DataType type, Reduction op) {
  for (size_t count : counts) {
    std::vector<T> source = bufferOf<T>(world.rank(), count), result(count), wanted(count);
    for (size_t i = 0; i < count; ++i)
      wanted[i] = reduced<T>(world.size(), i, op);
    EXPECT_OK(world.allReduce(source.data(), result.data(), count, type, op));
    EXPECT_EQ(result, wanted) << count << " elements";
    EXPECT_EQ(source, bufferOf<T>(world.rank(), count)) << "the source was written";
    EXPECT_OK(world.allReduce(source.data(), source.data(), count, type, op));
    EXPECT_EQ(source, wanted) << count << " elements in place";
  }
}

// Floats of 16 bits: rank 0 has a large number, to which each of the others adds half of its last
// bit. A sum that is rounded after each addition would not change.
struct Narrow {
  DataType type;
  float large;
  uint16_t (*narrow)(float);

  float valueOf(int rank, size_t i) const {
    float sign = i % 3 == 0 ? -1.0f : 1.0f, scale = static_cast<float>(1 << i % 5);
    return sign * scale * (rank == 0 ? large : 1.0f);
  }
  std::vector<uint16_t> bufferOf(int rank, size_t count) const {
    std::vector<uint16_t> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = narrow(valueOf(rank, i));
    return values;
  }
  uint16_t reduced(int ranks, size_t i, Reduction op) const {
    float result = valueOf(0, i);
    for (int r = 1; r < ranks; ++r)
      result = op == Reduction::Sum ? result + valueOf(r, i) : std::max(result, valueOf(r, i));
    return narrow(result);
  }
};
constexpr Narrow narrowTypes[] = {{DataType::Bf16, 256, toBf16}, {DataType::F16, 2048, toF16}};

void reduceNarrow(Comm &world) {
  auto me = static_cast<size_t>(world.rank());
  for (const Narrow &of : narrowTypes)
    for (Reduction op : {Reduction::Sum, Reduction::Max})
      for (size_t count : counts) {
        std::vector<uint16_t> source = of.bufferOf(world.rank(), count), result(count),
                              wanted(count);
        for (size_t i = 0; i < count; ++i)
          wanted[i] = of.reduced(world.size(), i, op);
        EXPECT_OK(world.allReduce(source.data(), result.data(), count, of.type, op));
        EXPECT_EQ(result, wanted) << count << " elements";
        EXPECT_OK(world.allReduce(source.data(), source.data(), count, of.type, op));
        EXPECT_EQ(source, wanted) << count << " elements in place";
        source = of.bufferOf(world.rank(), count * static_cast<size_t>(world.size()));
        for (size_t i = 0; i < count; ++i)
          wanted[i] = of.reduced(world.size(), me * count + i, op);
        EXPECT_OK(world.reduceScatter(source.data(), result.data(), count, of.type, op));
        EXPECT_EQ(result, wanted) << count << " elements scattered";
      }
}

void allReduce(Comm &world) {
  for (Reduction op : {Reduction::Sum, Reduction::Max}) {
    allReduceOf<float>(world, DataType::F32, op);
    allReduceOf<int32_t>(world, DataType::I32, op);
    allReduceOf<int64_t>(world, DataType::I64, op);
  }
}

template <typename T> void allGatherOf(Comm &world, DataType type) {
  auto ranks = static_cast<size_t>(world.size()), me = static_cast<size_t>(world.rank());
  for (size_t count : counts) {
    std::vector<T> wanted;
    for (int r = 0; r < world.size(); ++r) {
      std::vector<T> piece = bufferOf<T>(r, count);
      wanted.insert(wanted.end(), piece.begin(), piece.end());
    }
    std::vector<T> source = bufferOf<T>(world.rank(), count), result(count * ranks);
    EXPECT_OK(world.allGather(source.data(), result.data(), count, type));
    EXPECT_EQ(result, wanted) << count << " elements";
    std::vector<T> inPlace(count * ranks);
    std::copy(source.begin(), source.end(), inPlace.begin() + static_cast<ptrdiff_t>(me * count));
    EXPECT_OK(world.allGather(inPlace.data() + me * count, inPlace.data(), count, type));
    EXPECT_EQ(inPlace, wanted) << count << " elements in place";
  }
}

void allGather(Comm &world) {
  allGatherOf<float>(world, DataType::F32);
  allGatherOf<uint16_t>(world, DataType::Bf16);
  allGatherOf<uint16_t>(world, DataType::F16);
  allGatherOf<uint8_t>(world, DataType::U8);
  allGatherOf<int64_t>(world, DataType::I64);
}

template <typename T> void reduceScatterOf(Comm &world, DataType type, Reduction op) {
  auto ranks = static_cast<size_t>(world.size()), me = static_cast<size_t>(world.rank());
  for (size_t count : counts) {
    std::vector<T> source = bufferOf<T>(world.rank(), count * ranks), result(count), wanted(count);
    for (size_t i = 0; i < count; ++i)
      wanted[i] = reduced<T>(world.size(), me * count + i, op);
    EXPECT_OK(world.reduceScatter(source.data(), result.data(), count, type, op));
    EXPECT_EQ(result, wanted) << count << " elements";
  }
}

void reduceScatter(Comm &world) {
  for (Reduction op : {Reduction::Sum, Reduction::Max}) {
    reduceScatterOf<float>(world, DataType::F32, op);
    reduceScatterOf<int32_t>(world, DataType::I32, op);
    reduceScatterOf<int64_t>(world, DataType::I64, op);
  }
}

template <typename T> void allToAllOf(Comm &world, DataType type) {
  auto ranks = static_cast<size_t>(world.size()), me = static_cast<size_t>(world.rank());
  for (size_t count : counts) {
    std::vector<T> source = bufferOf<T>(world.rank(), count * ranks), result(count * ranks), wanted;
    for (int r = 0; r < world.size(); ++r)
      for (size_t i = 0; i < count; ++i)
        wanted.push_back(valueOf<T>(r, me * count + i));
    EXPECT_OK(world.allToAll(source.data(), result.data(), count, type));
    EXPECT_EQ(result, wanted) << count << " elements";
  }
}

void allToAll(Comm &world) {
  allToAllOf<float>(world, DataType::F32);
  allToAllOf<uint8_t>(world, DataType::U8);
  allToAllOf<uint16_t>(world, DataType::Bf16);
}

void broadcast(Comm &world) {
  for (int root = 0; root < world.size(); ++root)
    for (size_t count : counts) {
      std::vector<int32_t> data = bufferOf<int32_t>(world.rank(), count);
      EXPECT_OK(world.broadcast(data.data(), count, DataType::I32, root));
      EXPECT_EQ(data, bufferOf<int32_t>(root, count)) << "from " << root;
    }
}

// Each pair of ranks exchanges messages, and the lower rank sends first.
void sendReceive(Comm &world) {
  for (int low = 0; low < world.size(); ++low)
    for (int high = low + 1; high < world.size(); ++high) {
      if (world.rank() != low && world.rank() != high)
        continue;
      int peer = world.rank() == low ? high : low;
      for (size_t count : counts) {
        std::vector<float> mine = bufferOf<float>(world.rank(), count), theirs(count);
        if (world.rank() == low)
          EXPECT_OK(world.send(mine.data(), count, DataType::F32, peer));
        EXPECT_OK(world.receive(theirs.data(), count, DataType::F32, peer));
        if (world.rank() == high)
          EXPECT_OK(world.send(mine.data(), count, DataType::F32, peer));
        EXPECT_EQ(theirs, bufferOf<float>(peer, count));
      }
    }
}

// Messages of one pair arrive in the order in which they were sent.
void sendKeepsOrder(Comm &world) {
  if (world.size() < 2)
    return;
  for (int32_t i = 0; i < 50; ++i) {
    int32_t value = i, got = -1;
    if (world.rank() == 0) {
      EXPECT_OK(world.send(&value, 1, DataType::I32, 1));
    } else if (world.rank() == 1) {
      EXPECT_OK(world.receive(&got, 1, DataType::I32, 0));
      EXPECT_EQ(got, i);
    }
  }
}

void refusesWhatItCannotDo(Comm &world) {
  uint16_t in = 0, out = 0;
  Status status = world.allReduce(&in, &out, 1, DataType::U8, Reduction::Sum);
  EXPECT_EQ(status.statusCode(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "all-reduce of u8 is not implemented; wanted f32, bf16, f16, i32 or i64");
  status = world.reduceScatter(&in, &out, 1, DataType::U8, Reduction::Max);
  EXPECT_EQ(status.message(),
            "reduce-scatter of u8 is not implemented; wanted f32, bf16, f16, i32 or i64");
  for (int peer : {-1, world.size(), world.rank()}) {
    EXPECT_EQ(world.send(&in, 1, DataType::F16, peer).statusCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(world.receive(&in, 1, DataType::F16, peer).statusCode(), StatusCode::InvalidArgument);
  }
  EXPECT_EQ(world.broadcast(&in, 1, DataType::F16, world.size()).statusCode(),
            StatusCode::InvalidArgument);
  std::unique_ptr<Comm> group;
  EXPECT_EQ(world.split(-1, 0, group).statusCode(), StatusCode::InvalidArgument);
  EXPECT_EQ(group, nullptr);
}

// Splits into even and odd ranks, in descending order of rank.
void split(Comm &world) {
  std::unique_ptr<Comm> group;
  int colour = world.rank() % 2;
  EXPECT_OK(world.split(colour, -world.rank(), group));
  ASSERT_NE(group, nullptr);
  int members = (world.size() + 1 - colour) / 2;
  EXPECT_EQ(group->size(), members);
  EXPECT_EQ(group->rank(), members - 1 - world.rank() / 2);
  EXPECT_EQ(group->name(), "part " + std::to_string(colour) + " of world");
  int32_t me = world.rank();
  std::vector<int32_t> all(static_cast<size_t>(members)), wanted;
  for (int r = members - 1; r >= 0; --r)
    wanted.push_back(r * 2 + colour);
  EXPECT_OK(group->allGather(&me, all.data(), 1, DataType::I32));
  EXPECT_EQ(all, wanted);
  // Makes a group of one from a group.
  std::unique_ptr<Comm> alone;
  EXPECT_OK(group->split(group->rank(), 0, alone));
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->size(), 1);
  float value = 5, sum = 0;
  EXPECT_OK(alone->allReduce(&value, &sum, 1, DataType::F32, Reduction::Sum));
  EXPECT_EQ(sum, 5);
}

// Two groups have the same members. Each is used by a thread of its own, at different speeds.
void groupsAreIndependent(Comm &world) {
  std::unique_ptr<Comm> first, second;
  EXPECT_OK(world.split(0, world.rank(), first));
  EXPECT_OK(world.split(0, world.rank(), second));
  ASSERT_TRUE(first && second);
  auto use = [&](Comm &group, int32_t times) {
    for (int32_t i = 0; i < times; ++i) {
      int32_t value = i, sum = 0;
      EXPECT_OK(group.allReduce(&value, &sum, 1, DataType::I32, Reduction::Sum));
      EXPECT_EQ(sum, i * group.size());
      std::vector<float> data = bufferOf<float>(group.rank(), 5000);
      EXPECT_OK(group.broadcast(data.data(), data.size(), DataType::F32, 0));
      EXPECT_EQ(data, bufferOf<float>(0, 5000));
    }
  };
  std::thread other([&] { use(*second, 60); });
  use(*first, 100);
  other.join();
}

void barrier(Comm &world) {
  for (int i = 0; i < 20; ++i)
    EXPECT_OK(world.barrier());
}

void names(Comm &world) {
  EXPECT_EQ(world.name(), "world");
  std::unique_ptr<Comm> group;
  EXPECT_OK(world.split(0, world.rank(), group));
  ASSERT_NE(group, nullptr);
  group->setName("dp");
  EXPECT_EQ(group->name(), "dp");
}
} // namespace

const Check checks[] = {
    {"AllReduce", allReduce},
    {"AllGather", allGather},
    {"ReduceScatter", reduceScatter},
    {"ReduceNarrow", reduceNarrow},
    {"AllToAll", allToAll},
    {"Broadcast", broadcast},
    {"SendReceive", sendReceive},
    {"SendKeepsOrder", sendKeepsOrder},
    {"RefusesWhatItCannotDo", refusesWhatItCannotDo},
    {"Split", split},
    {"GroupsAreIndependent", groupsAreIndependent},
    {"Barrier", barrier},
    {"Names", names},
};
const int numChecks = static_cast<int>(std::size(checks));

} // namespace dtc::rt::conformance
