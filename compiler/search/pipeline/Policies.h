// The policies of the list scheduler behind each kind of schedule.
#pragma once

#include "compiler/search/pipeline/ListScheduler.h"

#include <vector>

namespace dtc {

// The policies of the problem's kind under its caps; its schedule is the shortest of theirs, the
// first of equals. One strict policy where its memory fits. Wants a problem that is checked and
// caps that one micro-batch fits in.
std::vector<SchedulePolicy> policiesOf(const PipelineProblem &problem);

} // namespace dtc
