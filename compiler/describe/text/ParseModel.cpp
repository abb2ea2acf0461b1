// Reads graph IR from text.
#include "compiler/describe/text/ParseModel.h"

#include "compiler/describe/text/ReadNotes.h"
#include "compiler/describe/text/Tokens.h"
#include "compiler/support/Hints.h"
#include "compiler/support/JsonText.h"
#include "dialects/graph/Graph.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace dtc {
namespace {

// Rewrites "use of value '%w' expects different type than prior uses: 'A' vs 'B'", the parser's
// message for a line that spells a type, in terms of a model.
std::string sayMismatch(StringRef message) {
  static const llvm::Regex pattern(
      "^use of value '(.*)' expects different type than prior uses: '(.*)' vs '(.*)'$");
  SmallVector<StringRef> parts;
  if (!pattern.match(message, &parts))
    return message.str();
  return ("'" + parts[1] + "' is written as " + parts[2] + " here, but it is " + parts[3]).str();
}

// Rewrites the parser's message in terms of a model. `text` is the whole file that the location is
// in.
std::string sayPlainly(const UserError &error, StringRef text) {
  StringRef message = StringRef(error.message).trim();
  if (message == "use of undeclared SSA value name") {
    StringRef line = text;
    for (int64_t i = 1; i < error.location.line; ++i)
      line = line.split('\n').second;
    StringRef name = line.drop_front(std::min<size_t>(error.location.column - 1, line.size()));
    name =
        name.take_while([](char c) { return llvm::isAlnum(c) || StringRef("%_$.-#").contains(c); });
    if (!name.empty())
      return ("'" + name + "' is not defined above").str();
  }
  static const llvm::Regex kinds("^(.*expected )::[A-Za-z:]+ to be (one of: .*)$");
  SmallVector<StringRef> parts;
  if (kinds.match(message, &parts))
    return (parts[1] + parts[2]).str();
  return message.str();
}

// Returns the offset at which brackets nest deeper than `most` levels, or npos. The parser and
// walks of its result use recursion.
size_t findDeepBracket(StringRef text, size_t most) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        at += text[at] == '\\';
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (StringRef("([{<").contains(c)) {
      if (++depth > most)
        return at;
    } else if (StringRef(")]}>").contains(c) && depth > 0 && !(c == '>' && text[at - 1] == '-')) {
      --depth;
    }
  }
  return StringRef::npos;
}

} // namespace

std::string nameTypes(StringRef message, StringRef source) {
  std::map<std::string, std::string> names; // keyed by type
  SmallVector<Token> tokens;
  for (const Token &token : splitTokens(source))
    if (token.kind != Token::Kind::Space && token.kind != Token::Kind::Comment)
      tokens.push_back(token);
  for (size_t i = 0; i + 2 < tokens.size(); ++i)
    if (tokens[i].kind == Token::Kind::Alias && tokens[i + 1].text == "=" &&
        tokens[i + 2].kind == Token::Kind::Type)
      names.try_emplace(tokens[i + 2].text.str(), tokens[i].text.str());
  std::string result;
  for (const Token &token : splitTokens(message)) {
    auto known = token.kind == Token::Kind::Type ? names.find(token.text.str()) : names.end();
    result +=
        known == names.end() ? token.text.str() : known->second + " (" + token.text.str() + ")";
  }
  return result;
}

UserError sayByName(const DiagnosticCapture &capture, UserError other, StringRef source) {
  UserError error = capture.errorOr(std::move(other));
  std::string said = sayMismatch(error.message);
  bool isMismatch = said != error.message;
  if (!isMismatch)
    said = sayPlainly(error, source);
  error.message = nameTypes(said, source);
  // The parser's own notes are for people who build MLIR tools, so they are replaced.
  if (isMismatch)
    error.note = "the types of the operands follow ':', in their order";
  else if (StringRef types = capture.operationTypes(); types.contains("tensor<"))
    error.note = nameTypes("the types are " + types.str(), source);
  else
    error.note = source.contains("graph.") ? "" : kWhatModelsAre;
  return error;
}

namespace {

// Returns the offset in `text` at which the error points, or npos.
size_t offsetOf(const SourceLocation &location, StringRef text) {
  size_t at = 0;
  for (int64_t line = 1; line < location.line && at != StringRef::npos; ++line)
    at = text.find('\n', at) == StringRef::npos ? StringRef::npos : text.find('\n', at) + 1;
  if (location.line < 1 || location.column < 1 || at == StringRef::npos ||
      at + location.column - 1 > text.size())
    return StringRef::npos;
  return at + location.column - 1;
}

// Parses `text` only for its first error.
std::optional<UserError> firstError(MLIRContext *context, const std::string &path, StringRef text) {
  DiagnosticCapture capture(context);
  Block ops;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
  (void)parseAsmSourceFile(sources, &ops, ParserConfig(context));
  return capture.error();
}

// Returns the words that an enumeration accepts. The parser lists them only for a wrong word, so
// this parses again with such a word at the location where `error` found none. Example: "expected
// one of: erf, tanh".
std::string wordsWantedAt(MLIRContext *context, const UserError &error, StringRef text) {
  size_t at = offsetOf(error.location, text);
  if (at == StringRef::npos)
    return "";
  constexpr const char *kNoWord = "no_such_word ";
  std::string changed = (text.take_front(at) + kNoWord + text.drop_front(at)).str();
  std::optional<UserError> second = firstError(context, error.location.file, changed);
  bool isThere = second && second->location.line == error.location.line &&
                 second->location.column == error.location.column;
  std::string said = isThere ? sayPlainly(*second, changed) : "";
  return StringRef(said).contains("one of: ") ? said : "";
}

// Returns the nearest name of an op for "custom op 'graph.gelo' is unknown", and "" for any other
// message.
std::string opMeant(MLIRContext *context, StringRef message) {
  auto [before, rest] = message.split('\'');
  auto [name, after] = rest.split('\'');
  if (before != "custom op " || !after.starts_with(" is unknown"))
    return "";
  std::vector<StringRef> known;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.getDialectNamespace() == graph::GraphDialect::getDialectNamespace())
      known.push_back(op.getStringRef());
  return didYouMean(name, known);
}

} // namespace

Result<OwningOpRef<ModuleOp>> parseModel(MLIRContext *context, const std::string &path,
                                         StringRef text, SourceNotes *notes) {
  constexpr size_t kMostLevels = 256;
  if (size_t at = findDeepBracket(text, kMostLevels); at != StringRef::npos)
    return UserError("brackets nest deeper than " + std::to_string(kMostLevels) + " levels", "",
                     locationAt(path, text, at));
  // The types of a wrong op are read from MLIR's print of it, which is not shown to the user.
  bool prints = context->shouldPrintOpOnDiagnostic();
  context->printOpOnDiagnostic(true);
  llvm::scope_exit restore([&] { context->printOpOnDiagnostic(prints); });
  DiagnosticCapture capture(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
  StringRef buffer = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  Block ops;
  AsmParserState state;
  OwningOpRef<ModuleOp> module;
  Location start = FileLineColLoc::get(context, path, 1, 1);
  if (succeeded(parseAsmSourceFile(sources, &ops, ParserConfig(context), &state)))
    module = mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(&ops, context, start);
  if (!module) {
    UserError error = sayByName(
        capture, UserError("reading model '" + path + "': it can't be parsed", kWhatModelsAre),
        buffer);
    if (error.message.ends_with("expected valid keyword or string"))
      if (std::string wanted = wordsWantedAt(context, error, buffer); !wanted.empty())
        error.message = wanted;
    if (std::string hint = opMeant(context, error.message); !hint.empty())
      error.note = StringRef(hint).rtrim();
    return error;
  }
  if (notes)
    *notes = readNotes(*module, state, buffer);
  return module;
}

} // namespace dtc
