// Reads one level of links, with the keys of its shape. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"
#include "compiler/support/TomlReader.h"

namespace dtc {

// The position of a level in the file, which decides which keys it may have.
struct LevelContext {
  std::string what;       // "[[level]] 2", for messages
  bool inCpuNode = false; // joins the processes of a node, so that it has no `group`
  bool mayBeOpen = false; // outermost, so that `group` may be left out
  double discovered = 0;  // bandwidth for the word "discover"; 0 if the word is not allowed
};

// Reads [[level]]. A torus with `axes` gets that many zeros as dims.
LinkLevel readLevel(const toml::table &table, const LevelContext &context, FirstError &errors);

// Reads [[link]], the keys of a link between parts. `parts` are the names of the parts.
LinkLevel readPartLink(const toml::table &table, llvm::ArrayRef<llvm::StringRef> parts,
                       std::string &first, std::string &second, FirstError &errors);

// Reads [[slow_link]] of `system`, whose nodes and levels are known. `what` names it in messages.
SlowLinkDescription readSlowLink(const toml::table &table, const std::string &what,
                                 const SystemDescription &system, FirstError &errors);

// Prints the lines of a level after its header, in the form that readLevel reads.
void printLevel(const LinkLevel &level, llvm::raw_ostream &out);
// Prints the lines of a slow link after its header.
void printSlowLink(const SlowLinkDescription &slow, llvm::raw_ostream &out);
// Returns text as a TOML string.
std::string quoteToml(llvm::StringRef text);

} // namespace dtc
