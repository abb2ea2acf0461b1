// dtc stack: shows the software that plans are made for.
#include "tools/dtc/Commands.h"

#include "compiler/describe/stack/Commands.h"

namespace dtc {
namespace {

struct StackFlags {
  std::string name, format = "text";
};

} // namespace

void addStack(CLI::App &app, int &exitCode) {
  CLI::App *group = app.add_subcommand(
      "stack", "Lists, shows and checks descriptions of software that plans are made for\n\n"
               "Example:\n  dtc stack show megatron-core");
  group->require_subcommand(1);
  auto flags = std::make_shared<StackFlags>();
  group->add_subcommand("list", "Lists the catalogue")->callback([&exitCode] {
    exitCode = runStackList(llvm::outs(), llvm::errs());
  });
  CLI::App *show = group->add_subcommand("show", "Shows one stack, and where its figures are from");
  show->add_option("NAME", flags->name, "a name of 'dtc stack list', or a TOML file")->required();
  show->add_option("--format", flags->format, "text or json")->check(oneOf({"text", "json"}));
  show->callback([flags, &exitCode] {
    OutputFormat format = flags->format == "json" ? OutputFormat::Json : OutputFormat::Text;
    exitCode = runStackShow(flags->name, format, llvm::outs(), llvm::errs());
  });
  CLI::App *check = group->add_subcommand("check", "Checks a stack file");
  check->add_option("FILE", flags->name, "a TOML file")->required();
  check->callback(
      [flags, &exitCode] { exitCode = runStackCheck(flags->name, llvm::outs(), llvm::errs()); });
}

} // namespace dtc
