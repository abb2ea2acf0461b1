// Gives a module a mesh from options (pass dtc-set-mesh).
#include "passes/shard/Mesh.h"
#include "passes/shard/Passes.h"

namespace dtc {
#define GEN_PASS_DEF_SETMESH
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

struct SetMesh : impl::SetMeshBase<SetMesh> {
  using SetMeshBase::SetMeshBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (dp < 1 || tp < 1) {
      module.emitError("dtc-set-mesh needs dp and tp of 1 or more, not ")
          << dp.getValue() << " and " << tp.getValue();
      return signalPassFailure();
    }
    Mesh mesh{{"dp", "tp"}, {dp, tp}, {AxisRole::Data, AxisRole::Tensor}};
    writeMesh(module, mesh);
    Builder builder(module.getContext());
    module->setAttr(graph::kZeroAttr, builder.getI64IntegerAttr(zero));
    if (sequenceParallel)
      module->setAttr(graph::kSequenceParallelAttr, builder.getUnitAttr());
  }
};

} // namespace
} // namespace dtc
