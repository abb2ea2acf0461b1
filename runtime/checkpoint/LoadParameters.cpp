// Cuts a rank's shards out of the weights of a file.
#include "runtime/checkpoint/LoadParameters.h"

#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/ParameterDump.h"
#include "runtime/checkpoint/WeightFiles.h"

namespace dtc::rt {

Status loadParameters(const std::string &path, std::span<const TensorSpec> tensors,
                      const format::RankMesh &mesh, uint32_t rank, const ShardWriter &write) {
  WeightFiles files;
  DTC_RETURN_IF_ERROR(files.open(path));
  std::vector<StoredTensor> stored;
  DTC_RETURN_IF_ERROR(matchWeights(files, tensors, stored));
  const std::vector<uint32_t> coordinates = mesh.coordinatesOf(rank);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].isHeldBy(rank))
      continue;
    std::vector<ShardBox> boxes;
    DTC_RETURN_IF_ERROR(shardBoxes(tensors[i], mesh.sizes(), coordinates, boxes));
    std::vector<float> local(elementCount(tensors[i].localShape));
    Status status;
    forEachRun(tensors[i], boxes, [&](uint64_t global, uint64_t at, uint64_t length) {
      if (status.ok())
        status = stored[i].readFloats(global, std::span(local).subspan(at, length));
    });
    DTC_RETURN_IF_ERROR(status);
    DTC_RETURN_IF_ERROR(write(i, local));
  }
  return Status::okStatus();
}

} // namespace dtc::rt
