#include "runtime/cuda/ChooseGroups.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/NcclGroups.h"
#include "runtime/cuda/StagedGroups.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

namespace dtc::rt {

using format::text;

namespace {

// The data that a rank sends to all others.
struct RankGpu {
  std::array<char, 64> machine{};
  std::array<int, 3> gpu{};
  char hasGpu = 0; // the GPU's position could be read
  char hasNccl = 0;
};

} // namespace

Status chooseGroups(Control &control, const GroupsRequest &request,
                    std::unique_ptr<CudaGroups> &groups, std::string &notice) {
  auto useNccl = [&] {
    groups = makeNcclGroups(request.libraries, request.driver, request.watch);
    return Status();
  };
  if (control.size() == 1)
    return useNccl(); // groups of one rank communicate nothing
  RankGpu mine;
  const cu::Nccl *nccl = nullptr;
  Status asked = request.gpu.place(mine.gpu), opened = request.libraries.nccl(nccl);
  std::string machine = request.libraries.machine();
  std::copy_n(machine.begin(), std::min(machine.size(), mine.machine.size()), mine.machine.begin());
  mine.hasGpu = asked.ok() ? 1 : 0;
  mine.hasNccl = opened.ok() ? 1 : 0;
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
  }
  if (silent >= 0)
    return asked.ok() ? Status::unavailable(text("rank ", silent, " cannot name its GPU")) : asked;
  if (gpus.size() < all.size()) {
    groups = makeStagedGroups(request.driver, request.world, request.watch.failed);
    notice = text(all.size(), " ranks share ", gpus.size(), gpus.size() == 1 ? " GPU" : " GPUs",
                  ", which NCCL does not serve: they exchange data through the memory of their "
                  "hosts, slowly");
    return {};
  }
  if (without >= 0)
    return opened.ok() ? Status::unavailable(text("rank ", without,
                                                  " has no NCCL, by which ranks on several GPUs "
                                                  "exchange data; install it there"))
                       : opened;
  return useNccl();
}

} // namespace dtc::rt
