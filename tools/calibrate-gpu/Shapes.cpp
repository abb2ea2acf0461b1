// Lists the shapes that are measured.
#include "Shapes.h"

#include <set>
#include <tuple>

namespace {

struct Model {
  const char *name;
  // widths of the residual stream, of keys and values each, and of the MLP
  int64_t width, keys, inner;
  bool gated; // the MLP has two inputs
  int64_t vocabulary;
  int64_t cut; // largest tensor parallelism
};

const Model models[] = {
    {"gpt2-124m", 768, 768, 3072, false, 50257, 1},
    {"gpt2-774m", 1280, 1280, 5120, false, 50257, 1},
    {"gpt2-1.5b", 1600, 1600, 6400, false, 50257, 1},
    {"llama-1b", 2048, 512, 8192, true, 128256, 1},
    {"llama-8b", 4096, 1024, 14336, true, 128256, 4},
    {"llama-13b", 5120, 5120, 13824, true, 32000, 4},
    {"llama-70b", 8192, 1024, 28672, true, 128256, 8},
};

// Returns the most operations that a product of the type may have, so that none takes much longer
// than 50 ms on a slow card.
double mostFlops(Type type) {
  switch (type) {
  case Type::F32:
    return 4e11;
  case Type::TF32:
    return 4e12;
  case Type::BF16:
  case Type::F16:
  case Type::FP8:
    return 2e13;
  }
  return 0;
}

class List {
public:
  explicit List(bool quick) : quick(quick) {}

  // Adds the layer in -> out on some tokens, in all forms.
  void addLayer(const std::string &layer, int64_t tokens, int64_t in, int64_t out) {
    for (Type type : {Type::BF16, Type::FP8, Type::TF32, Type::F16, Type::F32}) {
      add({type, Form::Forward, tokens, out, in, layer});
      if (type == Type::F16 || type == Type::FP8)
        continue; // f16 runs as fast as bf16, which its forward products show
      add({type, Form::InputGrad, tokens, in, out, layer});
      add({type, Form::WeightGrad, out, in, tokens, layer});
    }
  }

  std::vector<Product> products;

private:
  void add(const Product &product) {
    bool aligned = product.m % 16 == 0 && product.n % 16 == 0 && product.k % 16 == 0;
    if (product.flops() > mostFlops(product.type) || (product.type == Type::FP8 && !aligned))
      return;
    if (quick && (product.type == Type::F32 || product.type == Type::F16))
      return;
    if (seen.insert({product.type, product.m, product.n, product.k}).second)
      products.push_back(product);
  }

  bool quick;
  std::set<std::tuple<Type, int64_t, int64_t, int64_t>> seen;
};

void addModel(List &list, const Model &model, int64_t tokens, int64_t cut) {
  auto name = [&](const char *layer) {
    return std::string(model.name) + " " + layer + (cut > 1 ? "/" + std::to_string(cut) : "");
  };
  list.addLayer(name("qkv"), tokens, model.width, (model.width + 2 * model.keys) / cut);
  list.addLayer(name("projection"), tokens, model.width / cut, model.width);
  list.addLayer(name("mlp in"), tokens, model.width, (model.gated ? 2 : 1) * model.inner / cut);
  list.addLayer(name("mlp out"), tokens, model.inner / cut, model.width);
}

std::vector<int64_t> sizes(int64_t from, int64_t to, int64_t factor) {
  std::vector<int64_t> result;
  for (int64_t size = from; size <= to; size *= factor)
    result.push_back(size);
  return result;
}

} // namespace

const char *nameOf(Type type) {
  static const char *const names[] = {"f32", "tf32", "bf16", "f16", "fp8"};
  return names[static_cast<int>(type)];
}

int bytesOf(Type type) {
  switch (type) {
  case Type::F32:
  case Type::TF32:
    return 4;
  case Type::BF16:
  case Type::F16:
    return 2;
  case Type::FP8:
    return 1;
  }
  return 0;
}

const char *nameOf(Form form) {
  static const char *const names[] = {"forward", "input-grad", "weight-grad"};
  return names[static_cast<int>(form)];
}

std::vector<Product> trainingProducts(bool quick) {
  List list(quick);
  std::vector<int64_t> tokens =
      quick ? std::vector<int64_t>{4096} : std::vector<int64_t>{1024, 4096, 16384};
  for (int64_t count : tokens)
    for (const Model &model : models) {
      if (quick && model.cut == 4)
        continue;
      for (int64_t cut = 1; cut <= model.cut; cut *= quick ? 8 : 2)
        addModel(list, model, count, cut);
      // A part of the head is enough, because it is wider than any wave.
      if (!quick && count <= 4096)
        list.addLayer(std::string(model.name) + " head", count, model.width, model.vocabulary);
    }
  return list.products;
}

std::vector<int64_t> memorySizes(bool quick) {
  return quick ? sizes(int64_t(1) << 20, int64_t(1) << 30, 32)
               : sizes(int64_t(64) << 10, int64_t(4) << 30, 4);
}

std::vector<int64_t> collectiveSizes(bool quick) {
  return quick ? sizes(int64_t(64) << 10, int64_t(256) << 20, 16)
               : sizes(int64_t(1) << 10, int64_t(1) << 30, 4);
}
