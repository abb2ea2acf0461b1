// Tests the output of `dtc topology`.
#include "compiler/describe/topology/Commands.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/describe/topology/Topology.h"
#include "compiler/support/File.h"

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace dtc;

namespace {
struct Output {
  std::string out, errors;
  llvm::raw_string_ostream outStream{out}, errorStream{errors};
};
} // namespace

TEST(TopologyCommands, ListNamesEachSystem) {
  Output output;
  EXPECT_EQ(runTopologyList(output.outStream, output.errorStream), 0);
  for (const std::string &name : catalogueNames())
    EXPECT_NE(output.out.find("\n" + name + " "), std::string::npos) << name;
  EXPECT_EQ(output.errors, "");
}

TEST(TopologyCommands, ShowPrintsText) {
  Output output;
  EXPECT_EQ(
      runTopologyShow("dgx-h100", 2, 0, OutputFormat::Text, output.outStream, output.errorStream),
      0);
  EXPECT_EQ(output.out,
            "dgx-h100: NVIDIA DGX H100: 8 H100 80 GB, NVSwitch, 8 x 400 Gbit/s InfiniBand a node\n"
            "16 devices = 2 nodes x 8\n"
            "\n"
            "device: H100-SXM5-80GB\n"
            "  memory          80 GiB, 3.35 TB/s\n"
            "  compute units   132\n"
            "  launch latency  4 us, 540 ns within a replayed graph\n"
            "  peak f32        66.9 TFLOP/s\n"
            "  peak tf32       494.7 TFLOP/s\n"
            "  peak bf16       989.4 TFLOP/s\n"
            "  peak f16        989.4 TFLOP/s\n"
            "  peak fp8        1.979 PFLOP/s\n"
            "  share of host   256 GiB, 76.8 GB/s, over 31.5 GB/s\n"
            "\n"
            "links, from the inside out; bandwidth a device and direction:\n"
            "  level   kind    shape       joins  bandwidth  latency  reduces  oversubscribed\n"
            "  nvlink  nvlink  switch  8 devices   450 GB/s   600 ns  yes                   1\n"
            "  leaf    ib      rail     2 groups    50 GB/s   2.7 us  no                    1\n");
}

TEST(TopologyCommands, ShowPrintsJson) {
  Output output;
  EXPECT_EQ(runTopologyShow("dgx-a100-80g", 2, 0, OutputFormat::Json, output.outStream,
                            output.errorStream),
            0);
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(output.out);
  ASSERT_TRUE(static_cast<bool>(parsed));
  const llvm::json::Object *root = parsed->getAsObject();
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->getString("schema"), "dtc.topology/1");
  EXPECT_EQ(root->getInteger("devices"), 16);
  EXPECT_EQ(root->getInteger("nodes"), 2);
  EXPECT_EQ(root->getObject("device")->getInteger("memory"), int64_t(80) << 30);
  EXPECT_EQ(root->getObject("device")->getObject("peak")->getNumber("bf16"), 312e12);
  EXPECT_EQ(root->getArray("levels")->size(), 2u);
  EXPECT_EQ((*root->getArray("levels"))[1].getAsObject()->getInteger("group"), 2);
}

TEST(TopologyCommands, ErrorsGoToTheirStream) {
  Output output;
  EXPECT_EQ(
      runTopologyShow("dgx-h100", 0, 9, OutputFormat::Text, output.outStream, output.errorStream),
      1);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.errors, "error: 'dgx-h100' has 8 devices in 1 node, but 9 are asked for\n"
                           "note: nearest feasible: --devices 8, or --nodes 2\n");
  // A name of the catalogue is not a file.
  EXPECT_EQ(runTopologyCheck("dgx-h100", output.outStream, output.errorStream), 1);
}

TEST(TopologyCommands, DiscoverWritesAFileThatChecks) {
  Output output;
  std::string path = (std::filesystem::temp_directory_path() /
                      ("dtc-discover-" + std::to_string(::getpid()) + ".toml"))
                         .string();
  ASSERT_EQ(runTopologyDiscover(path, output.outStream, output.errorStream), 0) << output.errors;
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(runTopologyCheck(path, output.outStream, output.errorStream), 0) << output.errors;
  EXPECT_EQ(output.out,
            path + ": 'discovered' describes 1 device in 1 node on 0 levels of links\n");
  // The file describes this machine, as the name "cpu" does.
  EXPECT_EQ(loadTopology(path, 0, 4)->device.memoryBytes,
            loadTopology("cpu", 0, 4)->device.memoryBytes);
  std::filesystem::remove(path);

  Output printed;
  ASSERT_EQ(runTopologyDiscover("", printed.outStream, printed.errorStream), 0);
  EXPECT_NE(printed.out.find("\n[device]\n"), std::string::npos);
}
