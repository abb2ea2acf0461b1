// A box of elements moved from one strided layout to another.
#include "passes/schedule/Box.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

SmallVector<int64_t, 6> dtc::rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

int64_t dtc::numElements(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

dtc::Box dtc::collapse(Box box) {
  Box result;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim) {
    int64_t size = box.sizes[dim], src = box.srcStrides[dim], dst = box.dstStrides[dim];
    if (size == 1)
      continue;
    bool joins = !result.sizes.empty() && result.srcStrides.back() == src * size &&
                 result.dstStrides.back() == dst * size;
    if (!joins) {
      result.sizes.push_back(size);
      result.srcStrides.push_back(src);
      result.dstStrides.push_back(dst);
      continue;
    }
    result.sizes.back() *= size;
    result.srcStrides.back() = src;
    result.dstStrides.back() = dst;
  }
  if (result.sizes.empty())
    return {{1}, {1}, {1}};
  return result;
}

dtc::Box dtc::transposeBox(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t, 6> strides = rowMajor(shape);
  Box box;
  for (int64_t from : permutation) {
    box.sizes.push_back(shape[from]);
    box.srcStrides.push_back(strides[from]);
  }
  box.dstStrides = rowMajor(box.sizes);
  return box;
}
