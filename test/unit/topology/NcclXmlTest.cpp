// Tests NCCL's descriptions of a node, which come from unknown sources.
#include "compiler/describe/topology/NcclXml.h"
#include "compiler/describe/topology/ParseDescription.h"

#include "compiler/support/File.h"
#include "test/unit/topology/Edited.h"

#include <gtest/gtest.h>

#include <random>

using namespace dtc;

namespace {

// Two GPUs with links to each other, and an adapter.
const std::string pair = R"(<system version="1">
<cpu numaid="0" vendor="AuthenticAMD">
<pci busid="0000:01:00.0" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="80" rank="0"><nvlink target="0000:02:00.0" count="12" tclass="0x030200"/></gpu>
</pci>
<pci busid="0000:02:00.0" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="1" sm="80" rank="1"><nvlink target="0000:01:00.0" count="12" tclass="0x030200"/></gpu>
</pci>
<nic><net name="eth0" speed="100000"/></nic>
</cpu>
</system>
)";

std::string with(const std::string &from, const std::string &to) { return edited(pair, from, to); }

std::string errorOf(const std::string &text) {
  Result<Inventory> inventory = readNcclXml(text, "n.xml");
  if (!inventory)
    return inventory.error().text();
  Result<SystemDescription> system = describeInventory(*inventory, "");
  return system ? "no error" : system.error().text();
}

std::string repeated(const std::string &text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

} // namespace

TEST(NcclXml, ReadsAPair) {
  Result<Inventory> inventory = readNcclXml(pair, "n.xml");
  ASSERT_TRUE(inventory.ok()) << inventory.error().text();
  ASSERT_EQ(inventory->gpus.size(), 2u);
  EXPECT_EQ(inventory->gpus[1].busId, "0000:02:00.0");
  EXPECT_EQ(inventory->gpus[1].links[0].count, 12);
  EXPECT_FALSE(inventory->gpus[1].links[0].toSwitch);
  EXPECT_NEAR(inventory->gpus[0].pcieBandwidth, 31.508e9, 1e6);
  ASSERT_EQ(inventory->adapters.size(), 1u);
  EXPECT_EQ(inventory->adapters[0].bandwidth, 12.5e9);
  Result<SystemDescription> system = describeInventory(*inventory, "");
  ASSERT_TRUE(system.ok()) << system.error().text();
  EXPECT_EQ(system->device.name, "A100-SXM4-80GB");
  ASSERT_EQ(system->levels.size(), 2u);
  EXPECT_EQ(system->levels[0].bandwidth, 300e9);
  EXPECT_EQ(system->levels[1].bandwidth, 6.25e9);
}

TEST(NcclXml, PointsAtWhatIsWrong) {
  EXPECT_EQ(errorOf(with("</cpu>", "")).substr(0, 27), "n.xml:11:3: error: reading ");
  EXPECT_EQ(errorOf("hello").substr(0, 26), "n.xml:1:6: error: reading ");
  EXPECT_EQ(errorOf("<graphs/>"),
            "n.xml:1:1: error: 'n.xml' has no <system>: it is not a topology of NCCL\n"
            "n.xml:1:1: note: write one with NCCL_TOPO_DUMP_FILE=topology.xml");
  EXPECT_EQ(errorOf(with("version=\"1\"", "version=\"3\"")),
            "n.xml:1:2: error: 'version' of <system> is 3, wanted 1 or 2");
  EXPECT_EQ(
      errorOf(with("count=\"12\"", "count=\"1e9\"")),
      "n.xml:4:32: error: 'count' of <nvlink> is '1e9', wanted a whole number from 0 to 1024");
  EXPECT_EQ(errorOf(with("sm=\"80\"", "sm=\"-1\"")),
            "n.xml:4:2: error: 'sm' of <gpu> is '-1', wanted a whole number from 0 to 10000");
  EXPECT_EQ(errorOf(with("speed=\"100000\"", "speed=\"99999999999999999999\"")),
            "n.xml:9:7: error: 'speed' of <net> is '99999999999999999999', wanted a whole number "
            "from 0 to 100000000");
  EXPECT_EQ(errorOf("<system version=\"1\"><cpu><gpu/></cpu></system>"),
            "n.xml:1:27: error: <gpu> is outside a <pci>\n"
            "n.xml:1:27: note: write the file with NCCL_TOPO_DUMP_FILE");
  EXPECT_EQ(errorOf("<system version=\"1\"/>"),
            "error: there is no GPU in the NCCL topology dump 'n.xml'\n"
            "note: run NCCL on all GPUs of the node while it is written");
  EXPECT_EQ(errorOf(with("0x20b2", "0x2330")),
            "n.xml:7:2: error: there are two kinds of GPU: '10de:2330' and '10de:20b2'\n"
            "n.xml:7:2: note: write a [[part]] for each kind, or name one's figures with --device");
}

// Counts that no machine has are refused before they cost time or memory.
TEST(NcclXml, RefusesAbsurdCounts) {
  std::string gpu = "<pci><gpu/></pci>", head = "<system version=\"1\"><cpu>",
              tail = "</cpu></system>";
  EXPECT_NE(errorOf(head + repeated(gpu, 1025) + tail).find("more than 1024 GPUs"),
            std::string::npos);
  EXPECT_NE(errorOf(head + repeated("<pci>", 40) + repeated("</pci>", 40) + tail)
                .find("<pci> is nested more than 32 deep"),
            std::string::npos);
  std::string nets;
  for (int i = 0; i < 4097; ++i)
    nets += "<net name=\"n" + std::to_string(i) + "\"/>";
  EXPECT_NE(errorOf(head + "<nic>" + nets + "</nic>" + tail).find("more than 4096 adapters"),
            std::string::npos);
  EXPECT_NE(errorOf(head + "<pci><gpu>" + repeated("<nvlink/>", 129) + "</gpu></pci>" + tail)
                .find("<gpu> has more than 128 links"),
            std::string::npos);
  // A million nested elements that are not NCCL's are skipped.
  EXPECT_NE(errorOf(head + repeated("<a>", 1000000) + repeated("</a>", 1000000) + tail)
                .find("there is no GPU"),
            std::string::npos);
}

// Entities are not expanded, neither those of the file (10^9 characters) nor other files.
TEST(NcclXml, ExpandsNoEntities) {
  std::string bomb = "<!DOCTYPE system [<!ENTITY a0 \"0123456789\">";
  for (int i = 1; i < 10; ++i)
    bomb += "<!ENTITY a" + std::to_string(i) + " \"" +
            repeated("&a" + std::to_string(i - 1) + ";", 10) + "\">";
  bomb += "<!ENTITY file SYSTEM \"file:///etc/hostname\">]>";
  EXPECT_EQ(errorOf(bomb + pair), "no error");
  EXPECT_EQ(errorOf(bomb + with("count=\"12\"", "count=\"&a9;\"")),
            "n.xml:4:32: error: 'count' of <nvlink> is '&a9;', wanted a whole number from 0 to "
            "1024");
  Result<Inventory> inventory =
      readNcclXml(bomb + with("0000:01:00.0\" vendor", "&file;\" vendor"), "n.xml");
  ASSERT_TRUE(inventory.ok());
  EXPECT_EQ(inventory->gpus[0].busId, "&file;");
}

// Any change of a file gives an error, or a description that reads back.
TEST(NcclXml, SurvivesMutations) {
  std::mt19937_64 random(1);
  const std::string alphabet = "<>/=\"& \n019axgpu!-[]";
  std::vector<std::string> files{pair};
  for (const char *name : {"dgx-1-v100", "l4-pcie", "gb300-two-trays"}) {
    Result<std::string> file =
        readFile(DTC_SOURCE_DIR "/test/topology/Inputs/" + std::string(name) + ".xml");
    ASSERT_TRUE(file.ok()) << file.error().text();
    files.push_back(*file);
  }
  int64_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = files[random() % files.size()];
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0 && !text.empty(); --edits) {
      size_t at = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 12);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 200));
        break;
      default: // replaces a digit by a digit
        while (at < text.size() && !isdigit(static_cast<unsigned char>(text[at])))
          ++at;
        if (at < text.size())
          text[at] = static_cast<char>('0' + random() % 10);
      }
    }
    Result<Inventory> inventory = readNcclXml(text, "n.xml");
    if (!inventory)
      continue;
    Result<SystemDescription> system = describeInventory(*inventory, "dgx-a100-80g");
    if (!system)
      continue;
    ++read;
    std::string printed = printDescription(*system);
    Result<SystemDescription> again = parseDescription(printed, "n.toml");
    ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed << "\n" << text;
  }
  EXPECT_GT(read, 400);
}

TEST(PcieBandwidth, FollowsGenerationAndLanes) {
  EXPECT_NEAR(pcieBandwidth("16.0 GT/s PCIe", 16), 31.508e9, 1e6);
  EXPECT_EQ(pcieBandwidth("5.0 GT/s PCIe", 8), 4e9);
  // the value that NCCL uses for text that it cannot read
  EXPECT_NEAR(pcieBandwidth("", 0), 15.754e9, 1e6);
}
