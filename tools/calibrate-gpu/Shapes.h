// What is measured. No device is needed to list it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

enum class Type { F32, TF32, BF16, F16, FP8 };
constexpr int numTypes = 5;

const char *nameOf(Type type); // "f32", "tf32", ... as topology files have it
int bytesOf(Type type);        // of an operand; results of fp8 products are bf16

// The three products of a linear layer y = x W^T, row-major [m, k] x [k, n]. The letters are
// cuBLAS's, whose matrices are the transposed of ours.
enum class Form {
  Forward,   // x [m, k] times W [n, k]^T: TN
  InputGrad, // dy [m, k] times W [k, n]: NN
  WeightGrad // dy [k, m]^T times x [k, n]: NT
};

const char *nameOf(Form form);

struct Product {
  Type type;
  Form form;
  int64_t m, n, k;
  std::string layer; // the first that has the shape

  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

// Products of the layers of GPT-2 124M to Llama 70B at several numbers of tokens, the wide ones
// also cut for tensor parallelism. No type has the same m, n and k twice. fp8 only forward
// (cuBLASLt multiplies it in that form alone) and only sizes divisible by 16. Slow types have
// smaller shapes.
std::vector<Product> trainingProducts(bool quick);

// Bytes read and written.
std::vector<int64_t> memorySizes(bool quick);
// Bytes of the whole tensor.
std::vector<int64_t> collectiveSizes(bool quick);
