// Finds files that are compiled into the program.
#include "compiler/support/Catalogue.h"

#include "compiler/support/File.h"

#include "llvm/Support/FileSystem.h"

namespace dtc {

std::vector<std::string> namesOf(Catalogue catalogue) {
  std::vector<std::string> names;
  for (const CatalogueFile &file : catalogue)
    names.push_back(file.name.str());
  return names;
}

llvm::StringRef textOf(Catalogue catalogue, llvm::StringRef name) {
  for (const CatalogueFile &file : catalogue)
    if (file.name == name)
      return file.text;
  return "";
}

Result<NamedText> openNamed(Catalogue catalogue, const std::string &nameOrFile,
                            llvm::StringRef what, llvm::StringRef meant) {
  llvm::StringRef text = textOf(catalogue, nameOrFile), name = nameOrFile;
  if (!text.empty())
    return NamedText{text.str(), nameOrFile + ".toml"};
  if (!name.contains('/') && !name.ends_with(".toml") && !llvm::sys::fs::exists(name)) {
    std::vector<llvm::StringRef> known;
    std::string list;
    for (const CatalogueFile &file : catalogue) {
      known.push_back(file.name);
      list += (list.empty() ? "" : ", ") + file.name.str();
    }
    std::string nearest = meant.empty() ? nearestName(name, known) : meant.str();
    return UserError(
        "'" + nameOrFile + "' is neither " + what.str() + " of the catalogue nor a file",
        (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") + "the catalogue has " + list);
  }
  Result<std::string> contents = readFile(nameOrFile, int64_t(16) << 20);
  if (!contents)
    return contents.error();
  return NamedText{*contents, nameOrFile};
}

} // namespace dtc
