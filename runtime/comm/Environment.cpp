// Recognises launchers by the variables that they set.
#include "runtime/comm/Environment.h"

#include "runtime/base/Text.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace dtc::rt {
using format::text;

namespace {
// The variables in which one launcher says who a process is. Null where it has none.
struct Variables {
  Launcher launcher;
  const char *rank, *size, *localRank, *localSize;
};

// In order of precedence: mpirun inside a Slurm job sets the first and the last.
constexpr Variables launchers[] = {
    {Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::Pmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {Launcher::Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
    {Launcher::Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};

const char *orUnset(const char *value) { return value ? value : "(unset)"; }

// A whole number of 0 or more.
Status parse(const char *name, const char *value, int &number) {
  std::string_view digits = value;
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end() || number < 0)
    return Status::invalidArgument(text("reading the launch environment: ", name, " is '", value,
                                        "'; wanted a whole number, 0 or more"));
  return Status::okStatus();
}

// Tasks on node `node` by Slurm's SLURM_STEP_TASKS_PER_NODE: "2(x3),1" is 2, 2, 2, 1.
std::optional<int> slurmTasksOnNode(std::string_view list, int node) {
  while (!list.empty()) {
    int tasks = 0, times = 1;
    auto [end, error] = std::from_chars(list.begin(), list.end(), tasks);
    if (error != std::errc() || tasks < 1)
      return std::nullopt;
    list.remove_prefix(static_cast<size_t>(end - list.begin()));
    if (list.starts_with("(x")) {
      list.remove_prefix(2);
      auto [stop, bad] = std::from_chars(list.begin(), list.end(), times);
      if (bad != std::errc() || stop == list.end() || *stop != ')' || times < 1)
        return std::nullopt;
      list.remove_prefix(static_cast<size_t>(stop - list.begin()) + 1);
    }
    if (node < times)
      return tasks;
    node -= times;
    if (list.starts_with(","))
      list.remove_prefix(1);
    else if (!list.empty())
      return std::nullopt;
  }
  return std::nullopt;
}

class Detector {
public:
  Detector(const EnvironmentReader &read, LaunchEnvironment &result) : read(read), result(result) {}

  // Fills `result` if the launcher of `v` started this process.
  Status tryLauncher(const Variables &v, bool &found) {
    found = false;
    const char *rank = read(v.rank), *size = read(v.size);
    // A batch script is not a task: only srun's children are.
    if (v.launcher == Launcher::Slurm && !read("SLURM_STEP_ID"))
      return Status::okStatus();
    if (!rank && !size)
      return Status::okStatus();
    if (!rank || !size)
      return Status::invalidArgument(text("reading the launch environment: ", v.rank, "=",
                                          orUnset(rank), ", ", v.size, "=", orUnset(size),
                                          "; wanted both or neither"));
    found = true;
    result.launcher = v.launcher;
    DTC_RETURN_IF_ERROR(parse(v.rank, rank, result.rank));
    DTC_RETURN_IF_ERROR(parse(v.size, size, result.size));
    result.source = text(v.rank, "=", rank, ", ", v.size, "=", size);
    if (result.rank >= result.size)
      return Status::invalidArgument(text("reading the launch environment: ", result.source,
                                          "; wanted a rank below the number of ranks"));
    if (v.launcher == Launcher::Torchrun && result.size > 1 && !read("MASTER_ADDR"))
      return Status::invalidArgument(
          text("reading the launch environment: ", result.source, ", but MASTER_ADDR is not set"));
    return readLocal(v);
  }

private:
  // A launcher that does not say leaves all ranks on one machine: too few threads, never too many.
  // A pod of Kubernetes has one rank, and its variables say nothing of others.
  Status readLocal(const Variables &v) {
    if (v.launcher == Launcher::Torchrun && !read(v.localRank) && !read(v.localSize))
      return Status::okStatus(); // 0 of 1
    result.localRank = result.rank;
    result.localSize = result.size;
    if (const char *value = read(v.localRank))
      DTC_RETURN_IF_ERROR(parse(v.localRank, value, result.localRank));
    if (const char *value = v.localSize ? read(v.localSize) : nullptr)
      DTC_RETURN_IF_ERROR(parse(v.localSize, value, result.localSize));
    const char *list = read("SLURM_STEP_TASKS_PER_NODE"), *node = read("SLURM_NODEID");
    if (v.launcher == Launcher::Slurm && list && node) {
      int nodeId = 0;
      DTC_RETURN_IF_ERROR(parse("SLURM_NODEID", node, nodeId));
      std::optional<int> tasks = slurmTasksOnNode(list, nodeId);
      if (!tasks)
        return Status::invalidArgument(
            text("reading the launch environment: SLURM_STEP_TASKS_PER_NODE is '", list,
                 "', which has no number of tasks for node ", nodeId));
      result.localSize = *tasks;
    }
    if (result.localRank >= result.localSize || result.localSize > result.size)
      return Status::invalidArgument(text("reading the launch environment: ", result.source,
                                          ", but local rank ", result.localRank, " of ",
                                          result.localSize));
    return Status::okStatus();
  }

  const EnvironmentReader &read;
  LaunchEnvironment &result;
};
} // namespace

Status detectLaunch(const EnvironmentReader &read, LaunchEnvironment &environment) {
  environment = {};
  // An empty variable is as good as none.
  EnvironmentReader present = [&](const char *name) {
    const char *value = read(name);
    return value && *value ? value : nullptr;
  };
  // An agent of torchrun sets these for its children; what it was started by is not what started
  // them.
  bool hasAgent = present("TORCHELASTIC_RUN_ID") && present("RANK") && present("WORLD_SIZE");
  for (const Variables &variables : launchers) {
    bool found = false;
    if (!hasAgent || variables.launcher == Launcher::Torchrun)
      DTC_RETURN_IF_ERROR(Detector(present, environment).tryLauncher(variables, found));
    if (found)
      return Status::okStatus();
  }
  return Status::okStatus();
}

Status detectLaunch(LaunchEnvironment &environment) {
  return detectLaunch([](const char *name) { return std::getenv(name); }, environment);
}

} // namespace dtc::rt
