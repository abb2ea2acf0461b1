#include "tools/dtrun/RunFiles.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/data/TokenPath.h"
#include "runtime/data/TokenSource.h"
#include "tools/dtrun/DataFiles.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace dtc::rt {

using format::text;

// Returns `path` with `part` before its ending: "trace.json" and ".rank2" are "trace.rank2.json".
static std::string withPart(const std::string &path, const std::string &part) {
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
    dot = path.size();
  return path.substr(0, dot) + part + path.substr(dot);
}

// Returns the file of a rank: rank 0 writes "trace.json", rank 2 writes "trace.rank2.json".
static std::string traceFile(const std::string &path, int rank) {
  return path.empty() || rank == 0 ? path : withPart(path, text(".rank", rank));
}

std::map<uint64_t, std::string> gradientFiles(const Options &options) {
  std::map<uint64_t, std::string> files;
  if (options.dumpGrads.empty())
    return files;
  for (uint64_t step : options.dumpGradsAt)
    files[step] = withPart(options.dumpGrads, text(".step", step));
  if (files.empty())
    files[options.steps] = options.dumpGrads;
  return files;
}

// Returns `path` without symbolic links, or an empty string if there is no such file.
static std::string realPath(const std::string &path) {
  char *found = ::realpath(path.c_str(), nullptr);
  std::string result = found ? found : "";
  std::free(found);
  return result;
}

Status RunFiles::checkApart(const Options &options) const {
  std::vector<std::pair<std::string, std::string>> known = {
      {"the program", realPath(options.model)}};
  for (const auto &[flag, argument] :
       {std::pair("--data", &options.data), std::pair("--eval-data", &options.evalData)}) {
    std::vector<DataFile> files;
    if (!argument->empty() && parseDataFiles(flag, *argument, files).ok())
      for (const DataFile &file : files)
        known.push_back({flag, realPath(file.input.empty() ? pathOfTokens(file.path) : file.path)});
  }
  size_t inputs = known.size();
  if (profile.isOpen())
    known.push_back({"--profile", profile.target()});
  if (parameters)
    known.push_back({"--dump-params", parameters->file->target()});
  for (const auto &[step, dump] : gradients)
    known.push_back({"--dump-grads", dump->file->target()});
  for (size_t i = 0; i < known.size(); ++i)
    for (size_t j = std::max(i + 1, inputs); j < known.size(); ++j)
      if (!known[i].second.empty() && known[i].second == known[j].second)
        return Status::invalidArgument(text(known[j].first, " and ", known[i].first,
                                            " are one file, '", known[i].second,
                                            "'; name another for ", known[j].first));
  return {};
}

Status RunFiles::open(const Options &options, const Executable &executable, Control &world) {
  DTC_RETURN_IF_ERROR(agree(world, options.profile.empty()
                                       ? Status()
                                       : profile.open(traceFile(options.profile, world.rank()))));
  if (!options.dumpParams.empty())
    DTC_RETURN_IF_ERROR(
        openDump(executable, world, options.dumpParams, DumpedTensors::Parameters, parameters));
  DTC_RETURN_IF_ERROR(openGradients(options, executable, world, 0));
  return agree(world, checkApart(options));
}

Status RunFiles::openGradients(const Options &options, const Executable &executable, Control &world,
                               uint64_t step) {
  for (const auto &[at, path] : gradientFiles(options))
    if (at > step && !gradients.count(at))
      DTC_RETURN_IF_ERROR(
          openDump(executable, world, path, DumpedTensors::Gradients, gradients[at]));
  return {};
}

} // namespace dtc::rt
