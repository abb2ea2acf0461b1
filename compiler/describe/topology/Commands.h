// The commands `dtc topology list|show|check|discover` as functions. The program only reads the
// flags.
#pragma once

#include "compiler/support/OutputFormat.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace dtc {

// All functions return the exit code: 0, or 1 after one message on `errors`.

// Prints the catalogue, one system per line.
int runTopologyList(llvm::raw_ostream &out, llvm::raw_ostream &errors);

// Prints one system with `nodes` and `devices` decided (0: its own numbers). As JSON it is one
// object, with the keys in docs/topologies.md.
int runTopologyShow(const std::string &nameOrFile, int64_t nodes, int64_t devices,
                    OutputFormat format, llvm::raw_ostream &out, llvm::raw_ostream &errors);

// Reads a file (never the catalogue) and prints what it describes, or the first mistake in it.
int runTopologyCheck(const std::string &file, llvm::raw_ostream &out, llvm::raw_ostream &errors);

// Writes a topology file that describes this machine to `outputFile`, or to `out` if that is "". It
// describes the GPUs if NVML (`nvmlLibrary`) finds some, else the processor.
int runTopologyDiscover(const std::string &outputFile, llvm::raw_ostream &out,
                        llvm::raw_ostream &errors,
                        const std::string &nvmlLibrary = "libnvidia-ml.so.1");

// Writes a topology file from NCCL's description of a node, which NCCL writes if
// NCCL_TOPO_DUMP_FILE is set. The GPUs get the figures of `device`, a system of the catalogue, or
// if that is "", of the system with the same PCI device.
int runTopologyImportNccl(const std::string &xmlFile, const std::string &device,
                          const std::string &outputFile, llvm::raw_ostream &out,
                          llvm::raw_ostream &errors);

} // namespace dtc
