// dtc topology: the hardware that plans are made for.
#include "tools/dtc/Commands.h"

#include "compiler/topology/Commands.h"

namespace dtc {
namespace {

struct TopologyFlags {
  std::string name, output, format = "text";
  int64_t nodes = 0, devices = 0;
};

} // namespace

void addTopology(CLI::App &app, int &exitCode) {
  CLI::App *group = app.add_subcommand(
      "topology", "Lists, shows, checks and discovers hardware descriptions\n\nExample:\n"
                  "  dtc topology show dgx-h100 --nodes 4");
  group->require_subcommand(1);
  auto flags = std::make_shared<TopologyFlags>();
  group->add_subcommand("list", "Lists the catalogue")->callback([&exitCode] {
    exitCode = runTopologyList(llvm::outs(), llvm::errs());
  });
  CLI::App *show = group->add_subcommand("show", "Shows one system");
  show->add_option("NAME", flags->name, "a name of the catalogue, or a TOML file")->required();
  show->add_option("--nodes", flags->nodes, "number of nodes")->check(CLI::PositiveNumber);
  show->add_option("--devices", flags->devices, "devices used")->check(CLI::PositiveNumber);
  show->add_option("--format", flags->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  show->callback([flags, &exitCode] {
    OutputFormat format = flags->format == "json" ? OutputFormat::Json : OutputFormat::Text;
    exitCode = runTopologyShow(flags->name, flags->nodes, flags->devices, format, llvm::outs(),
                               llvm::errs());
  });
  CLI::App *check = group->add_subcommand("check", "Checks a topology file");
  check->add_option("FILE", flags->name, "a TOML file")->required();
  check->callback(
      [flags, &exitCode] { exitCode = runTopologyCheck(flags->name, llvm::outs(), llvm::errs()); });
  CLI::App *discover = group->add_subcommand("discover", "Describes this machine");
  discover->add_option("-o,--output", flags->output, "the TOML file to write (default: stdout)");
  discover->callback([flags, &exitCode] {
    exitCode = runTopologyDiscover(flags->output, llvm::outs(), llvm::errs());
  });
}

} // namespace dtc
