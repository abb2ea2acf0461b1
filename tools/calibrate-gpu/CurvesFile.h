// The curves as `dtc calibrate` writes them: the [calibration] of a topology file.
#pragma once

#include "Points.h"

struct CurvesHead {
  DeviceFacts facts;
  Moment before, after;
  std::string date;  // "2026-11-21"
  std::string level; // of the topology file, that joins the machine's devices: "nvlink"
};

// TOML. Example of use: dtc calibrate --curves FILE --topology dgx-h100 -o measured.toml.
std::string curvesText(const CurvesHead &head, const MeasuredPoints &points);
