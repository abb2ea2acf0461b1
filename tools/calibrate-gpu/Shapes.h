// Lists what is measured. Needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The type of the operands of a product.
enum class Type { F32, TF32, BF16, F16, FP8 };
constexpr int numTypes = 5;

const char *nameOf(Type type); // "f32", "tf32", ... as in topology files
int bytesOf(Type type);        // bytes of an operand; the results of fp8 products are bf16

// The three products of a linear layer y = x W^T, row-major [m, k] x [k, n]. The letters are those
// of cuBLAS, whose matrices are the transposes of ours.
enum class Form {
  Forward,   // x [m, k] times W [n, k]^T: TN
  InputGrad, // dy [m, k] times W [k, n]: NN
  WeightGrad // dy [k, m]^T times x [k, n]: NT
};

// Returns the name of the form in topology files.
const char *nameOf(Form form);

// A matrix product that is measured.
struct Product {
  Type type;
  Form form;
  int64_t m, n, k;
  std::string layer; // the first layer that has the shape

  // Returns the number of floating-point operations: 2 m n k.
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

// Returns the products of the layers of GPT-2 124M to Llama 70B at several numbers of tokens. Wide
// layers are also cut for tensor parallelism. No type has the same m, n and k twice. fp8 has only
// forward products, the only form that cuBLASLt supports for it, and only sizes divisible by 16.
// Slow types have smaller shapes.
std::vector<Product> trainingProducts(bool quick);

// Returns the sizes of memory traffic: bytes read and written.
std::vector<int64_t> memorySizes(bool quick);
// Returns the sizes of collectives: bytes of the whole tensor.
std::vector<int64_t> collectiveSizes(bool quick);
