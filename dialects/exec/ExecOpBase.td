// Base classes of the exec ops.
#ifndef DTC_EXEC_OP_BASE_TD
#define DTC_EXEC_OP_BASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/exec/ExecBase.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

// An instruction that reads buffers `reads`, writes buffers `writes` and has the attributes
// `fields`. All names are those of its table in runtime/format/dte.fbs, which the writer uses. If
// the unit attribute `accumulate` is set, the instruction also reads its output. With `addsUp` its
// one result may be accumulated into another buffer. With `startsSums` it can overwrite in the
// first run of its task and add in all others. `overrides` lists methods of InstructionOpInterface
// with a default that the op replaces.
class Exec_Instruction<string mnemonic, dag reads, dag writes, dag fields, list<string> overrides = [],
    list<Trait> traits = []> :
    Exec_Op<mnemonic, [DeclareOpInterfaceMethods<InstructionOpInterface, overrides>] # traits> {
  bit startsSums = 0;
  let arguments = !con(reads, writes, fields, (ins DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$last),
    !if(startsSums, (ins UnitAttr:$starts_sum), (ins)));
  let hasVerifier = 1;
  bit addsUp = 0;
  string bufferDeclarations = "static constexpr unsigned numReads = " # !size(reads) # ", numWrites = " # !size(writes)
  # [{;
    static constexpr bool addsUp = }] # addsUp # [{, startsSums = }] # startsSums # [{;
    static ::llvm::SmallVector<::llvm::StringRef> getBufferNames() { return }] # "{" #
    !interleave(!listconcat(!foreach(i, !range(!size(reads)), "\"" # !getdagname(reads, i) # "\""),
                            !foreach(i, !range(!size(writes)), "\"" # !getdagname(writes, i) # "\"")), ", ") # "}; }\n";
  let extraClassDeclaration = bufferDeclarations;
}
#endif
