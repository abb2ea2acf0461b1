// Lists the shapes that are measured.
#include "compiler/measure/calibrate/Shapes.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

// Adds a product unless it is listed. A square layer has the same sizes forward as for the gradient
// of its input.
void addProduct(CalibrationShapes &shapes, const ProductShape &shape) {
  for (const ProductShape &other : shapes.products)
    if (other.m == shape.m && other.n == shape.n && other.k == shape.k &&
        other.batch == shape.batch)
      return;
  shapes.products.push_back(shape);
}

void addLinear(CalibrationShapes &shapes, int64_t tokens, int64_t in, int64_t out) {
  addProduct(shapes, {tokens, out, in, 1, false, true});
  addProduct(shapes, {tokens, in, out, 1, false, false});
  addProduct(shapes, {out, in, tokens, 1, true, false});
}

} // namespace

CalibrationShapes calibrationShapes(bool quick) {
  CalibrationShapes shapes;
  std::vector<int64_t> widths{128, 768}, tokens{256, 1024}, sequences{256, 1024};
  if (!quick) {
    widths = {128, 384, 768, 2048};
    tokens = {64, 256, 1024, 4096};
    sequences = {128, 256, 512, 1024, 2048};
  }
  for (int64_t count : tokens)
    for (int64_t width : widths) {
      addLinear(shapes, count, width, width);
      addLinear(shapes, count, width, 4 * width);
    }
  if (!quick) {
    for (int64_t count : {256, 1024}) {
      addLinear(shapes, count, 768, 50257);
      addProduct(shapes, {count, count, 64, 12, false, true});
      addProduct(shapes, {count, 64, count, 12, false, false});
    }
    addProduct(shapes, {64, 64, 64, 64, false, false});
    addProduct(shapes, {16, 16, 16, 64, false, false});
  }
  for (int64_t bytes = int64_t(64) << 10; bytes <= int64_t(256) << 20; bytes *= 4)
    if (!quick || (bytes >= int64_t(256) << 10 && bytes <= int64_t(64) << 20))
      shapes.memoryBytes.push_back(bytes);
  for (int64_t sequence : sequences)
    for (int64_t headDim : {64, 128})
      for (bool causal : {true, false})
        if (!quick || headDim == 64)
          shapes.attention.push_back({sequence, headDim, causal});
  for (int64_t bytes = int64_t(1) << 10; bytes <= int64_t(64) << 20; bytes *= quick ? 16 : 4)
    shapes.collectiveBytes.push_back(bytes);
  return shapes;
}

std::vector<int64_t> rankCounts(int64_t cores) {
  std::vector<int64_t> counts;
  for (int64_t count = 2; count <= cores; ++count)
    if (cores % count == 0)
      counts.push_back(count);
  // If there are many, keeps the least, the greatest and two spaced evenly between.
  if (counts.size() > 4) {
    size_t last = counts.size() - 1;
    counts = {counts[0], counts[(last + 1) / 3], counts[(2 * last + 1) / 3], counts[last]};
  }
  return counts;
}

} // namespace dtc
