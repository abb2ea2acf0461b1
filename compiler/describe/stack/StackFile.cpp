// Reads stack files: TOML to figures.
#include "compiler/describe/stack/StackFile.h"

#include "compiler/describe/stack/StackFields.h"
#include "compiler/support/TomlReader.h"
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dtc {
namespace {

// Returns true if attention, products and experts' products may be chosen for recomputation on top
// of the cheap ops.
bool mayBePartial(const SoftwareStack &stack) {
  return !stack.selectiveAttention && stack.selectiveShare == 0 && stack.blockedAttention;
}

constexpr uint32_t kPartial =
    ((1u << kNumRecomputes) - 1) & ~(1u << static_cast<unsigned>(Recompute::None) |
                                     1u << static_cast<unsigned>(Recompute::Selective) |
                                     1u << static_cast<unsigned>(Recompute::Full));
bool hasPartial(const LegalSpace &space) { return (space.recompute & kPartial) != 0; }

// Limit of files from the one that is read to the one that gives everything.
constexpr size_t mostFiles = 16;
constexpr size_t mostNameLength = 64;
constexpr const char *kHintOfMissing =
    "a stack that extends no other says everything; with 'extends = \"dtc\"' it says what differs";

// Reads one file and those that it extends.
class StackReader {
public:
  // `above` lists the files that lead here, none of which may be extended again.
  StackReader(std::string path, std::vector<std::string> above) : above(std::move(above)) {
    this->above.push_back(path);
    errors.path = std::move(path);
  }

  Result<StackFile> read(const toml::table &root) {
    std::vector<llvm::StringRef> known{"name", "description", "extends", "on_gpu"};
    known.insert(known.end(), stackTables().begin(), stackTables().end());
    TableReader reader(root, "the file", known, errors);
    std::string name = readName(reader);
    if (!errors.error && reader.has("extends"))
      if (std::optional<UserError> error = readBase(reader, name))
        return *error;
    file.stack.name = name;
    file.stack.description = reader.word("description", "");
    file.stack.onGpu = readOnGpu(reader);
    for (llvm::StringRef table : stackTables())
      readTable(reader, table);
    if (errors.error)
      return *errors.error;
    if (!mayBePartial(file.stack)) // comes from a stack that it extends
      file.stack.space.recompute &= ~kPartial;
    return file;
  }

private:
  std::string readName(TableReader &reader);
  std::optional<UserError> readBase(TableReader &reader, const std::string &name);
  Result<NamedText> baseNamed(const std::string &named) const;
  std::string readOnGpu(TableReader &reader);
  void readTable(TableReader &root, llvm::StringRef table);
  void readSpace(TableReader &reader);
  bool isSaid(TableReader &reader, llvm::StringRef table, llvm::StringRef key);

  std::vector<std::string> above;
  FirstError errors;
  StackFile file;
  bool saysEverything = true; // true if it extends no other stack
};

std::string StackReader::readName(TableReader &reader) {
  std::string name = reader.word("name");
  bool isPlain = llvm::all_of(
      name, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("-_.+").contains(c); });
  if (!isPlain || name.size() > mostNameLength)
    reader.fail("name",
                "'name' of the file is '" + name.substr(0, mostNameLength) +
                    "', wanted letters, digits and any of '-_.+', " +
                    std::to_string(mostNameLength) + " at most",
                "the name goes into plans; words about the stack go into 'description'");
  return name;
}

// Returns the path of a file that another one names, relative to that one.
std::string relativeTo(const std::string &path, llvm::StringRef named) {
  if (llvm::sys::path::is_absolute(named))
    return named.str();
  llvm::SmallString<256> joined(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(joined, named);
  return joined.str().str();
}

// Returns a note for a name that is not in the catalogue.
std::string noteOnNames(llvm::StringRef named) {
  std::vector<std::string> names = namesOf(stackCatalogue());
  std::string nearest =
      nearestName(named, std::vector<llvm::StringRef>(names.begin(), names.end()));
  return nearest.empty() ? "'dtc stack list' names its stacks; the name of a file ends in .toml"
                         : "did you mean '" + nearest + "'?";
}

bool isSameFile(const std::string &a, const std::string &b) {
  bool same = false;
  return a == b || (!llvm::sys::fs::equivalent(a, b, same) && same);
}

Result<StackFile> readText(llvm::StringRef text, const std::string &path,
                           const std::vector<std::string> &above) {
  Result<toml::table> root = parseToml(text, path);
  if (!root)
    return root.error();
  return StackReader(path, above).read(*root);
}

// Opens the stack that 'extends' names: a file if the name ends in .toml, else a stack of the
// catalogue.
Result<NamedText> StackReader::baseNamed(const std::string &named) const {
  if (llvm::StringRef(named).ends_with(".toml"))
    return openNamed({}, relativeTo(above.back(), named), "a software stack");
  llvm::StringRef text = textOf(stackCatalogue(), named);
  if (!text.empty())
    return NamedText{text.str(), named + ".toml"};
  return UserError("the catalogue has no such stack", noteOnNames(named));
}

std::optional<UserError> StackReader::readBase(TableReader &reader, const std::string &name) {
  std::string named = reader.word("extends");
  if (errors.error)
    return std::nullopt;
  auto fail = [&](const std::string &why, const std::string &note) {
    reader.fail("extends", "'extends' of the file is '" + named + "': " + why, note);
    return std::nullopt;
  };
  Result<NamedText> base = baseNamed(named);
  if (!base)
    return fail(base.error().message, base.error().note);
  if (llvm::any_of(above, [&](const std::string &path) { return isSameFile(path, base->path); }))
    return fail("it leads back to a file that extends this one",
                "the last file extends none and says everything");
  if (above.size() == mostFiles)
    return fail("it is the " + std::to_string(mostFiles + 1) + "th file in a row",
                "wanted " + std::to_string(mostFiles) + " at most");
  Result<StackFile> read = readText(base->text, base->path, above);
  if (!read)
    return read.error();
  file = std::move(*read);
  file.stack.extends.insert(file.stack.extends.begin(), file.stack.name);
  if (llvm::is_contained(file.stack.extends, name))
    reader.fail("name", "'name' of the file is '" + name + "', as of a stack that it extends",
                "'dtc stack show' tells them apart by name");
  saysEverything = false;
  return std::nullopt;
}

std::string StackReader::readOnGpu(TableReader &reader) {
  if (!reader.has("on_gpu"))
    return "";
  std::string named = reader.word("on_gpu");
  if (!errors.error && textOf(stackCatalogue(), named).empty())
    reader.fail("on_gpu", "'on_gpu' of the file is '" + named + "', which the catalogue lacks",
                noteOnNames(named));
  return named;
}

// Returns true if the file gives `key`. Records an error if it must give it but does not.
bool StackReader::isSaid(TableReader &reader, llvm::StringRef table, llvm::StringRef key) {
  if (reader.has(key)) {
    file.saidBy[key] = file.stack.name;
    return true;
  }
  if (saysEverything)
    reader.fail(key, "[" + table.str() + "] has no '" + key.str() + "'", kHintOfMissing);
  return false;
}

void StackReader::readTable(TableReader &root, llvm::StringRef name) {
  if (!root.has(name)) {
    if (saysEverything)
      root.fail(name, "the file has no [" + name.str() + "]", kHintOfMissing);
    return;
  }
  const toml::table *table = root.table(name);
  if (!table)
    return;
  TableReader reader(*table, "[" + name.str() + "]", keysOf(name), errors);
  for (const StackFlag &flag : stackFlags())
    if (flag.table == name && isSaid(reader, name, flag.key))
      file.stack.*flag.member = reader.flag(flag.key, false);
  for (const StackFigure &figure : stackFigures()) {
    if (figure.table != name || !isSaid(reader, name, figure.key))
      continue;
    file.stack.*figure.member =
        figure.quantity ? reader.quantity(figure.key, *figure.quantity, figure.least, figure.most)
                        : reader.number(figure.key, figure.least, figure.most, figure.least);
  }
  if (reader.has("fuses_gates") && file.stack.fusesGates && !file.stack.joinsPointwise)
    reader.fail("fuses_gates", "'fuses_gates' of [kernels] is true and 'joins_pointwise' false",
                "set both to true: gates that are one kernel are joined elementwise ops");
  if (name == kSpaceTable)
    readSpace(reader);
}

void StackReader::readSpace(TableReader &reader) {
  for (const SpaceFlag &flag : spaceFlags())
    if (isSaid(reader, kSpaceTable, flag.key))
      file.stack.space.*flag.member = reader.flag(flag.key, false);
  for (const SpaceSet &set : spaceSets())
    if (isSaid(reader, kSpaceTable, set.key))
      file.stack.space.*set.member = reader.choices(set.key, set.words);
  if (reader.has("recompute") && hasPartial(file.stack.space) && !mayBePartial(file.stack))
    reader.fail("recompute",
                "'recompute' of [space] has kinds with groups of ops, which need selective "
                "recomputation of "
                "all ops but matrix products",
                "leave them out, or set selective_attention to false, selective_share to 0 and "
                "blocked_attention to true");
  LegalSpace &space = file.stack.space;
  if (!reader.has("offload_activations"))
    space.offloadActivations &= space.recompute;
  if (reader.has("offload_activations") && (space.offloadActivations & ~space.recompute) != 0)
    reader.fail(
        "offload_activations",
        "'offload_activations' of [space] has kinds of recomputation that 'recompute' lacks",
        "leave them out, or add them to 'recompute'");
}

// Returns the stack of a launcher, or of a framework, that the catalogue has under another name; ""
// for any other word.
llvm::StringRef stackMeantBy(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .CasesLower({"megatron-lm", "megatron_lm", "mcore"}, "megatron-core")
      .CasesLower({"nemo", "nemo2"}, "megatron-bridge")
      .CasesLower({"fsdp", "fsdp2", "pytorch", "torch"}, "fsdp-compiled")
      .CasesLower({"titan", "torch-titan"}, "torchtitan")
      .CaseLower("jax", "maxtext")
      .Default("");
}

} // namespace

Result<StackFile> readStack(llvm::StringRef text, const std::string &path) {
  return readText(text, path, {});
}

Result<StackFile> openStack(const std::string &nameOrFile) {
  Result<NamedText> file =
      openNamed(stackCatalogue(), nameOrFile, "a software stack", stackMeantBy(nameOrFile));
  if (!file)
    return file.error();
  return readStack(file->text, file->path);
}

} // namespace dtc
