// dtc launch: writes the files that start a job where it is to run.
#include "compiler/describe/topology/Topology.h"
#include "compiler/show/jobs/JobFiles.h"
#include "compiler/support/File.h"
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dtc {
namespace {

struct LaunchFlags {
  std::string plan, starter, folder, program, name, timeLimit, interface, image;
  std::vector<std::string> hosts, volumes, resources, dtrun;
  int64_t restarts = 0;
};

// Returns the program that ranks run: the stated one, or the executable that was given.
Result<std::string> programOf(const LaunchFlags &flags) {
  if (!flags.program.empty())
    return flags.program;
  if (llvm::StringRef(flags.plan).ends_with(".dte"))
    return flags.plan;
  return UserError("'" + flags.plan + "' is a plan, and dtrun runs a program",
                   "name the one that was compiled of it: --program model.dte");
}

// Returns a name that Kubernetes takes, made of the model's: "llama-3_8B" is "llama-3-8b".
std::string nameOf(const LaunchFlags &flags, const Plan &plan) {
  if (!flags.name.empty())
    return flags.name;
  std::string name;
  for (char c : llvm::StringRef(plan.modelName).take_front(40))
    name += llvm::isAlnum(c) ? llvm::toLower(c) : '-';
  llvm::StringRef trimmed = llvm::StringRef(name).trim('-');
  return trimmed.empty() || !llvm::isAlpha(trimmed.front()) ? "dtrun" : trimmed.str();
}

Status readVolumesAndResources(const LaunchFlags &flags, JobRequest &request) {
  for (llvm::StringRef volume : flags.volumes) {
    auto [claim, folder] = volume.split(':');
    if (claim.empty() || !folder.starts_with("/"))
      return UserError("--volume is '" + volume.str() + "'",
                       "wanted CLAIM:FOLDER, as in --volume data:/data");
    request.volumes.push_back({claim.str(), folder.str()});
  }
  for (llvm::StringRef resource : flags.resources) {
    auto [name, count] = resource.split('=');
    int64_t number = 0;
    if (name.empty() || count.getAsInteger(10, number) || number < 1)
      return UserError("--resource is '" + resource.str() + "'",
                       "wanted NAME=COUNT, as in --resource rdma/ib=8");
    request.resources.push_back({name.str(), number});
  }
  return {};
}

Result<JobRequest> requestOf(const LaunchFlags &flags) {
  Result<Plan> plan = readPlan(flags.plan, "launching");
  if (!plan)
    return plan.error();
  if (plan->origin.software != "dtc")
    return UserError("'" + flags.plan + "' is for the stack '" + plan->origin.software +
                         "', which dtrun does not run",
                     "'dtc export' writes it for that software; or plan without --stack");
  Result<Topology> topology = loadTopologyOf(*plan, plan->origin.nodes);
  if (!topology)
    return topology.error();
  if (plan->nodes < 1 || plan->devices % plan->nodes != 0)
    return UserError("'" + flags.plan + "' has " + std::to_string(plan->devices) + " devices on " +
                         std::to_string(plan->nodes) + " nodes",
                     "jobs have as many ranks on each node: plan for such a number of devices");
  Result<std::string> program = programOf(flags);
  if (!program)
    return program.error();
  JobRequest request;
  request.name = nameOf(flags, *plan);
  request.nodes = plan->nodes;
  request.ranksPerNode = plan->devices / plan->nodes;
  request.hasGpus = topology->device.deviceClass == DeviceClass::Gpu;
  request.program = *program;
  request.flags = flags.dtrun;
  request.restarts = flags.restarts;
  request.timeLimit = flags.timeLimit;
  request.interface = flags.interface;
  request.hosts = flags.hosts;
  request.image = flags.image;
  if (Status status = readVolumesAndResources(flags, request); !status)
    return status.error();
  return request;
}

Status writeJob(const std::string &folder, const JobFiles &job) {
  namespace fs = llvm::sys::fs;
  if (std::error_code error = fs::create_directories(folder))
    return UserError("making the folder '" + folder + "': " + error.message());
  for (const JobFile &file : job.files) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, file.name);
    if (Status wrote = writeFileAtomically(path.str().str(), file.text); !wrote)
      return wrote;
    if (file.isExecutable)
      if (std::error_code error = fs::setPermissions(
              path, fs::perms::all_read | fs::perms::owner_write | fs::perms::all_exe))
        return UserError("making '" + path.str().str() + "' executable: " + error.message());
  }
  return {};
}

int runLaunch(const LaunchFlags &flags) {
  Result<JobRequest> request = requestOf(flags);
  if (!request)
    return request.error().report(llvm::errs());
  Result<JobFiles> job = jobFiles(*jobStarterFrom(flags.starter), *request);
  if (!job)
    return job.error().report(llvm::errs());
  if (Status wrote = writeJob(flags.folder, *job); !wrote)
    return wrote.error().report(llvm::errs());
  llvm::outs() << flags.folder << ": " << request->ranks() << " ranks on " << request->nodes
               << (request->nodes == 1 ? " node" : " nodes") << ":";
  for (const JobFile &file : job->files)
    llvm::outs() << " " << file.name;
  llvm::outs() << "\n";
  for (const std::string &note : job->notes)
    llvm::outs() << "  " << note << "\n";
  return 0;
}

void addJobFlags(CLI::App *command, LaunchFlags &flags) {
  command
      ->add_option("--program", flags.program,
                   "the .dte, where the ranks find it; default: that which was given")
      ->type_name("FILE")
      ->check(notEmpty());
  command->add_option("--name", flags.name, "the job's name; default: the model's")
      ->type_name("NAME")
      ->check(notEmpty());
  command
      ->add_option("--restarts", flags.restarts,
                   "times that ranks that died are started again after the last checkpoint")
      ->type_name("N")
      ->check(wholeNumber(0, 1000));
  command->add_option("--hosts", flags.hosts, "the nodes, as in node0,node1")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(notEmpty());
  command->add_option("--time", flags.timeLimit, "slurm: the time limit, as in 24:00:00")
      ->type_name("TIME")
      ->check(notEmpty());
  command->add_option("--interface", flags.interface, "the network interface of connections")
      ->type_name("NAME")
      ->check(notEmpty());
  command->add_option("--image", flags.image, "kubernetes: the image of the containers")
      ->type_name("IMAGE")
      ->check(notEmpty());
  command
      ->add_option("--volume", flags.volumes,
                   "kubernetes: a persistent volume claim and its folder, as in data:/data")
      ->type_name("CLAIM:FOLDER")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--resource", flags.resources,
                   "kubernetes: a resource of each pod beside its GPUs, as in rdma/ib=8")
      ->type_name("NAME=COUNT")
      ->take_all()
      ->allow_extra_args(false);
}

} // namespace

void addLaunch(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "launch",
      "Writes the files that start a job: a batch script, manifests, a host file\n\nExample:\n  "
      "dtc "
      "launch model.dte --on slurm -o job --restarts 3 -- --data /data/train --steps 10000 "
      "--checkpoint-dir /scratch/run --checkpoint-every 500");
  auto flags = std::make_shared<LaunchFlags>();
  command->add_option("PLAN", flags->plan, "a .dte, or a plan.json of 'dtc plan -o'")
      ->required()
      ->check(notEmpty());
  std::vector<std::string> names;
  for (llvm::StringRef name : jobStarterNames())
    names.push_back(name.str());
  command->add_option("--on", flags->starter, "what starts the ranks")
      ->required()
      ->check(oneOf(names));
  command->add_option("-o,--output", flags->folder, "the folder to write to")
      ->type_name("DIR")
      ->required()
      ->check(notEmpty());
  addJobFlags(command, *flags);
  command->add_option("FLAGS", flags->dtrun, "flags of dtrun, behind --");
  command->callback([flags, &exitCode] { exitCode = runLaunch(*flags); });
}

} // namespace dtc
