// Reads one level of links, with the keys of its shape. Internal to this folder.
#pragma once

#include "compiler/support/TomlReader.h"
#include "compiler/topology/Description.h"

namespace dtc {

struct LevelPlace {
  std::string what;       // "[[level]] 2", for messages
  bool inCpuNode = false; // joins the processes of a node: has no `group`
  bool mayBeOpen = false; // outermost: `group` may be left out
  double discovered = 0;  // bandwidth where the file says "discover"; 0: it may not
};

// Reads [[level]]; of a torus with `axes`, dims are that many zeros.
LinkLevel readLevel(const toml::table &table, const LevelPlace &place, FirstError &errors);

// Reads [[link]], the keys of a link between parts; `known` are the names of the parts.
LinkLevel readPartLink(const toml::table &table, llvm::ArrayRef<llvm::StringRef> parts,
                       std::string &first, std::string &second, FirstError &errors);

// Reads [[slow_link]] of `system`, whose nodes and levels are known; `what` names it in messages.
SlowLinkDescription readSlowLink(const toml::table &table, const std::string &what,
                                 const SystemDescription &system, FirstError &errors);

// The lines of a level after its header, as readLevel reads them.
void printLevel(const LinkLevel &level, llvm::raw_ostream &out);
void printSlowLink(const SlowLinkDescription &slow, llvm::raw_ostream &out);
// A TOML string.
std::string quoteToml(llvm::StringRef text);

} // namespace dtc
