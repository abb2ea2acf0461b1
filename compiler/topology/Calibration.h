// Measured curves of one machine: what its products, memory, attention and collectives took.
#pragma once

#include "compiler/topology/Topology.h"

#include <memory>
#include <mutex>

namespace dtc {

// Costed by compiler/cost.
enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendRecv };
constexpr int numCollectiveKinds = 6;

llvm::StringRef nameOf(CollectiveKind kind); // "all-reduce", "all-gather", "reduce-scatter", ...

// One measurement: the median of `repeats` runs, and the distance between the first and the third
// quartile as a share of the median.
struct Measured {
  double seconds = 0;
  int64_t repeats = 1;
  double spread = 0;
};

// `units` are the compute units that worked: all of a GPU; of a CPU the cores of one process, while
// the node's other cores did the same.

// Starting one kernel and waiting for nothing else. Decides DeviceKind::launchLatency, or
// graphLatency.
struct LaunchPoint {
  bool graph = false; // as part of a captured graph
  int64_t units = 1;
  Measured time;
};

// A batch of products [m, k] x [k, n].
struct ProductPoint {
  ComputeType type = ComputeType::F32;
  int64_t m = 0, n = 0, k = 0, batch = 1, units = 1;
  Measured time;
};

enum class MemoryPattern {
  Copy,     // one tensor read, one written
  Triad,    // two read, one written: a + s b
  Pointwise // a fused chain of pointwise ops: read, bias, gelu, write
};
constexpr int numMemoryPatterns = 3;

llvm::StringRef nameOf(MemoryPattern pattern); // "copy", "triad", "pointwise"

// `bytes` are those read and written, from memory and not from caches.
struct MemoryPoint {
  MemoryPattern pattern = MemoryPattern::Copy;
  int64_t bytes = 0, units = 1;
  Measured time;
};

// `heads` (batch x heads) of `sequence` queries on as many keys, blocked.
struct AttentionPoint {
  ComputeType type = ComputeType::F32;
  int64_t sequence = 0, headDim = 0, heads = 1, units = 1;
  bool causal = false, backward = false;
  Measured time;
};

// A group of `ranks` that one level joins. `bytes` is the size of the whole tensor, as in
// compiler/cost. Of a CPU the ranks are all processes of the node.
struct CollectivePoint {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::string level;
  int64_t ranks = 2, bytes = 0;
  Measured time;
};

struct Curves; // what compiler/cost makes of the points

// The points in any order, no two of the same place. Example of use:
//   Result<Topology> topology = loadTopology("measured.toml");
//   secondsOf(work, topology->device) is then interpolated between what was measured.
struct Calibration {
  std::string machine, software, date; // as the one who measured wrote it, for people
  std::vector<LaunchPoint> launches;
  std::vector<ProductPoint> products;
  std::vector<MemoryPoint> memory;
  std::vector<AttentionPoint> attention;
  std::vector<CollectivePoint> collectives;

  // What was measured: the device and levels of the file, of class cpu those of the whole node. Set
  // by the reader.
  DeviceKind device;
  std::vector<LinkLevel> levels;

  bool isEmpty() const {
    return launches.empty() && products.empty() && memory.empty() && attention.empty() &&
           collectives.empty();
  }

  // Made by compiler/cost when it is first asked; a copy of the points starts without.
  class Slot {
  public:
    Slot() = default;
    Slot(const Slot & /*other*/) {}
    Slot &operator=(const Slot & /*other*/) {
      state = std::make_shared<State>();
      return *this;
    }
    ~Slot() = default;

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
// nearest number of them; to what the file says of the device where none was measured.
void setLaunches(DeviceKind &device, const Calibration &calibration);

// The [calibration] of `curvesFile` (whatever else that holds), as one of the topology file
// `nameOrFile` or catalogue system. Errors: those of withCalibration; a file without one; a type, a
// level or more units than that system has.
Result<Calibration> readCurves(const std::string &curvesFile, const std::string &nameOrFile);

// The topology file `nameOrFile` (or catalogue system) as TOML text with `calibration` in place of
// what it had. Errors: those of loadTopology; parts; points that the reader would refuse.
Result<std::string> withCalibration(const std::string &nameOrFile, const Calibration &calibration);

} // namespace dtc
