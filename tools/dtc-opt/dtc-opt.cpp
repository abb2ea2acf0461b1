// Runs passes of dtc on .mlir files; the tool behind the lit tests.
#include "dialects/graph/Graph.h"
#include "dialects/graph/PrintRules.h"
#ifdef DTC_HAS_EXEC
#include "dialects/exec/Exec.h"
#endif
#ifdef DTC_HAS_GRAPH_PASSES
#include "passes/graph/Passes.h"
#endif
#ifdef DTC_HAS_SHARD_PASSES
#include "passes/shard/Passes.h"
#endif
#ifdef DTC_HAS_SCHEDULE_PASSES
#include "passes/schedule/Passes.h"
#endif
#ifdef DTC_HAS_CODEGEN_PASSES
#include "passes/codegen/Passes.h"
#endif

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
#ifdef DTC_HAS_GRAPH_PASSES
  dtc::registerDtcGraphPasses();
#endif
#ifdef DTC_HAS_SHARD_PASSES
  dtc::registerDtcShardPasses();
#endif
#ifdef DTC_HAS_SCHEDULE_PASSES
  dtc::registerDtcSchedulePasses();
#endif
#ifdef DTC_HAS_CODEGEN_PASSES
  dtc::registerDtcCodegenPasses();
#endif
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<dtc::graph::GraphDialect, mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::bufferization::BufferizationDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::shard::ShardDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
#ifdef DTC_HAS_EXEC
  registry.insert<dtc::exec::ExecDialect>();
#endif
  mlir::func::registerInlinerExtension(registry);
  registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "dtc optimizer driver\n", registry));
}
