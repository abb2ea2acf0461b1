// dtc topology: shows the hardware that plans are made for.
#include "tools/dtc/Commands.h"

#include "compiler/describe/topology/Commands.h"

namespace dtc {
namespace {

struct TopologyFlags {
  std::string name, output, device, ncclXml, format = "text";
  int64_t nodes = 0, devices = 0;
};

} // namespace

void addTopology(CLI::App &app, int &exitCode) {
  CLI::App *group = app.add_subcommand(
      "topology", "Lists, shows, checks, discovers and imports hardware descriptions\n\nExample:\n"
                  "  dtc topology show dgx-h100 --nodes 4");
  group->require_subcommand(1);
  auto flags = std::make_shared<TopologyFlags>();
  group->add_subcommand("list", "Lists the catalogue")->callback([&exitCode] {
    exitCode = runTopologyList(llvm::outs(), llvm::errs());
  });
  CLI::App *show = group->add_subcommand("show", "Shows one system");
  show->add_option("NAME", flags->name, "a name of 'dtc topology list', or a TOML file")
      ->required();
  show->add_option("--nodes", flags->nodes, "number of nodes")->check(wholeNumber(1));
  show->add_option("--devices", flags->devices, "devices used")->check(wholeNumber(1));
  show->add_option("--format", flags->format, "text or json")->check(oneOf({"text", "json"}));
  show->callback([flags, &exitCode] {
    OutputFormat format = flags->format == "json" ? OutputFormat::Json : OutputFormat::Text;
    exitCode = runTopologyShow(flags->name, flags->nodes, flags->devices, format, llvm::outs(),
                               llvm::errs());
  });
  CLI::App *check = group->add_subcommand("check", "Checks a topology file");
  check->add_option("FILE", flags->name, "a TOML file")->required();
  check->callback(
      [flags, &exitCode] { exitCode = runTopologyCheck(flags->name, llvm::outs(), llvm::errs()); });
  CLI::App *discover =
      group->add_subcommand("discover", "Describes this machine, or the one of an NCCL dump");
  discover->add_option("-o,--output", flags->output, "the TOML file to write (default: stdout)");
  CLI::Option *xml = discover->add_option("--nccl-xml", flags->ncclXml,
                                          "take the machine from this file of NCCL_TOPO_DUMP_FILE");
  discover
      ->add_option("--device", flags->device,
                   "the system of the catalogue with the same device (default: found by PCI id)")
      ->needs(xml);
  discover->callback([flags, &exitCode] {
    exitCode = flags->ncclXml.empty()
                   ? runTopologyDiscover(flags->output, llvm::outs(), llvm::errs())
                   : runTopologyImportNccl(flags->ncclXml, flags->device, flags->output,
                                           llvm::outs(), llvm::errs());
  });
}

} // namespace dtc
