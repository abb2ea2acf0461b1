// Manifests of Kubernetes. Internal to this folder: jobFiles() has checked the request.
#pragma once

#include "compiler/show/jobs/Job.h"

namespace dtc::jobs {

// Returns jobset.json, mpijob.json and pytorchjob.json, of which one is to be applied.
JobFiles kubernetesFiles(const JobRequest &request);

} // namespace dtc::jobs
