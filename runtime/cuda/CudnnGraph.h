// A graph of cuDNN's operations, and plans that run it: descriptors of its backend API, which live as long as the graph.
#pragma once

#include "runtime/cuda/Cudnn.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace dtc::rt {

// For which device cuDNN is to plan: that of a handle, or, to see what it would do elsewhere, one that is described by a
// descriptor of device properties.
struct CudnnPlace {
  cu::CudnnHandle handle = nullptr;
  cu::CudnnDescriptor properties = nullptr;
};

// Owns one descriptor.
class CudnnObject {
public:
  CudnnObject() = default;
  ~CudnnObject();
  CudnnObject(const CudnnObject &) = delete;
  CudnnObject &operator=(const CudnnObject &) = delete;

  Status create(const cu::Cudnn &cudnn, cu::CudnnKind kind);
  Status finalize() const;
  cu::CudnnDescriptor get() const { return descriptor; }

  Status set(cu::CudnnAttribute name, cu::CudnnType type, size_t count, const void *values) const;
  Status setInt(cu::CudnnAttribute name, int64_t value) const;
  Status setInts(cu::CudnnAttribute name, std::span<const int64_t> values) const;
  Status setEnum(cu::CudnnAttribute name, cu::CudnnType type, int value) const;
  Status setObject(cu::CudnnAttribute name, cu::CudnnDescriptor value) const;

private:
  const cu::Cudnn *cudnn = nullptr;
  cu::CudnnDescriptor descriptor = nullptr;
};

using CudnnSizes = std::array<int64_t, 4>;

// One of the tensors of a graph. Elements from one to the next of each dimension; a tensor of one element has all 1.
struct CudnnTensor {
  int64_t id = 0;
  cu::CudnnData type = cu::cudnnF32;
  CudnnSizes sizes{}, strides{};
};

// Which engine of a graph, and how it is set.
struct CudnnEngine {
  int64_t index = 0;
  std::map<int, int64_t> knobs; // by type
  bool operator==(const CudnnEngine &) const = default;
};

// What a plan is run with, by id of tensor.
using CudnnPointers = std::map<int64_t, void *>;

class CudnnGraph;

// An engine that is ready to run.
class CudnnPlan {
public:
  uint64_t workspaceBytes() const { return workspace; }
  // What to run it with: `pointers` has all tensors of the graph that are in memory.
  Status pack(const CudnnPointers &pointers, void *workspaceAt, CudnnObject &pack) const;
  Status run(cu::CudnnHandle handle, const CudnnObject &pack, cu::Stream stream) const;

private:
  friend class CudnnGraph;
  const cu::Cudnn *cudnn = nullptr;
  const CudnnGraph *graph = nullptr;
  std::deque<CudnnObject> objects; // the last one is the plan
  uint64_t workspace = 0;
};

class CudnnGraph {
public:
  CudnnGraph(const cu::Cudnn &cudnn, const CudnnPlace &place) : cudnn(cudnn), place(place) {}
  CudnnGraph(const CudnnGraph &) = delete;
  CudnnGraph &operator=(const CudnnGraph &) = delete;

  // Each adds to the graph; after an error, which finish() returns, they do nothing.

  // A tensor in memory, aligned to 16 bytes; ids are the caller's, below 1000.
  CudnnTensor memory(int64_t id, cu::CudnnData type, const CudnnSizes &sizes,
                     const CudnnSizes &strides);
  // One that only the graph knows, without gaps unless `strides` are given.
  CudnnTensor between(cu::CudnnData type, const CudnnSizes &sizes);
  CudnnTensor between(cu::CudnnData type, const CudnnSizes &sizes, const CudnnSizes &strides);
  CudnnTensor value(float number);
  CudnnTensor value(int32_t number);

  // c = a b, over the last two dimensions.
  void matmul(const CudnnTensor &a, const CudnnTensor &b, const CudnnTensor &c);
  // y = x op b, where b may be one element, or one a row.
  void pointwise(cu::CudnnMode mode, const CudnnTensor &x, const CudnnTensor *b,
                 const CudnnTensor &y, cu::CudnnData precision = cu::cudnnF32);
  void genIndex(const CudnnTensor &x, int64_t axis, const CudnnTensor &y);
  // y = t ? x : b
  void select(const CudnnTensor &x, const CudnnTensor &b, const CudnnTensor &t,
              const CudnnTensor &y);
  // Over the dimensions of which y has one.
  void reduce(int how, const CudnnTensor &x, const CudnnTensor &y);
  // The same elements in the same memory, read as y says.
  void reshape(const CudnnTensor &x, const CudnnTensor &y);

  // All has been added. The error names what cuDNN refused.
  Status finish();

  // Engines that do the graph with the same bits each time, what cuDNN deems best first, at most `most`. None where it offers
  // none.
  Status engines(size_t most, std::vector<CudnnEngine> &found) const;
  // Unavailable where the engine does not do it on this device.
  Status plan(const CudnnEngine &engine, std::unique_ptr<CudnnPlan> &plan) const;

private:
  friend class CudnnPlan;
  // A new descriptor; the last one where there was an error before.
  CudnnObject &object(cu::CudnnKind kind);
  void note(const Status &each);
  CudnnTensor tensor(const CudnnTensor &of, bool isVirtual, bool isByValue);
  cu::CudnnDescriptor descriptorOf(const CudnnTensor &of) const;
  void finalizeOp(const CudnnObject &op);
  Status enginesOf(int mode, size_t most, std::vector<CudnnEngine> &found) const;
  // Reads a configuration of heuristics; `isFit` becomes whether it has the same bits each time.
  Status readConfig(cu::CudnnDescriptor config, CudnnEngine &engine, bool &isFit) const;

  const cu::Cudnn &cudnn;
  CudnnPlace place;
  Status status;
  std::deque<CudnnObject> objects;
  std::map<int64_t, cu::CudnnDescriptor> tensors; // by id
  std::vector<cu::CudnnDescriptor> ops;
  std::deque<float> floats;
  std::deque<int32_t> ints;
  CudnnPointers values; // of tensors that are values
  CudnnObject *graph = nullptr;
  int64_t nextId = 1000;
};

} // namespace dtc::rt
