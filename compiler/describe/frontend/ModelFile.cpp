// Finds the file that MODEL on the command line names.
#include "compiler/describe/frontend/ModelFile.h"

#include "compiler/support/File.h"
#include "compiler/support/Hints.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dtc {

Result<NamedText> openModel(const std::string &model) {
  std::string path = model;
  if (llvm::sys::fs::is_directory(model)) {
    llvm::SmallString<128> config(model);
    llvm::sys::path::append(config, "config.json");
    path = config.str().str();
    if (!llvm::sys::fs::exists(path))
      return UserError("reading '" + model + "': the folder has no config.json",
                       "give a .mlir file, a config.json, or a folder that holds one");
  } else if (!llvm::sys::fs::exists(model)) {
    if (llvm::StringRef text = textOf(configCatalogue(), model); !text.empty())
      return NamedText{text.str(), model + ".json"};
    // A name with a path or an ending is a missing file.
    if (!model.empty() && !llvm::StringRef(model).contains('/') &&
        !llvm::StringRef(model).ends_with(".json") && !llvm::StringRef(model).ends_with(".mlir")) {
      std::vector<std::string> names = namesOf(configCatalogue());
      std::vector<llvm::StringRef> known(names.begin(), names.end());
      return UserError("'" + model + "' is neither a model of the catalogue nor a file or folder",
                       didYouMean(model, known) + "the catalogue has " + llvm::join(names, ", "));
    }
  }
  Result<std::string> text = readFile(path);
  if (!text)
    return text.error();
  return NamedText{std::move(*text), path};
}

} // namespace dtc
