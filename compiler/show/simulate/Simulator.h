// An event simulator: tasks on the in-order streams of devices, and transfers that share links.
#pragma once

#include "compiler/show/simulate/SimTask.h"
#include "compiler/support/Error.h"

#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace dtc {

// The time span of a task.
struct SimTime {
  double start = 0, end = 0; // seconds
};

// The result of a simulation.
struct SimResult {
  double makespan = 0;                   // seconds until the last end
  std::vector<SimTime> tasks;            // indexed by task
  std::vector<double> streamUtilisation; // share of the makespan that a task was on it
  std::vector<double> linkUtilisation;   // bytes carried of those that it could have carried
  // Tasks from the start to the last end: each was held up last by the one before it.
  std::vector<int> criticalPath;
};

// A set of devices, streams, links and tasks to simulate. Every add returns an index. Example:
//   Simulation simulation;
//   int gpu = simulation.addDevice({"gpu 0"});
//   int compute = simulation.addStream({gpu, "compute"});
//   int comm = simulation.addStream({gpu, "comm"});
//   int link = simulation.addLink({"nvlink", 450e9});
//   int work = simulation.addTask({SimTaskKind::Compute, "matmul", {compute}, {}, 1e-3});
//   simulation.addTask({SimTaskKind::Transfer, "send", {comm}, {work}, 5e-6, 1e6, {link}});
//   Result<SimResult> result = simulation.run();
class Simulation {
public:
  // Adds a device and returns its index.
  int addDevice(SimDevice device);
  // Adds a stream and returns its index.
  int addStream(SimStream stream);
  // Adds a link and returns its index.
  int addLink(SimLink link);
  // Adds a task and returns its index.
  int addTask(SimTask task);
  // `task` waits for `dependency`, which may have been added later.
  void addDependency(int task, int dependency) { tasks[task].dependencies.push_back(dependency); }

  // Deterministic: the same simulation gives the same times. About n log n in the number of tasks,
  // times the transfers that share links with one another.
  // Errors: an index, a duration or a bandwidth out of range, with the task; a deadlock, with the
  // tasks that wait for one another.
  Result<SimResult> run() const;

  llvm::ArrayRef<SimDevice> allDevices() const { return devices; }
  llvm::ArrayRef<SimStream> allStreams() const { return streams; }
  llvm::ArrayRef<SimLink> allLinks() const { return links; }
  llvm::ArrayRef<SimTask> allTasks() const { return tasks; }

private:
  std::vector<SimDevice> devices;
  std::vector<SimStream> streams;
  std::vector<SimLink> links;
  std::vector<SimTask> tasks;
};

} // namespace dtc
