// Runs passes of dtc on .mlir files; the tool behind the lit tests.
#include "compiler/search/planner/Passes.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/PrintRules.h"
#include "passes/codegen/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

static void registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerInlinerPass();
  mlir::registerRemoveDeadValuesPass();
  mlir::registerSymbolDCEPass();
  dtc::graph::registerPrintRulesPass();
  dtc::registerDtcGraphPasses();
  dtc::registerDtcPlannerPasses();
  dtc::registerDtcShardPasses();
  dtc::registerDtcSchedulePasses();
  dtc::registerDtcCodegenPasses();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<dtc::graph::GraphDialect, dtc::exec::ExecDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::shard::ShardDialect, mlir::tensor::TensorDialect,
                  mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
  registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "dtc optimizer driver\n", registry));
}
