// Gives a module a mesh from options (pass dtc-set-mesh).
#include "passes/shard/Passes.h"
#include "passes/shard/StepMesh.h"

namespace dtc {
#define GEN_PASS_DEF_SETMESH
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

struct SetMesh : impl::SetMeshBase<SetMesh> {
  using SetMeshBase::SetMeshBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (dp < 1 || tp < 1 || pp < 1 || cp < 1) {
      module.emitError("dtc-set-mesh needs dp, tp, pp and cp of 1 or more, not ")
          << dp.getValue() << ", " << tp.getValue() << ", " << pp.getValue() << " and "
          << cp.getValue();
      return signalPassFailure();
    }
    if (zeroGroup < 0 || (zeroGroup > 0 && dp % zeroGroup != 0)) {
      module.emitError("dtc-set-mesh needs a zero-group that divides dp = ")
          << dp.getValue() << ", not " << zeroGroup.getValue();
      return signalPassFailure();
    }
    if (ep < 1 || dp % ep != 0 || (zeroGroup > 0 && zeroGroup % ep != 0)) {
      module.emitError("dtc-set-mesh needs an ep that divides dp = ")
          << dp.getValue() << " and zero-group = " << zeroGroup.getValue() << ", not "
          << ep.getValue();
      return signalPassFailure();
    }
    writeMesh(module, stepMesh(module, {dp, tp, pp, zeroGroup, ep, cp}));
    Builder builder(module.getContext());
    module->setAttr(graph::kZeroAttr, builder.getI64IntegerAttr(zero));
    if (sequenceParallel)
      module->setAttr(graph::kSequenceParallelAttr, builder.getUnitAttr());
  }
};

} // namespace
} // namespace dtc
