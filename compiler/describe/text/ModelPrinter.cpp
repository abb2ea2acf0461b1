// Prints graph IR in the style that people write.
#include "compiler/describe/text/ModelPrinter.h"

#include "compiler/describe/text/Tokens.h"
#include "compiler/describe/text/WrapLine.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Names.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtc {
namespace {

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Names of the values of one function, by the text that MLIR prints for them.
class ValueNames {
public:
  // Returns the author's name if there is one, made different from earlier names.
  std::string add(const std::string &printed, StringRef wanted) {
    std::string base = wanted.empty() ? StringRef(printed).drop_front().str() : wanted.str();
    std::replace(base.begin(), base.end(), '#', '_');
    // MLIR accepts a name that is all digits, or one that starts with none.
    if (llvm::isDigit(base.front()) && !llvm::all_of(base, llvm::isDigit))
      base = "v" + base;
    std::string name = base;
    for (int n = 1; !taken.insert(name).second; ++n)
      name = (llvm::isDigit(base.front()) ? "v" : "") + base + "_" + std::to_string(n);
    return names[printed] = "%" + name;
  }

  std::string rename(StringRef text) const {
    std::string result;
    for (const Token &token : splitTokens(text)) {
      auto known = token.kind == Token::Kind::Value ? names.find(token.text.str()) : names.end();
      result += known == names.end() ? token.text.str() : known->second;
    }
    return result;
  }

private:
  std::map<std::string, std::string> names;
  llvm::StringSet<> taken;
};

// One line of the model, not yet wrapped, with types in full.
struct Line {
  Operation *op;
  size_t indent;
  bool isClosing;
  std::string text;
};

// Works in four steps: 1. MLIR prints the module, one line per op. 2. Values get their names. 3.
// Types get theirs. 4. Lines are cut, and comments return to their places.
class ModelPrinter {
public:
  ModelPrinter(ModuleOp module, const SourceNotes &notes)
      : module(module), notes(notes), state(module) {}

  std::string print() {
    if (!collectLines())
      return printed + "\n";
    nameValues();
    nameTypes();
    write();
    return out;
  }

private:
  // --- 1. lines

  // Returns false if an op of another dialect is not printed as one line or as a body in braces.
  bool collectLines() {
    llvm::raw_string_ostream stream(printed);
    module->print(stream, state);
    SmallVector<StringRef> rows;
    StringRef(printed).rtrim().split(rows, '\n');
    const StringRef *row = rows.begin();
    return collectOp(module, row, rows.end()) && row == rows.end();
  }

  bool collectOp(Operation *op, const StringRef *&row, const StringRef *end) {
    auto collectRow = [&](bool isClosing) {
      if (row == end || row->trim().empty())
        return false;
      lines.push_back({op, row->size() - row->ltrim().size(), isClosing, row->trim().str()});
      ++row;
      return !StringRef(lines.back().text).starts_with("^"); // false for a block with a label
    };
    if (!collectRow(false))
      return false;
    if (!StringRef(lines.back().text).ends_with("{"))
      return true;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          if (!collectOp(&inner, row, end))
            return false;
    return collectRow(true);
  }

  // --- 2. names of values

  void nameValues() {
    ValueNames names;
    for (Line &line : lines) {
      if (line.isClosing)
        continue;
      if (isa<FunctionOpInterface>(line.op)) {
        names = ValueNames();
        for (BlockArgument argument : line.op->getRegion(0).getArguments())
          nameValue(names, argument, graph::namesIn(argument.getLoc()), 0);
      }
      line.text = nameResults(names, line);
    }
  }

  void nameValue(ValueNames &names, Value value, ArrayRef<StringRef> wanted, size_t index) {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    value.printAsOperand(stream, state);
    std::string name = names.add(printed, index < wanted.size() ? wanted[index] : StringRef());
    firstWithType.try_emplace(value.getType(), name.substr(1));
    valueNames[value] = name;
  }

  std::string nameResults(ValueNames &names, const Line &line) {
    StringRef text = line.text;
    if (line.op->getNumResults() == 0)
      return names.rename(text);
    SmallVector<StringRef> wanted = graph::namesIn(line.op->getLoc());
    std::string renamed = names.rename(text.drop_front(text.find(" = ")));
    SmallVector<std::string> results;
    for (auto [index, result] : llvm::enumerate(line.op->getResults())) {
      nameValue(names, result, wanted, index);
      results.push_back(valueNames[result]);
    }
    return llvm::join(results, ", ") + renamed;
  }

  // --- 3. names of types

  void nameTypes() {
    for (const SourceNotes::Alias &alias : notes.aliases) {
      aliasTypesByName[alias.name] = textOf(alias.type);
      aliasOf.try_emplace(textOf(alias.type), alias.name);
    }
    for (const auto &[name, type] : graph::getTypeNames(module))
      addAlias(name, type);
    std::map<std::string, int> uses;
    for (const Line &line : lines)
      for (const Token &token : splitTokens(line.text))
        if (token.kind == Token::Kind::Type)
          ++uses[token.text.str()];
    for (const auto &[type, value] : firstWithType) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && tensor.getRank() > 0 && uses[textOf(type)] > 1)
        addAlias(value, type);
    }
    for (Line &line : lines)
      line.text = aliasTypes(line);
  }

  // A type's name is a word, and means one type.
  void addAlias(StringRef wanted, Type type) {
    std::string text = textOf(type), base = wanted.str();
    if (aliasOf.count(text) || !(llvm::isAlpha(base.front()) || base.front() == '_'))
      return;
    std::string name = base;
    for (int n = 1; aliasTypesByName.count(name); ++n)
      name = base + "_" + std::to_string(n);
    aliasTypesByName[name] = text;
    aliasOf.try_emplace(text, name);
  }

  std::string aliasTypes(const Line &line) {
    SmallVector<std::string> written;
    if (auto it = notes.types.find(line.op); it != notes.types.end() && !line.isClosing)
      written.assign(it->second.begin(), it->second.end());
    std::string result;
    size_t index = 0;
    for (const Token &token : splitTokens(line.text)) {
      if (token.kind == Token::Kind::Number)
        result += shortenNumber(token.text);
      else if (token.kind != Token::Kind::Type)
        result += token.text;
      else
        result += nameOfType(token.text, index < written.size() ? written[index++] : "");
    }
    return result;
  }

  // Prefers the file's own word if it has several names for one type.
  std::string nameOfType(StringRef text, StringRef written) {
    std::string name;
    if (written.consume_front("!"))
      if (auto known = aliasTypesByName.find(written.str());
          known != aliasTypesByName.end() && known->second == text)
        name = written.str();
    if (auto known = aliasOf.find(text.str()); name.empty() && known != aliasOf.end())
      name = known->second;
    if (name.empty())
      return text.str();
    if (used.insert(name).second)
      usedInOrder.push_back(name);
    return "!" + name;
  }

  // --- 4. lines and comments

  void write() {
    for (const std::string &comment : notes.header)
      out += comment + "\n";
    for (const SourceNotes::Alias &alias : notes.aliases) {
      writeLine("!" + alias.name + " = " + textOf(alias.type), 0, &alias.notes);
      used.insert(alias.name);
    }
    for (const std::string &name : usedInOrder)
      if (!isInSource(name))
        writeLine("!" + name + " = " + aliasTypesByName[name], 0, nullptr);
    if (!used.empty())
      writeBlank();
    for (const Line &line : lines)
      writeModelLine(line);
    for (const std::string &comment : notes.footer)
      out += comment + "\n";
  }

  bool isInSource(StringRef name) const {
    return llvm::any_of(notes.aliases,
                        [&](const SourceNotes::Alias &alias) { return alias.name == name; });
  }

  void writeModelLine(const Line &line) {
    const auto &byOp = line.isClosing ? notes.closings : notes.ops;
    auto it = byOp.find(line.op);
    bool isFunc = isa<FunctionOpInterface>(line.op) && !line.isClosing;
    bool hasBlank =
        it != byOp.end() && !it->second.above.empty() && it->second.above.front().empty();
    if (isFunc && !hasBlank && !lastOpened)
      writeBlank();
    writeLine(line.text, line.indent, it == byOp.end() ? nullptr : &it->second, line.isClosing);
  }

  void writeBlank() {
    if (!StringRef(out).ends_with("\n\n") && !out.empty())
      out += "\n";
  }

  void writeLine(StringRef text, size_t indent, const LineNotes *beside, bool isClosing = false) {
    for (const std::string &comment : beside ? beside->above : std::vector<std::string>()) {
      if (comment.empty() && !lastOpened) {
        writeBlank();
      } else if (!comment.empty()) {
        out += std::string(indent + (isClosing ? 2 : 0), ' ') + comment + "\n";
        lastOpened = false;
      }
    }
    if (isClosing && StringRef(out).ends_with("\n\n"))
      out.pop_back();
    std::vector<std::string> rows = wrapLine(text, indent);
    if (beside && !beside->after.empty())
      rows.back() += " " + beside->after;
    for (const std::string &row : rows)
      out += row + "\n";
    lastOpened = text.ends_with("{");
  }

  ModuleOp module;
  const SourceNotes &notes;
  AsmState state;
  std::string printed; // by MLIR
  std::vector<Line> lines;
  llvm::MapVector<Type, std::string> firstWithType;
  llvm::DenseMap<Value, std::string> valueNames;
  std::map<std::string, std::string> aliasTypesByName, aliasOf; // name to type, type to name
  llvm::StringSet<> used;
  std::vector<std::string> usedInOrder;
  std::string out;
  bool lastOpened = false; // the line before opened a brace, so no empty line follows
};

} // namespace

std::string printModel(ModuleOp module, const SourceNotes &notes) {
  return ModelPrinter(module, notes).print();
}

} // namespace dtc
