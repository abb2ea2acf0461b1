// Measured curves of one machine: the times of its products, memory traffic, attention and
// collectives.
#pragma once

#include "compiler/describe/topology/Topology.h"

#include <memory>
#include <mutex>

namespace dtc {

// The collectives that compiler/price/cost prices.
enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendRecv };
constexpr int numCollectiveKinds = 6;

// The names of collectives in topology files, in their order.
inline constexpr llvm::StringRef kCollectiveKindNames[] = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive"};
// Returns "all-reduce", "all-gather", "reduce-scatter", ...
llvm::StringRef nameOf(CollectiveKind kind);

// One measurement: the median of `repeats` runs, and the distance between the first and the third
// quartile as a share of the median.
struct Measured {
  double seconds = 0;
  int64_t repeats = 1;
  double spread = 0;
};

// In all points below, `units` are the compute units that worked: all units of a GPU, or on a CPU
// the cores of one process, while the node's other cores did the same work.

// The time to start one kernel without waiting for anything else. Determines
// DeviceKind::launchLatency, or graphLatency.
struct LaunchPoint {
  bool graph = false; // part of a captured graph
  int64_t units = 1;
  Measured time;
};

// A batch of products [m, k] x [k, n].
struct ProductPoint {
  ComputeType type = ComputeType::F32;
  int64_t m = 0, n = 0, k = 0, batch = 1, units = 1;
  Measured time;
};

// A pattern of memory traffic.
enum class MemoryPattern {
  Copy,     // reads one tensor, writes one
  Triad,    // reads two, writes one: a + s b
  Pointwise // a fused chain of pointwise ops: read, bias, gelu, write
};
constexpr int numMemoryPatterns = 3;

// The names of patterns in topology files, in their order.
inline constexpr llvm::StringRef kMemoryPatternNames[] = {"copy", "triad", "pointwise"};
// Returns "copy", "triad" or "pointwise".
llvm::StringRef nameOf(MemoryPattern pattern);

// A measurement of memory traffic. `bytes` counts bytes read and written, from memory and not from
// caches.
struct MemoryPoint {
  MemoryPattern pattern = MemoryPattern::Copy;
  int64_t bytes = 0, units = 1;
  Measured time;
};

// A measurement of blocked attention: `heads` (batch x heads) with `sequence` queries and as many
// keys.
struct AttentionPoint {
  ComputeType type = ComputeType::F32;
  int64_t sequence = 0, headDim = 0, heads = 1, units = 1;
  bool causal = false, backward = false;
  Measured time;
};

// A collective of a group of `ranks` that one level joins. `bytes` is the size of the whole tensor,
// as in compiler/price/cost. On a CPU the ranks are all processes of the node.
struct CollectivePoint {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::string level;
  int64_t ranks = 2, bytes = 0;
  Measured time;
};

struct Curves; // made from the points by compiler/price/cost

// All points, in any order, with at most one per place. Example of use:
//   Result<Topology> topology = loadTopology("measured.toml");
//   secondsOf(work, topology->device) is then interpolated between the measured points.
struct Calibration {
  std::string machine, software, date; // as written by the person who measured, for people
  std::vector<LaunchPoint> launches;
  std::vector<ProductPoint> products;
  std::vector<MemoryPoint> memory;
  std::vector<AttentionPoint> attention;
  std::vector<CollectivePoint> collectives;

  // The measured machine: the device and levels of the file, for class cpu those of the whole node.
  // Set by the reader.
  DeviceKind device;
  std::vector<LinkLevel> levels;

  // Returns true if there are no points.
  bool isEmpty() const {
    return launches.empty() && products.empty() && memory.empty() && attention.empty() &&
           collectives.empty();
  }

  // Holds the curves, which compiler/price/cost makes at their first use. A copy of the points
  // starts without curves.
  class Slot {
  public:
    Slot() = default;
    Slot(const Slot & /*other*/) {}
    Slot &operator=(const Slot & /*other*/) {
      state = std::make_shared<State>();
      return *this;
    }
    ~Slot() = default;

    // Returns the curves. The first call makes them with `make`; safe for several threads.
    template <typename Make> const Curves &get(Make make) const {
      std::call_once(state->once, [&] { state->curves = make(); });
      return *state->curves;
    }

  private:
    struct State {
      std::once_flag once;
      std::shared_ptr<const Curves> curves;
    };
    std::shared_ptr<State> state = std::make_shared<State>();
  };
  Slot curves;
};

// Sets the launch latencies of a device of some units to those measured with as many, or with the
// nearest number of units. Without measurements the file's figures stay.
void setLaunches(DeviceKind &device, const Calibration &calibration);

} // namespace dtc
