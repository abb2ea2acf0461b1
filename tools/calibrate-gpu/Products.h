// Measurements of matrix products.
#pragma once

#include "Points.h"
#include "Runs.h"

// Measures the matrix products of the types that the device has units for. Prints on stderr what is
// left out and why.
std::vector<MeasuredProduct> measureProducts(const Settings &settings, const DeviceFacts &facts);
