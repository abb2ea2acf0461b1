// Reads the comments, empty lines and names of a file.
#include "compiler/describe/text/ReadNotes.h"

#include "compiler/describe/text/Tokens.h"
#include "dialects/graph/Names.h"

using namespace mlir;

namespace dtc {
namespace {

// A place in the file that comments belong to: an alias, the start of an op, or its closing brace.
struct Mark {
  size_t begin, end; // range of its text
  LineNotes *notes;
};

class NotesReader {
public:
  NotesReader(ModuleOp module, const AsmParserState &state, StringRef text)
      : module(module), state(state), text(text) {}

  SourceNotes read() {
    readAliases();
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { readOp(op); });
    llvm::sort(marks, [](const Mark &a, const Mark &b) { return a.begin < b.begin; });
    readComments();
    takeHeader();
    return std::move(notes);
  }

private:
  size_t offset(llvm::SMLoc loc) const { return loc.getPointer() - text.data(); }
  StringRef textOf(SMRange range) const {
    return text.slice(offset(range.Start), offset(range.End));
  }

  void readAliases() {
    std::vector<const AsmParserState::TypeAliasDefinition *> defined;
    for (const AsmParserState::TypeAliasDefinition &alias : state.getTypeAliasDefs())
      defined.push_back(&alias);
    llvm::sort(defined, [](const auto *a, const auto *b) {
      return a->definition.loc.Start.getPointer() < b->definition.loc.Start.getPointer();
    });
    for (const auto *alias : defined)
      notes.aliases.push_back({alias->name.str(), alias->value, {}});
    for (auto [alias, note] : llvm::zip(defined, notes.aliases)) {
      size_t begin = offset(alias->definition.loc.Start);
      marks.push_back({begin, endOfCode(begin), &note.notes});
    }
  }

  // Returns the end of the line at `begin`, without a comment.
  size_t endOfCode(size_t begin) const {
    size_t at = begin;
    for (const Token &token : splitTokens(text.substr(begin))) {
      if (token.kind == Token::Kind::Comment || token.text.contains('\n'))
        break;
      at += token.text.size();
    }
    return at;
  }

  void readOp(Operation *op) {
    const AsmParserState::OperationDefinition *definition = state.getOpDef(op);
    if (!definition)
      return; // the implicit module of a file without one
    nameValues(op, *definition);
    size_t begin = offset(definition->loc.Start), end = offset(definition->scopeLoc.End);
    for (const auto &group : definition->resultGroups)
      begin = std::min(begin, offset(group.definition.loc.Start));
    StringRef code = text.slice(begin, end);
    size_t closing = code.rfind('}');
    bool hasBody = op->getNumRegions() > 0 && closing != StringRef::npos;
    // For a function these are the types before its body. The printer takes as many as it writes.
    std::vector<std::string> &types = notes.types[op];
    for (const Token &token : splitTokens(code))
      if (token.kind == Token::Kind::Alias || token.kind == Token::Kind::Type)
        types.push_back(token.text.str());
    marks.push_back({begin, hasBody ? begin : end, &notes.ops[op]});
    if (hasBody)
      marks.push_back({begin + closing, begin + closing + 1, &notes.closings[op]});
  }

  // Names the results of an op: %a, %b:2 get "a", "b_0" and "b_1".
  void nameValues(Operation *op, const AsmParserState::OperationDefinition &definition) {
    SmallVector<std::string> names;
    for (const auto &[index, group] : llvm::enumerate(definition.resultGroups)) {
      std::string name = textOf(group.definition.loc).ltrim('%').str();
      unsigned next = index + 1 < definition.resultGroups.size()
                          ? definition.resultGroups[index + 1].startIndex
                          : op->getNumResults();
      for (unsigned i = group.startIndex; i < next; ++i)
        names.push_back(next == group.startIndex + 1
                            ? name
                            : name + "_" + std::to_string(i - group.startIndex));
    }
    op->setLoc(graph::nameValues(SmallVector<StringRef>(names.begin(), names.end()), op->getLoc()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (const AsmParserState::BlockDefinition *written = state.getBlockDef(&block))
          for (auto [argument, source] : llvm::zip(block.getArguments(), written->arguments))
            argument.setLoc(graph::nameValues({textOf(source.loc).ltrim('%')}, argument.getLoc()));
  }

  // A comment on a line of its own belongs to what follows it. A comment behind code belongs to
  // that code.
  void readComments() {
    std::vector<std::string> waiting;
    size_t at = 0, next = 0, newlines = 0;
    bool isOwnLine = true;
    auto settle = [&](size_t upTo) { // marks that begin before `upTo` take the waiting comments
      for (; next < marks.size() && marks[next].begin < upTo; ++next) {
        marks[next].notes->above.insert(marks[next].notes->above.end(), waiting.begin(),
                                        waiting.end());
        waiting.clear();
      }
    };
    for (const Token &token : splitTokens(text)) {
      if (token.kind == Token::Kind::Space) {
        newlines = token.text.count('\n');
        isOwnLine |= newlines > 0;
      } else {
        settle(at + 1);
        bool isInOp = next > 0 && at > marks[next - 1].begin && at < marks[next - 1].end;
        // An empty line counts only between ops.
        if (isOwnLine && newlines > 1 && at > 0 && !isInOp)
          noteBlank(at, next, waiting, token);
        if (token.kind == Token::Kind::Comment)
          noteComment(token.text.rtrim().str(), isOwnLine, isInOp, next, waiting);
        isOwnLine = false;
        newlines = 0;
      }
      at += token.text.size();
    }
    notes.footer = waiting;
  }

  void noteBlank(size_t at, size_t next, std::vector<std::string> &waiting, const Token &token) {
    bool isMark = next > 0 && marks[next - 1].begin == at;
    if (isMark)
      marks[next - 1].notes->above.push_back("");
    else if (token.kind == Token::Kind::Comment)
      waiting.push_back("");
  }

  void noteComment(std::string comment, bool isOwnLine, bool isInOp, size_t next,
                   std::vector<std::string> &waiting) {
    if (next > 0 && (isInOp || !isOwnLine)) {
      // If an op has several lines with a comment each, the last comment stays behind it.
      LineNotes &last = *marks[next - 1].notes;
      if (isOwnLine)
        last.above.push_back(comment);
      else
        std::swap(last.after, comment);
      if (!isOwnLine && !comment.empty())
        last.above.push_back(comment);
    } else {
      waiting.push_back(comment);
    }
  }

  // Comments before everything else stay at the top, even if another op becomes the first.
  void takeHeader() {
    if (marks.empty())
      return;
    std::vector<std::string> &first = marks.front().notes->above;
    while (!first.empty() && first.back().empty())
      first.pop_back();
    notes.header = std::move(first);
    first.clear();
  }

  ModuleOp module;
  const AsmParserState &state;
  StringRef text;
  SourceNotes notes;
  std::vector<Mark> marks;
};

} // namespace

SourceNotes readNotes(ModuleOp module, const AsmParserState &state, StringRef text) {
  return NotesReader(module, state, text).read();
}

} // namespace dtc
