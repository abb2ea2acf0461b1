#include "runtime/cuda/ChooseGroups.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/NcclGroups.h"
#include "runtime/cuda/NcclVersion.h"
#include "runtime/cuda/StagedGroups.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dtc::rt {

using format::text;

namespace {

// The data that a rank sends to all others.
struct RankGpu {
  std::array<char, 64> machine{};
  std::array<int, 3> gpu{};
  char hasGpu = 0; // the GPU's position could be read
  char hasNccl = 0;
  char sharesGpus = 0;      // the user lets NCCL run several ranks on one GPU
  int nccl = 0, driver = 0; // versions
  int process = 0;
};

// Returns true if NCCL can serve ranks that share GPUs: all of them allow it and are processes of
// their own, as NCCL lets a process launch on a GPU from one thread only.
bool canShareGpus(const std::vector<RankGpu> &all) {
  std::set<std::pair<std::array<char, 64>, int>> processes;
  for (const RankGpu &rank : all)
    processes.insert({rank.machine, rank.process});
  return processes.size() == all.size() &&
         std::all_of(all.begin(), all.end(), [](const RankGpu &rank) {
           return rank.hasNccl && rank.sharesGpus && rank.nccl >= cu::leastNcclForSharedGpus;
         });
}

// Communicators need one version of NCCL on all ranks.
Status checkSameVersion(const std::vector<RankGpu> &all) {
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].nccl != all[0].nccl) {
      auto words = [](int version) {
        return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
      };
      return Status::unavailable(text("rank 0 has NCCL ", words(all[0].nccl), " and rank ", i,
                                      " has ", words(all[i].nccl),
                                      "; install one version on all machines"));
    }
  return {};
}

} // namespace

Status chooseGroups(Control &control, const GroupsRequest &request,
                    std::unique_ptr<CudaGroups> &groups, std::string &notice) {
  RankGpu mine;
  DTC_CUDA(request.driver, cuDriverGetVersion, &mine.driver);
  int leastDriver = mine.driver;
  auto useNccl = [&] {
    groups = makeNcclGroups(request.libraries, request.driver, leastDriver, request.watch);
    return Status();
  };
  if (control.size() == 1)
    return useNccl(); // groups of one rank communicate nothing
  DTC_RETURN_IF_ERROR(checkSeveralRanks(request.libraries.environment()));
  const cu::Nccl *nccl = nullptr;
  Status asked = request.gpu.pciAddress(mine.gpu), opened = request.libraries.nccl(nccl);
  std::string machine = request.libraries.machine();
  std::copy_n(machine.begin(), std::min(machine.size(), mine.machine.size()), mine.machine.begin());
  mine.hasGpu = asked.ok() ? 1 : 0;
  mine.hasNccl = opened.ok() ? 1 : 0;
  mine.nccl = opened.ok() ? nccl->version : 0;
  mine.sharesGpus = allowsSharedGpus(request.libraries.environment()) ? 1 : 0;
  mine.process = request.libraries.process();
  std::vector<RankGpu> all(static_cast<size_t>(control.size()));
  DTC_RETURN_IF_ERROR(control.allGather(&mine, all.data(), sizeof(mine), DataType::U8));
  std::set<std::pair<std::array<char, 64>, std::array<int, 3>>> gpus;
  int without = -1, silent = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    gpus.insert({all[i].machine, all[i].gpu});
    if (!all[i].hasGpu)
      silent = static_cast<int>(i);
    if (!all[i].hasNccl)
      without = static_cast<int>(i);
    leastDriver = std::min(leastDriver, all[i].driver);
  }
  if (silent >= 0)
    return asked.ok() ? Status::unavailable(text("rank ", silent, " cannot name its GPU")) : asked;
  if (gpus.size() < all.size() && canShareGpus(all)) {
    notice = text(all.size(), " ranks share ", gpus.size(), gpus.size() == 1 ? " GPU" : " GPUs",
                  " and exchange data by NCCL, which calls that experimental "
                  "(NCCL_MULTI_RANK_GPU_ENABLE=1)");
    DTC_RETURN_IF_ERROR(checkSameVersion(all));
    return useNccl();
  }
  if (gpus.size() < all.size()) {
    groups = makeStagedGroups(request.driver, request.world, request.watch.failed);
    notice = text(all.size(), " ranks share ", gpus.size(), gpus.size() == 1 ? " GPU" : " GPUs",
                  ", which NCCL does not serve: they exchange data through the memory of their "
                  "hosts, slowly (NCCL 2.30.3 or later may serve them, with "
                  "NCCL_MULTI_RANK_GPU_ENABLE=1)");
    return {};
  }
  if (without >= 0)
    return opened.ok() ? Status::unavailable(text("rank ", without,
                                                  " has no NCCL, by which ranks on several GPUs "
                                                  "exchange data; install it there"))
                       : opened;
  DTC_RETURN_IF_ERROR(checkSameVersion(all));
  return useNccl();
}

} // namespace dtc::rt
