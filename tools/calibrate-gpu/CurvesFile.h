// Writes curves in the form of `dtc calibrate`: the [calibration] of a topology file.
#pragma once

#include "Points.h"

// The head of the file: the device, and its state before and after the measurements.
struct CurvesHead {
  DeviceFacts facts;
  Moment before, after;
  std::string date;  // "2026-11-21"
  std::string level; // level of the topology file that joins the machine's devices: "nvlink"
};

// Returns the curves as TOML.
// Example of use: dtc calibrate --curves FILE --topology dgx-h100 -o measured.toml.
std::string curvesText(const CurvesHead &head, const MeasuredPoints &points);
