// Attaches KernelOpInterface to the ops of the graph dialect when it is loaded.
#include "passes/codegen/KernelInterfaces.h"

#include "passes/codegen/ExchangeKernels.h"
#include "passes/codegen/KernelModels.h"
#include "passes/codegen/RouteKernels.h"

using namespace mlir;

void dtc::registerKernelInterfaces(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    attachNormKernels(context);
    attachSoftmaxKernels(context);
    attachCrossEntropyKernels(context);
    attachReduceKernels(context);
    attachCumsumKernels(context);
    attachGatherKernels(context);
    attachPartKernels(context);
    attachRotaryKernels(context);
    attachRouteKernels(context);
    attachExchangeKernels(context);
  });
}
