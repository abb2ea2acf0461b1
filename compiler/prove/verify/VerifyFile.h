// The proof of a whole file, and how it is shown.
#pragma once

#include "compiler/prove/verify/Verify.h"
#include "compiler/support/Error.h"

#include <span>

namespace dtc {

// Checks the file in `bytes` (16-byte aligned) as dtrun does, then proves its programs; `name` is
// for messages. Errors: what dtrun's checks find. What the proof finds is in the report.
Result<VerifyReport> verifyFile(std::span<const uint8_t> bytes, const std::string &name);

// "model.dte: rank 0, task 'update', ...: message", with the note.
UserError faultError(const Fault &fault, const std::string &name);

// Prints one line on a successful proof: its counts, and the time that it took.
void printVerified(llvm::raw_ostream &out, const VerifyReport &report, const std::string &name,
                   double seconds);
// Returns the report as one JSON object.
std::string verifyToJson(const VerifyReport &report, const std::string &name, double seconds);

} // namespace dtc
