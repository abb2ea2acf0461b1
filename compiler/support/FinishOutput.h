// The end of a program that prints: what it printed is there, or it says why not.
#pragma once

namespace dtc {

// Writes out what std::cout and llvm::outs() still hold. Returns `exitCode`, or 1 after an error on
// stderr where stdout takes no more: a full disk may only show when the last of it is written.
int finishOutput(int exitCode);

} // namespace dtc
