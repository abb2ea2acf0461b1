// Scripts: of Slurm, of mpirun and of torchrun.
#include "compiler/show/jobs/Scripts.h"

#include "compiler/show/jobs/JobCommand.h"

#include "llvm/ADT/StringExtras.h"

namespace dtc::jobs {

static std::string exportsOf(const JobRequest &request) {
  std::string lines;
  for (const auto &[name, value] : environmentOf(request))
    lines += "export " + lineOf({name + "=" + value}) + "\n";
  return lines;
}

JobFiles slurmFiles(const JobRequest &request) {
  std::string ranks = std::to_string(request.ranksPerNode);
  std::string script = "#!/bin/bash\n#SBATCH --job-name=" + request.name +
                       "\n#SBATCH --nodes=" + std::to_string(request.nodes) +
                       "\n#SBATCH --ntasks-per-node=" + ranks + "\n#SBATCH --exclusive\n";
  if (request.hasGpus)
    script += "#SBATCH --gpus-per-node=" + ranks + "\n";
  if (!request.timeLimit.empty())
    script += "#SBATCH --time=" + request.timeLimit + "\n";
  if (!request.hosts.empty())
    script += "#SBATCH --nodelist=" + llvm::join(request.hosts, ",") + "\n";
  bool saves = hasFlag(request, "--checkpoint-dir");
  script += "#SBATCH --output=%x-%j.log\n#SBATCH --open-mode=append\n";
  if (saves) // before the time is over
    script += "#SBATCH --signal=TERM@" + std::to_string(kGraceSeconds) + "\n#SBATCH --requeue\n";
  script += "set -u\n" + exportsOf(request) +
            "# All cores of a node, in equal parts.\ncores=$((SLURM_CPUS_ON_NODE / " + ranks +
            "))\n[ \"$cores\" -ge 1 ] || cores=1\n" +
            restartLoop(request, "srun --cpus-per-task=\"$cores\" " + lineOf(commandOf(request)));
  JobFiles result;
  result.files.push_back({"job.sbatch", std::move(script), true});
  result.notes.push_back("start it with: sbatch job.sbatch");
  if (saves)
    result.notes.push_back("a job whose node is lost is queued again, and goes on after the last "
                           "checkpoint");
  return result;
}

JobFiles mpiFiles(const JobRequest &request) {
  std::string ranks = std::to_string(request.ranksPerNode), hosts;
  for (const std::string &host : request.hosts)
    hosts += host + " slots=" + ranks + "\n";
  std::string start = "mpirun --hostfile hosts -n " + std::to_string(request.ranks()) +
                      " --map-by ppr:" + ranks + ":node --bind-to none";
  for (const auto &[name, value] : environmentOf(request))
    start += " -x " + lineOf({name + "=" + value});
  if (!request.interface.empty())
    start += " --mca btl_tcp_if_include " + lineOf({request.interface}) +
             " --mca oob_tcp_if_include " + lineOf({request.interface});
  JobFiles result;
  result.files.push_back({"hosts", std::move(hosts)});
  result.files.push_back(
      {"run.sh",
       "#!/bin/bash\n# Starts the job from a machine that reaches all of 'hosts' "
       "by ssh.\nset -u\ncd \"$(dirname \"$0\")\" || exit 1\n" +
           restartLoop(request, start + " " + lineOf(commandOf(request))),
       true});
  result.notes.push_back("start it with: ./run.sh, where paths are the same on all hosts");
  return result;
}

JobFiles torchrunFiles(const JobRequest &request) {
  std::string head = request.hosts.empty() ? "" : request.hosts.front();
  std::string script = "#!/bin/bash\n# Starts the ranks of this node; run it on every node.\nset "
                       "-u\n" +
                       exportsOf(request);
  if (request.nodes == 1)
    head = "localhost";
  script += head.empty() ? "HEAD=${HEAD:?the name of the first node}\n"
                         : "HEAD=${HEAD:-" + lineOf({head}) + "}\n";
  script += "exec torchrun --nnodes " + std::to_string(request.nodes) + " --nproc-per-node " +
            std::to_string(request.ranksPerNode) +
            " --rdzv-backend c10d --rdzv-endpoint \"$HEAD:29400\" --rdzv-id " + request.name +
            " --max-restarts " + std::to_string(request.restarts) + " \\\n  --no-python " +
            lineOf(commandOf(request)) + "\n";
  JobFiles result;
  result.files.push_back({"run.sh", std::move(script), true});
  result.notes.push_back(head.empty() ? "start it on every node with: HEAD=FIRST_NODE ./run.sh"
                                      : "start it on every node with: ./run.sh");
  if (request.restarts > 0)
    result.notes.push_back("torchrun starts again after any exit code, also of wrong input");
  return result;
}

} // namespace dtc::jobs
