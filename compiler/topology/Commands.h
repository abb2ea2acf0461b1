// The commands `dtc topology list|show|check|discover` as functions; the program only reads the
// flags.
#pragma once

#include "compiler/support/OutputFormat.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace dtc {

// All return the exit code: 0, or 1 after one message on `errors`.

// The catalogue, one system a line.
int runTopologyList(llvm::raw_ostream &out, llvm::raw_ostream &errors);

// One system with `nodes` and `devices` (0: its own) decided. JSON: one object, keys in
// docs/topologies.md.
int runTopologyShow(const std::string &nameOrFile, int64_t nodes, int64_t devices,
                    OutputFormat format, llvm::raw_ostream &out, llvm::raw_ostream &errors);

// Reads a file (never the catalogue) and says what it describes, or the first thing wrong in it.
int runTopologyCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors);

// A topology file that describes this machine, to `outputFile`, or to `out` where that is "": its
// GPUs where NVML (`nvmlLibrary`) has some, else its processor.
int runTopologyDiscover(const std::string &outputFile, llvm::raw_ostream &out,
                        llvm::raw_ostream &errors,
                        const std::string &nvmlLibrary = "libnvidia-ml.so.1");

// The same from NCCL's description of a node, which NCCL_TOPO_DUMP_FILE makes it write. The GPUs
// have the figures of `device`, a system of the catalogue, or, where that is "", of the one with
// the same PCI device.
int runTopologyImportNccl(const std::string &xmlFile, const std::string &device,
                          const std::string &outputFile, llvm::raw_ostream &out,
                          llvm::raw_ostream &errors);

} // namespace dtc
