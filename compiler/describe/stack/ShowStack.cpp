// Prints a software stack as text for people, and as JSON for programs.
#include "compiler/describe/stack/ShowStack.h"

#include "compiler/describe/stack/Fingerprint.h"
#include "compiler/describe/stack/StackFields.h"
#include "compiler/support/Table.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace dtc {
namespace {

std::string valueText(const SoftwareStack &stack, const StackFigure &figure) {
  double value = stack.*figure.member;
  return figure.quantity ? printExact(value, *figure.quantity) : exactText(value);
}

void addSpace(const StackFile &file, Table &table) {
  const LegalSpace &space = file.stack.space;
  for (const SpaceFlag &flag : spaceFlags())
    table.addRow({flag.key.str(), space.*flag.member ? "true" : "false", file.saidBy.at(flag.key),
                  flag.meaning.str()});
  for (const SpaceSet &set : spaceSets())
    table.addRow({set.key.str(), space.*set.member ? wordsOf(set, space) : "none",
                  file.saidBy.at(set.key), set.meaning.str()});
}

void writeSpace(const LegalSpace &space, llvm::json::OStream &json) {
  for (const SpaceFlag &flag : spaceFlags())
    json.attribute(flag.key, space.*flag.member);
  for (const SpaceSet &set : spaceSets())
    json.attributeArray(set.key, [&] {
      for (auto [index, word] : llvm::enumerate(set.words))
        if (space.*set.member >> index & 1)
          json.value(word);
    });
}

} // namespace

void showText(const StackFile &file, llvm::raw_ostream &out) {
  const SoftwareStack &stack = file.stack;
  out << stack.name << (stack.description.empty() ? "" : ": ") << stack.description << "\n";
  if (!stack.extends.empty())
    out << "extends " << llvm::join(stack.extends, ", ") << "\n";
  if (!stack.onGpu.empty())
    out << "on GPUs: " << stack.onGpu << "\n";
  for (llvm::StringRef name : stackTables()) {
    out << "\n[" << name << "]\n";
    Table table({"key", "value", "said by", "meaning"});
    for (const StackFlag &flag : stackFlags())
      if (flag.table == name)
        table.addRow({flag.key.str(), stack.*flag.member ? "true" : "false",
                      file.saidBy.at(flag.key), flag.meaning.str()});
    for (const StackFigure &figure : stackFigures())
      if (figure.table == name)
        table.addRow({figure.key.str(), valueText(stack, figure), file.saidBy.at(figure.key),
                      figure.meaning.str()});
    if (name == kSpaceTable)
      addSpace(file, table);
    table.print(out, 2);
  }
}

void showJson(const StackFile &file, llvm::raw_ostream &out) {
  const SoftwareStack &stack = file.stack;
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("schema", "dtc.stack/1");
    json.attribute("name", stack.name);
    json.attribute("description", stack.description);
    json.attributeArray("extends", [&] {
      for (const std::string &each : stack.extends)
        json.value(each);
    });
    json.attribute("on_gpu", stack.onGpu);
    for (llvm::StringRef name : stackTables())
      json.attributeObject(name, [&] {
        for (const StackFlag &flag : stackFlags())
          if (flag.table == name)
            json.attribute(flag.key, stack.*flag.member);
        for (const StackFigure &figure : stackFigures())
          if (figure.table == name)
            json.attribute(figure.key, stack.*figure.member);
        if (name == kSpaceTable)
          writeSpace(stack.space, json);
      });
    json.attributeObject("said_by", [&] {
      for (const auto &[key, name] : file.saidBy)
        json.attribute(key, name);
    });
  });
  out << "\n";
}

} // namespace dtc
