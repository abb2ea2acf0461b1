// Base classes of the exec ops.
#ifndef DTC_EXEC_OP_BASE_TD
#define DTC_EXEC_OP_BASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/exec/ExecDialect.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

// `overrides`: the methods of InstructionOpInterface with a default that the op replaces.
class Exec_Instruction<string mnemonic, list<string> overrides = [], list<Trait> traits = []> : Exec_Op<mnemonic, [
    DeclareOpInterfaceMethods<InstructionOpInterface, ["getReadBuffers", "getWrittenBuffers"] # overrides>] # traits> {
  let hasVerifier = 1;
}
#endif
