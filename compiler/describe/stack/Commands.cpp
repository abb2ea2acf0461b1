// Implements the commands `dtc stack list|show|check`.
#include "compiler/describe/stack/Commands.h"

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/ShowStack.h"
#include "compiler/support/File.h"
#include "compiler/support/Table.h"

namespace dtc {

int runStackList(llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Table table({"name", "extends", "description"});
  for (const std::string &name : stackNames()) {
    Result<SoftwareStack> stack = loadStack(name);
    if (!stack)
      return stack.error().report(errors);
    table.addRow({name, stack->extends.empty() ? "" : stack->extends.front(), stack->description});
  }
  table.print(out);
  return 0;
}

int runStackShow(const std::string &nameOrFile, OutputFormat format, llvm::raw_ostream &out,
                 llvm::raw_ostream &errors) {
  Result<StackFile> file = openStack(nameOrFile);
  if (!file)
    return file.error().report(errors);
  if (format == OutputFormat::Json)
    showJson(*file, out);
  else
    showText(*file, out);
  return 0;
}

int runStackCheck(const std::string &path, llvm::raw_ostream &out, llvm::raw_ostream &errors) {
  Result<std::string> text = readFile(path, int64_t(16) << 20);
  if (!text)
    return text.error().report(errors);
  Result<StackFile> file = readStack(*text, path);
  if (!file)
    return file.error().report(errors);
  const SoftwareStack &stack = file->stack;
  size_t own = 0;
  for (const auto &[key, name] : file->saidBy)
    own += name == stack.name;
  out << path << ": '" << stack.name << "' says " << own << " of " << file->saidBy.size()
      << " figures";
  if (!stack.extends.empty())
    out << " and takes the others from '" << stack.extends.front() << "'";
  out << "\n";
  return 0;
}

} // namespace dtc
