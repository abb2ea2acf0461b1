// Ends a program that prints: makes sure that its output is written, or reports why not.
#pragma once

namespace dtc {

// Writes what std::cout and llvm::outs() still hold. Returns `exitCode`, or 1 after an error on
// stderr if stdout takes no more: a full disk may only be reported for the last bytes.
int finishOutput(int exitCode);

} // namespace dtc
