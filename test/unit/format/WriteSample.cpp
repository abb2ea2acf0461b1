// dtc-write-sample FILE RANKS: writes the sample program for this number of ranks, for tests of
// programs that read .dte files.
#include "test/unit/format/Sample.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: dtc-write-sample FILE RANKS\n");
    return 2;
  }
  std::vector<uint8_t> object = dtc::test::readBytes(DTC_SAMPLE_KERNELS);
  auto ranks = static_cast<uint32_t>(std::atoi(argv[2]));
  if (object.empty() || ranks == 0 || 8 % ranks != 0) {
    std::fprintf(stderr, "dtc-write-sample: wanted 1, 2, 4 or 8 ranks and the file %s\n",
                 DTC_SAMPLE_KERNELS);
    return 1;
  }
  dtc::rt::Status status =
      dtc::test::writeBytes(argv[1], dtc::test::sampleProgram(ranks, object).file());
  if (!status.ok())
    std::fprintf(stderr, "dtc-write-sample: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
