// Makes files of programs that are written as exec text, for tests of proofs about them.
#pragma once

#include "compiler/build/emit/ManifestBuilder.h"
#include "compiler/prove/verify/Verify.h"
#include "runtime/format/Header.h"
#include "runtime/format/Verify.h"
#include "test/verify/Packed.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dtc::test {

using Change = std::pair<std::string, std::string>; // a piece of the text, and its replacement
using Edit = std::function<void(format::ManifestT &)>;

// Returns `text` with every change made. Each piece must be in it.
inline std::string changed(std::string text, const std::vector<Change> &changes) {
  for (const auto &[from, to] : changes) {
    EXPECT_NE(text.find(from), std::string::npos) << "the text lacks: " << from;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

// Returns the file of these programs. Every buffer has memory of its own. Nothing is checked.
// `edit` changes what the text cannot express.
inline Packed manifestOf(const std::string &text, const Edit &edit = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  EXPECT_TRUE(module) << text;
  format::ManifestT manifest;
  manifest.format_version = format::formatVersion;
  manifest.producer = "test";
  manifest.model_name = "test";
  if (!module)
    return Packed(manifest);
  // Instructions are named by loc("..."), and not by their line in a test.
  module->walk([&](mlir::Operation *op) {
    mlir::Location location = mlir::UnknownLoc::get(&context);
    if (auto named = mlir::dyn_cast<mlir::NameLoc>(op->getLoc()))
      location = mlir::NameLoc::get(named.getName());
    op->setLoc(location);
  });
  ProgramCode code;
  ManifestBuilder builder(manifest, code);
  for (auto program : module->getOps<exec::ProgramOp>()) {
    int64_t end = 0;
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      buffer.setOffset(end);
      end += (buffer.getAllBytes() + 63) / 64 * 64;
    }
    program.setArenaBytes(end);
    builder.add(program);
  }
  if (!manifest.kernels.empty())
    manifest.segments.push_back(std::make_unique<format::SegmentT>()); // its code is never run
  if (edit)
    edit(manifest);
  return Packed(manifest);
}

// Returns the buffer of that name.
inline format::BufferT &bufferOf(format::ManifestT &manifest, const std::string &name) {
  for (auto &program : manifest.programs)
    for (auto &buffer : program->buffers)
      if (buffer->name == name)
        return *buffer;
  ADD_FAILURE() << "no buffer '" << name << "'";
  return *manifest.programs.front()->buffers.front();
}

// Returns the fault in words, or "" if there is none.
inline std::string textOf(const std::optional<Fault> &fault) {
  return fault ? fault->text() + (fault->note.empty() ? "" : "; " + fault->note) : "";
}

// A correct program with a change that breaks one rule.
struct Broken {
  const char *name, *text;
  std::vector<Change> changes;
  std::string fault; // includes the note, if it matters
  Edit edit = {};
  bool isRefusedByLoader = false; // the loader refuses it, too
};
// Prints the name for GoogleTest. NOLINTNEXTLINE(readability-identifier-naming)
inline void PrintTo(const Broken &broken, std::ostream *out) { *out << broken.name; }

// Expects that the program is correct, and has the fault after the changes. The loader must accept
// the changed program unless the case says otherwise.
inline void expectFault(const Broken &broken) {
  Packed whole = manifestOf(broken.text);
  ASSERT_EQ(format::verifyManifest(*whole, "m.dte").message(), "");
  ASSERT_EQ(textOf(verifyPrograms(*whole).fault), "");
  Packed packed = manifestOf(changed(broken.text, broken.changes), broken.edit);
  if (!broken.isRefusedByLoader) {
    ASSERT_EQ(format::verifyManifest(*packed, "m.dte").message(), "");
  }
  std::optional<Fault> fault = verifyPrograms(*packed).fault;
  EXPECT_EQ(textOf(fault).substr(0, broken.fault.size()), broken.fault) << textOf(fault);
}

} // namespace dtc::test
