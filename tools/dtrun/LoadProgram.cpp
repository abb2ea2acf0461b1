#include "tools/dtrun/LoadProgram.h"

namespace dtc::rt {

const TrustedKeys *keysOf(const Options &options, const TrustedKeys &trusted) {
  return options.trust.empty() ? nullptr : &trusted;
}

Status loadProgram(const Options &options, TrustedKeys &trusted,
                   std::unique_ptr<Executable> &executable) {
  if (!options.trust.empty())
    DTC_RETURN_IF_ERROR(trusted.load(options.trust));
  return Executable::load(options.model, executable, keysOf(options, trusted));
}

} // namespace dtc::rt
