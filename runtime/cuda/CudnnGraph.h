// A graph of cuDNN's operations, and plans that run it: descriptors of its backend API, which live
// as long as the graph.
#pragma once

#include "runtime/cuda/Cudnn.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace dtc::rt {

// The device that cuDNN plans for: that of a handle, or, for inspection, one described by a
// descriptor of device properties.
struct CudnnTarget {
  cu::CudnnHandle handle = nullptr;
  cu::CudnnDescriptor properties = nullptr;
};

// Owns one descriptor. The setters fail with cuDNN's error.
class CudnnObject {
public:
  CudnnObject() = default;
  ~CudnnObject();
  CudnnObject(const CudnnObject &) = delete;
  CudnnObject &operator=(const CudnnObject &) = delete;

  // Creates a descriptor of a kind.
  Status create(const cu::Cudnn &cudnn, cu::CudnnKind kind);
  // Finalizes the descriptor; its attributes must be set.
  Status finalize() const;
  cu::CudnnDescriptor get() const { return descriptor; }

  // Sets an attribute to `count` values.
  Status set(cu::CudnnAttribute name, cu::CudnnType type, size_t count, const void *values) const;
  // Sets an attribute to an integer.
  Status setInt(cu::CudnnAttribute name, int64_t value) const;
  // Sets an attribute to a list of integers.
  Status setInts(cu::CudnnAttribute name, std::span<const int64_t> values) const;
  // Sets an attribute to an enumerator of `type`.
  Status setEnum(cu::CudnnAttribute name, cu::CudnnType type, int value) const;
  // Sets an attribute to a descriptor.
  Status setObject(cu::CudnnAttribute name, cu::CudnnDescriptor value) const;

private:
  const cu::Cudnn *cudnn = nullptr;
  cu::CudnnDescriptor descriptor = nullptr;
};

using CudnnSizes = std::array<int64_t, 4>;

// A tensor of a graph; strides are in elements. A tensor of one element has sizes and strides of 1.
struct CudnnTensor {
  int64_t id = 0;
  cu::CudnnData type = cu::cudnnF32;
  CudnnSizes sizes{}, strides{};
};

// A convolution of images with weights, or one of its gradients.
enum class CudnnConvolution { Forward, ImageGradient, WeightGradient };

// How a kernel moves over an image: along height and width, the same padding at both ends.
struct CudnnWindows {
  std::array<int64_t, 2> strides{}, padding{}, dilations{};
};

// An engine of a graph, and its settings.
struct CudnnEngine {
  int64_t index = 0;
  std::map<int, int64_t> knobs; // keyed by type
  bool operator==(const CudnnEngine &) const = default;
};

// The addresses of tensors by their ids.
using CudnnPointers = std::map<int64_t, void *>;

class CudnnGraph;

// An engine that is ready to run.
class CudnnPlan {
public:
  uint64_t workspaceBytes() const { return workspace; }
  // Binds the addresses of all tensors of the graph in memory, and the workspace, in `pack`.
  Status pack(const CudnnPointers &pointers, void *workspaceAt, CudnnObject &pack) const;
  // Runs the plan on `stream`.
  Status run(cu::CudnnHandle handle, const CudnnObject &pack, cu::Stream stream) const;

private:
  friend class CudnnGraph;
  const cu::Cudnn *cudnn = nullptr;
  const CudnnGraph *graph = nullptr;
  std::deque<CudnnObject> objects; // the last one is the plan
  uint64_t workspace = 0;
};

// Builds a graph and its plans. The functions that add to the graph do nothing after an error,
// which finish() returns.
class CudnnGraph {
public:
  CudnnGraph(const cu::Cudnn &cudnn, const CudnnTarget &target) : cudnn(cudnn), target(target) {}
  CudnnGraph(const CudnnGraph &) = delete;
  CudnnGraph &operator=(const CudnnGraph &) = delete;

  // Functions that add to the graph follow.

  // Adds a tensor in memory, aligned to 16 bytes; the caller chooses ids below 1000.
  CudnnTensor memory(int64_t id, cu::CudnnData type, const CudnnSizes &sizes,
                     const CudnnSizes &strides);
  // Adds a contiguous tensor in memory.
  CudnnTensor memory(int64_t id, cu::CudnnData type, const CudnnSizes &sizes);
  // Adds a tensor within the graph, contiguous unless `strides` are given.
  CudnnTensor between(cu::CudnnData type, const CudnnSizes &sizes);
  // Adds a tensor within the graph with these strides.
  CudnnTensor between(cu::CudnnData type, const CudnnSizes &sizes, const CudnnSizes &strides);
  // Adds a constant.
  CudnnTensor value(float number);
  // Adds a constant.
  CudnnTensor value(int32_t number);

  // Adds c = a b, over the last two dimensions.
  void matmul(const CudnnTensor &a, const CudnnTensor &b, const CudnnTensor &c);
  // Adds y = x op b, where b may have one element, or one per row.
  void pointwise(cu::CudnnMode mode, const CudnnTensor &x, const CudnnTensor *b,
                 const CudnnTensor &y, cu::CudnnData precision = cu::cudnnF32);
  // Adds y = the index of each element of x along `axis`.
  void genIndex(const CudnnTensor &x, int64_t axis, const CudnnTensor &y);
  // Adds y = t ? x : b.
  void select(const CudnnTensor &x, const CudnnTensor &b, const CudnnTensor &t,
              const CudnnTensor &y);
  // Adds a reduction over the dimensions in which y has size 1.
  void reduce(int how, const CudnnTensor &x, const CudnnTensor &y);
  // Adds a reinterpretation of the elements of x with the sizes and strides of y.
  void reshape(const CudnnTensor &x, const CudnnTensor &y);
  // Adds a convolution in f32: y [samples, filters, height, width] of x [samples, channels, height,
  // width] and w [filters, channels / groups, height, width], or the gradient of x of the two
  // others, or that of w. Engines that round x, w or y to fewer bits are not found.
  void convolution(CudnnConvolution kind, const CudnnWindows &windows, const CudnnTensor &x,
                   const CudnnTensor &w, const CudnnTensor &y);

  // Adds the means of windows of x, in f32, pixels outside of the image counting as 0, as y; or the
  // gradient of x of that of y. The windows' dilations are not read.
  void means(bool isGradient, const CudnnWindows &windows, const std::array<int64_t, 2> &kernel,
             const CudnnTensor &x, const CudnnTensor &y);

  // Finishes the graph. The error names the call that cuDNN refused.
  Status finish();

  // Finds at most `most` engines that run the graph with the same bits in every run, those that
  // cuDNN rates best first. `found` is empty if there is none.
  Status engines(size_t most, std::vector<CudnnEngine> &found) const;
  // Creates a plan. Fails with Unavailable if the engine does not support the graph on this device.
  Status plan(const CudnnEngine &engine, std::unique_ptr<CudnnPlan> &plan) const;

private:
  friend class CudnnPlan;
  // Adds a descriptor; returns the last one if there was an error before.
  CudnnObject &object(cu::CudnnKind kind);
  void note(const Status &each);
  CudnnTensor tensor(const CudnnTensor &of, bool isVirtual, bool isByValue);
  cu::CudnnDescriptor descriptorOf(const CudnnTensor &of) const;
  void finalizeOp(const CudnnObject &op);
  Status enginesOf(int mode, size_t most, std::vector<CudnnEngine> &found) const;
  // Reads a configuration of the heuristics; `isFit` tells if it gives the same bits in every run.
  Status readConfig(cu::CudnnDescriptor config, CudnnEngine &engine, bool &isFit) const;

  const cu::Cudnn &cudnn;
  CudnnTarget target;
  Status status;
  std::deque<CudnnObject> objects;
  std::map<int64_t, cu::CudnnDescriptor> tensors; // keyed by id
  std::vector<cu::CudnnDescriptor> ops;
  std::deque<float> floats;
  std::deque<int32_t> ints;
  CudnnPointers values; // addresses of tensors that are constants
  CudnnObject *graph = nullptr;
  bool keepsInputs = false; // engines must not round them
  int64_t nextId = 1000;
};

} // namespace dtc::rt
