// A job of dtrun, and the files that start it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtc {

// A job of dtrun: as many ranks on each node.
struct JobRequest {
  std::string name; // lower-case letters, digits and '-'; 40 at most
  int64_t nodes = 1, ranksPerNode = 1;
  bool hasGpus = false;           // each rank has one
  std::string program;            // the .dte, where the ranks find it
  std::vector<std::string> flags; // of dtrun
  // Times that ranks that died are started again; with `flags` that save checkpoints.
  int64_t restarts = 0;
  std::string timeLimit;          // Slurm's limit: "24:00:00"; empty: the partition's
  std::string interface;          // network interface of the ranks' connections; empty: any
  std::vector<std::string> hosts; // names of the nodes; empty where the starter finds them
  std::string image;              // a container's image with dtrun
  std::vector<std::pair<std::string, std::string>> volumes; // claim, folder in the container
  std::vector<std::pair<std::string, int64_t>> resources;   // each node's, beside its GPUs

  // Returns the ranks of all nodes.
  int64_t ranks() const { return nodes * ranksPerNode; }
};

// One file of a job.
struct JobFile {
  std::string name, text;
  bool isExecutable = false;
};

// Files and notes for the user: how to start the job, and what the files can't say.
struct JobFiles {
  std::vector<JobFile> files;
  std::vector<std::string> notes;
};

} // namespace dtc
