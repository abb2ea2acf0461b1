// Base classes of the exec ops.
#ifndef DTC_EXEC_OP_BASE_TD
#define DTC_EXEC_OP_BASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/exec/ExecDialect.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

// An instruction that reads buffers `reads`, writes buffers `writes` and has the attributes `fields`; all names are those of
// its table in runtime/format/dte.fbs, by which the writer goes. One that has `accumulate`, a unit attribute, reads what it
// writes where it is set; with `addsUp` all of what it writes is its one result, which may be added to another buffer. One
// with `startsSums` can add in all runs of its task but the first, where it writes.
// `overrides`: the methods of InstructionOpInterface with a default that the op replaces.
class Exec_Instruction<string mnemonic, dag reads, dag writes, dag fields, list<string> overrides = [], list<Trait> traits = []> :
    Exec_Op<mnemonic, [DeclareOpInterfaceMethods<InstructionOpInterface, overrides>] # traits> {
  bit startsSums = 0;
  let arguments = !con(reads, writes, fields, (ins DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$last),
    !if(startsSums, (ins UnitAttr:$starts_sum), (ins)));
  let hasVerifier = 1;
  bit addsUp = 0;
  string bufferDeclarations = "static constexpr unsigned numReads = " # !size(reads) # ", numWrites = " # !size(writes) # [{;
    static constexpr bool addsUp = }] # addsUp # [{, startsSums = }] # startsSums # [{;
    static ::llvm::SmallVector<::llvm::StringRef> getBufferNames() { return }] # "{" #
    !interleave(!listconcat(!foreach(i, !range(!size(reads)), "\"" # !getdagname(reads, i) # "\""),
                            !foreach(i, !range(!size(writes)), "\"" # !getdagname(writes, i) # "\"")), ", ") # "}; }\n";
  let extraClassDeclaration = bufferDeclarations;
}
#endif
