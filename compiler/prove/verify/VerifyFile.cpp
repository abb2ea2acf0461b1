#include "compiler/prove/verify/VerifyFile.h"

#include "runtime/format/CodeObject.h"
#include "runtime/format/Operands.h"
#include "runtime/format/Target.h"
#include "runtime/format/Verify.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace dtc {

Result<VerifyReport> verifyFile(std::span<const uint8_t> bytes, const std::string &name) {
  const format::Manifest *manifest = nullptr;
  if (rt::Status status = format::verifyExecutable(bytes, name, manifest); !status.ok())
    return UserError(status.message());
  for (uint32_t i = 0; i < format::sizeOf(manifest->segments()); ++i) {
    const format::Segment &segment = *manifest->segments()->Get(i);
    format::CodeFacts facts;
    if (!format::isHostCode(segment.kind()))
      continue;
    rt::Status status = format::readCode(bytes.subspan(segment.offset(), segment.bytes()), facts);
    if (!status.ok())
      return UserError(name + ": segment " + std::to_string(i) + ": " + status.message());
  }
  return verifyPrograms(*manifest);
}

UserError faultError(const Fault &fault, const std::string &name) {
  return UserError(name + ": entry '" + fault.entry + "', " + fault.text(), fault.note);
}

void printVerified(llvm::raw_ostream &out, const VerifyReport &report, const std::string &name,
                   double seconds) {
  out << llvm::formatv("{0}: proved in {1:f2} s: {2} rank(s) of {3} program(s), {4} class(es) of "
                       "ranks with equal communication, {5} instructions\n",
                       name, seconds, report.ranks, report.programs, report.classes,
                       report.instructions);
}

std::string verifyToJson(const VerifyReport &report, const std::string &name, double seconds) {
  llvm::json::Object json{{"schema", "dtc.verify/1"},
                          {"file", name},
                          {"proved", !report.fault},
                          {"ranks", static_cast<int64_t>(report.ranks)},
                          {"programs", static_cast<int64_t>(report.programs)},
                          {"classes", static_cast<int64_t>(report.classes)},
                          {"instructions", static_cast<int64_t>(report.instructions)},
                          {"followed", static_cast<int64_t>(report.followed)},
                          {"seconds", seconds}};
  if (report.fault) {
    const Fault &fault = *report.fault;
    auto valid = [](const std::string &text) { return llvm::json::fixUTF8(text); };
    json["fault"] = llvm::json::Object{{"check", fault.check},
                                       {"entry", fault.entry},
                                       {"program", fault.program},
                                       {"rank", fault.rank},
                                       {"task", valid(fault.task)},
                                       {"micro_batch", fault.microBatch},
                                       {"instruction", fault.instruction},
                                       {"layer", fault.layer},
                                       {"op", valid(fault.op)},
                                       {"source", valid(fault.source)},
                                       {"message", valid(fault.message)},
                                       {"note", valid(fault.note)}};
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(json))).str();
}

} // namespace dtc
