// Manifests of Kubernetes: a JobSet, an MPIJob and a PyTorchJob.
//
// Sources of their fields: the definitions of kubernetes-sigs/jobset (v1alpha2), of
// kubeflow/mpi-operator (v2beta1) and of kubeflow/training-operator (v1), which test/launch has.
#include "compiler/show/jobs/Manifests.h"

#include "compiler/show/jobs/JobCommand.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace dtc::jobs {

using llvm::json::Array;
using llvm::json::Object;

static Object variable(std::string name, std::string value) {
  return Object{{"name", std::move(name)}, {"value", std::move(value)}};
}

static Array variablesOf(const JobRequest &request) {
  Array all;
  for (const auto &[name, value] : environmentOf(request))
    all.push_back(variable(name, value));
  return all;
}

// Returns the container of a node. Ranks of a node share memory in /dev/shm; adapters of RDMA
// register memory that may not be swapped.
static Object containerOf(const JobRequest &request, Array command, Array variables) {
  Array mounts{Object{{"name", "shm"}, {"mountPath", "/dev/shm"}}};
  for (size_t i = 0; i < request.volumes.size(); ++i)
    mounts.push_back(
        Object{{"name", "volume-" + std::to_string(i)}, {"mountPath", request.volumes[i].second}});
  Object container{{"name", "dtrun"},
                   {"image", request.image},
                   {"command", std::move(command)},
                   {"volumeMounts", std::move(mounts)}};
  if (!variables.empty())
    container["env"] = std::move(variables);
  Object limits;
  if (request.hasGpus)
    limits["nvidia.com/gpu"] = request.ranksPerNode;
  for (const auto &[name, count] : request.resources)
    limits[name] = count;
  if (!limits.empty())
    container["resources"] = Object{{"limits", std::move(limits)}};
  if (!request.resources.empty())
    container["securityContext"] = Object{{"capabilities", Object{{"add", Array{"IPC_LOCK"}}}}};
  return container;
}

static Object podOf(const JobRequest &request, Object container, llvm::StringRef restartPolicy) {
  Array volumes{Object{{"name", "shm"}, {"emptyDir", Object{{"medium", "Memory"}}}}};
  for (size_t i = 0; i < request.volumes.size(); ++i)
    volumes.push_back(
        Object{{"name", "volume-" + std::to_string(i)},
               {"persistentVolumeClaim", Object{{"claimName", request.volumes[i].first}}}});
  Object pod{{"containers", Array{std::move(container)}},
             {"volumes", std::move(volumes)},
             {"terminationGracePeriodSeconds", kGraceSeconds}};
  if (!restartPolicy.empty())
    pod["restartPolicy"] = restartPolicy;
  return Object{{"spec", std::move(pod)}};
}

static Array bash(std::string script) { return Array{"bash", "-c", std::move(script)}; }

// Pods of a JobSet have host names that are known before they start: NAME-node-0-POD.NAME. Exit
// codes that another start would not change fail the whole set.
static Object jobSet(const JobRequest &request) {
  Array variables = variablesOf(request);
  variables.push_back(variable("MASTER_ADDR", request.name + "-node-0-0." + request.name));
  variables.push_back(variable("MASTER_PORT", "29500"));
  variables.push_back(variable("DTC_JOB_ID", request.name));
  Object pod = podOf(
      request,
      containerOf(request, bash(nodeScript(request, "JOB_COMPLETION_INDEX")), std::move(variables)),
      "Never");
  Array codes;
  for (int code : kFinalCodes)
    codes.push_back(code);
  Object isFinal{
      {"action", "FailJob"},
      {"onExitCodes",
       Object{{"containerName", "dtrun"}, {"operator", "In"}, {"values", std::move(codes)}}}};
  Object job{{"parallelism", request.nodes},
             {"completions", request.nodes},
             {"completionMode", "Indexed"},
             {"backoffLimit", 0},
             {"podFailurePolicy", Object{{"rules", Array{std::move(isFinal)}}}},
             {"template", std::move(pod)}};
  Object failure{{"maxRestarts", request.restarts},
                 {"rules", Array{Object{{"name", "wrongInput"},
                                        {"action", "FailJobSet"},
                                        {"onJobFailureReasons", Array{"PodFailurePolicy"}}}}}};
  return Object{{"network", Object{{"enableDNSHostnames", true}}},
                {"failurePolicy", std::move(failure)},
                {"replicatedJobs", Array{Object{{"name", "node"},
                                                {"replicas", 1},
                                                {"template", Object{{"spec", std::move(job)}}}}}}};
}

// The launcher's pod runs mpirun, which reaches the workers by ssh and reads their names from the
// host file that the operator writes.
static Object mpiJob(const JobRequest &request) {
  std::string ranks = std::to_string(request.ranksPerNode);
  Array command{
      "mpirun",    "-n",  std::to_string(request.ranks()), "--map-by", "ppr:" + ranks + ":node",
      "--bind-to", "none"};
  for (const auto &[name, value] : environmentOf(request)) {
    command.push_back("-x");
    command.push_back(name + "=" + value);
  }
  for (const std::string &word : commandOf(request))
    command.push_back(word);
  Array variables{variable("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                  variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")};
  JobRequest plain = request; // the launcher has no GPUs
  plain.hasGpus = false;
  plain.resources.clear();
  Object launcher{
      {"replicas", 1},
      {"restartPolicy", request.restarts > 0 ? "OnFailure" : "Never"},
      {"template", podOf(plain, containerOf(plain, std::move(command), std::move(variables)), "")}};
  Object worker{
      {"replicas", request.nodes},
      {"restartPolicy", "Never"},
      {"template",
       podOf(request, containerOf(request, Array{"/usr/sbin/sshd", "-De"}, variablesOf(request)),
             "")}};
  return Object{
      {"slotsPerWorker", request.ranksPerNode},
      {"mpiImplementation", "OpenMPI"},
      {"runPolicy", Object{{"cleanPodPolicy", "Running"}, {"backoffLimit", request.restarts}}},
      {"mpiReplicaSpecs",
       Object{{"Launcher", std::move(launcher)}, {"Worker", std::move(worker)}}}};
}

// The operator gives each pod MASTER_ADDR, MASTER_PORT and, as RANK, the number of the pod.
static Object pyTorchJob(const JobRequest &request) {
  auto replicas = [&](int64_t count) {
    Array variables = variablesOf(request);
    variables.push_back(variable("DTC_JOB_ID", request.name));
    // The operator wants this name of the container.
    Object container =
        containerOf(request, bash(nodeScript(request, "RANK")), std::move(variables));
    container["name"] = "pytorch";
    return Object{{"replicas", count},
                  {"restartPolicy", request.restarts > 0 ? "OnFailure" : "Never"},
                  {"template", podOf(request, std::move(container), "")}};
  };
  Object specs{{"Master", replicas(1)}};
  if (request.nodes > 1)
    specs["Worker"] = replicas(request.nodes - 1);
  return Object{
      {"runPolicy", Object{{"cleanPodPolicy", "Running"}, {"backoffLimit", request.restarts}}},
      {"pytorchReplicaSpecs", std::move(specs)}};
}

static JobFile manifest(const char *file, llvm::StringRef version, llvm::StringRef kind,
                        const JobRequest &request, Object spec) {
  llvm::json::Value object = Object{{"apiVersion", version},
                                    {"kind", kind},
                                    {"metadata", Object{{"name", request.name}}},
                                    {"spec", std::move(spec)}};
  return {file, llvm::formatv("{0:2}\n", object).str()};
}

JobFiles kubernetesFiles(const JobRequest &request) {
  JobFiles result;
  result.files.push_back(
      manifest("jobset.json", "jobset.x-k8s.io/v1alpha2", "JobSet", request, jobSet(request)));
  result.files.push_back(
      manifest("mpijob.json", "kubeflow.org/v2beta1", "MPIJob", request, mpiJob(request)));
  result.files.push_back(
      manifest("pytorchjob.json", "kubeflow.org/v1", "PyTorchJob", request, pyTorchJob(request)));
  result.notes.push_back("start one of them, of the operator that the cluster has: kubectl apply "
                         "-f jobset.json");
  result.notes.push_back("jobset.json and pytorchjob.json need bash in the image, mpijob.json "
                         "mpirun and sshd");
  if (request.restarts > 0)
    result.notes.push_back("MPIJob and PyTorchJob start again after any exit code, also of wrong "
                           "input; a JobSet does not");
  if (request.volumes.empty())
    result.notes.push_back("the pods mount no volume: program, data and checkpoints have to be in "
                           "the image, or add --volume CLAIM:FOLDER");
  return result;
}

} // namespace dtc::jobs
