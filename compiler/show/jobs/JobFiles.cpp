#include "compiler/show/jobs/JobFiles.h"

#include "compiler/show/jobs/JobCommand.h"
#include "compiler/show/jobs/Manifests.h"
#include "compiler/show/jobs/Scripts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dtc {

static constexpr llvm::StringRef kStarterNames[] = {"slurm", "kubernetes", "mpi", "torchrun"};

llvm::ArrayRef<llvm::StringRef> jobStarterNames() { return kStarterNames; }

std::optional<JobStarter> jobStarterFrom(llvm::StringRef name) {
  const auto *found = llvm::find(kStarterNames, name);
  if (found == std::end(kStarterNames))
    return std::nullopt;
  return static_cast<JobStarter>(found - std::begin(kStarterNames));
}

// Checks that Kubernetes takes a name as that of an object, and as part of a pod's host name.
static Status checkName(llvm::StringRef name) {
  constexpr size_t most = 40; // "-node-0-1234" follows, and host names have 63 at most
  bool isGood =
      !name.empty() && name.size() <= most && llvm::isAlpha(name.front()) && name.back() != '-' &&
      llvm::all_of(name, [](char c) { return llvm::isDigit(c) || llvm::isLower(c) || c == '-'; });
  if (isGood)
    return {};
  return UserError("the job's name is '" + name.str() + "'",
                   "wanted up to 40 lower-case letters, digits and '-', a letter first: --name");
}

static Status check(JobStarter starter, const JobRequest &request) {
  if (Status named = checkName(request.name); !named)
    return named;
  if (request.restarts > 0 && (!jobs::hasFlag(request, "--checkpoint-dir") ||
                               !jobs::hasFlag(request, "--checkpoint-every")))
    return UserError("--restarts " + std::to_string(request.restarts) +
                         " starts again after the last checkpoint, and dtrun's flags save none",
                     "add '--checkpoint-dir DIR --checkpoint-every N' behind '--'");
  if (starter == JobStarter::Kubernetes && request.image.empty())
    return UserError("pods need an image with dtrun", "name one with --image");
  auto hosts = static_cast<int64_t>(request.hosts.size());
  if (hosts > 0 && hosts != request.nodes)
    return UserError("--hosts names " + std::to_string(hosts) + ", and the plan is for " +
                         std::to_string(request.nodes) + (request.nodes == 1 ? " node" : " nodes"),
                     "name as many, or plan for as many as there are: dtc plan --nodes " +
                         std::to_string(hosts));
  if (starter == JobStarter::Mpi && hosts == 0)
    return UserError("a host file needs the names of the nodes",
                     "name them: --hosts node0,node1,...");
  return {};
}

Result<JobFiles> jobFiles(JobStarter starter, const JobRequest &request) {
  if (Status checked = check(starter, request); !checked)
    return checked.error();
  switch (starter) {
  case JobStarter::Slurm:
    return jobs::slurmFiles(request);
  case JobStarter::Kubernetes:
    return jobs::kubernetesFiles(request);
  case JobStarter::Mpi:
    return jobs::mpiFiles(request);
  case JobStarter::Torchrun:
    break;
  }
  return jobs::torchrunFiles(request);
}

} // namespace dtc
