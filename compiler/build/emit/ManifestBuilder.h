// Translates exec ops to tables of the manifest, one to one.
#pragma once

#include "compiler/build/emit/ProgramCode.h"
#include "dialects/exec/Exec.h"
#include "runtime/format/dte_generated.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <tuple>

namespace dtc {

// Fills mesh, groups, programs, rank_program, kernels, locations and the sizes of the step in a
// manifest, program by program; all are of one mesh, have memory plans and verify. What they have
// in common is there once: groups, kernels, locations.
class ManifestBuilder {
public:
  // `code` has the kernels of all programs, and outlives this.
  ManifestBuilder(format::ManifestT &manifest, const ProgramCode &code)
      : manifest(manifest), code(code) {}
  // Adds a program to the manifest.
  void add(exec::ProgramOp program);

private:
  void addMesh();
  void addBuffer(mlir::Value buffer);
  void addKernel(exec::KernelOp kernel);
  template <typename Op>
  void addTensor(Op op, std::vector<std::unique_ptr<format::TensorT>> &tensors);
  void addInput(exec::InputOp input);
  void addTask(exec::TaskOp task);
  void addRepeat(exec::RepeatOp repeat);
  void addEntry(exec::EntryOp entry);
  void addInstruction(exec::InstructionOpInterface instruction);
  // The index of the group of ranks that differ only on these mesh axes, or of these lists.
  uint32_t groupOf(llvm::ArrayRef<int64_t> axes);
  uint32_t groupOf(exec::RanksAttr lists);
  // Programs number ranks by their positions.
  uint32_t rankAt(int64_t position) const {
    return manifest.place_ranks.empty() ? static_cast<uint32_t>(position)
                                        : manifest.place_ranks[static_cast<size_t>(position)];
  }
  uint32_t addLocation(mlir::Location location);
  uint32_t storageOf(mlir::Value root);
  uint32_t indexOf(mlir::Value buffer) const { return buffers.lookup(buffer); }

  // Fill the union for instructions that InstructionWriter does not know.
  void fill(exec::LaunchOp op, format::OpUnion &out);
  void fill(exec::GemmOp op, format::OpUnion &out);
  void fill(exec::CollectiveOp op, format::OpUnion &out);
  void fill(exec::SendOp op, format::OpUnion &out);
  void fill(exec::ReceiveOp op, format::OpUnion &out);
  template <typename Op> format::TransferT transfer(format::TransferKind kind, Op op);

  format::ManifestT &manifest;
  const ProgramCode &code;
  llvm::StringMap<uint32_t> kernels;
  std::map<std::vector<int64_t>, uint32_t> groups;
  llvm::DenseMap<mlir::Attribute, uint32_t> lists;
  std::map<std::tuple<std::string, uint32_t, uint32_t, std::string>, uint32_t> locations;

  // The program being added.
  exec::ProgramOp program;
  format::ProgramT *out = nullptr;
  llvm::DenseMap<mlir::Value, uint32_t> buffers, storages; // storages by exec.buffer
  llvm::StringMap<uint32_t> tasks;
};

} // namespace dtc
