// Prints the speed of kernels on this machine. Only results are checked, because times depend on
// other programs.
#include "CompiledKernel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

using namespace dtc::test;

namespace {

using Tensor = std::vector<float>;

char *data(Tensor &tensor) { return reinterpret_cast<char *>(tensor.data()); }

// Prints the best of seven runs, in GB/s.
void report(const char *name, double bytes, const std::function<void()> &run) {
  double best = 1e30;
  for (int i = 0; i < 7; ++i) {
    auto start = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  std::printf("%-28s %8.2f ms %7.1f GB/s\n", name, best * 1e3, bytes / best * 1e-9);
}

} // namespace

TEST(KernelSpeed, BiasAndGelu) {
  CompiledKernel kernel(
      "(%x: tensor<4096x3072xf32>, %b: tensor<3072xf32>) -> tensor<4096x3072xf32>",
      "%0 = graph.add %x, %b : (tensor<4096x3072xf32>, tensor<3072xf32>) -> tensor<4096x3072xf32>\n"
      "%1 = graph.gelu tanh %0 : tensor<4096x3072xf32>",
      "%1");
  Tensor x(4096 * 3072, 0.5), bias(3072, 0.5), y(x.size());
  report("bias + gelu 4096x3072", 8.0 * x.size(), [&] {
    kernel.call({data(x), data(bias), data(y)}, 0, kernel.range());
  });
  EXPECT_NEAR(y.back(), 0.8411920, 1e-6);
}

TEST(KernelSpeed, AdamW) {
  constexpr int64_t size = 16 << 20;
  std::string t = "tensor<" + std::to_string(size) + "xf32>";
  CompiledKernel kernel("(%p: " + t + ", %g: " + t + ", %m: " + t + ", %v: " + t +
                            ", %lr: tensor<f32>, %t: tensor<f32>, %s: tensor<f32>, %a: "
                            "tensor<f32>) -> (" +
                            t + ", " + t + ", " + t + ")",
                        "%0, %1, %2 = graph.adamw %p, %g, %m, %v lr %lr step %t grad_scale %s "
                        "apply %a {beta1 = 0.9 : f64, beta2 "
                        "= 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : " +
                            t,
                        "%0, %1, %2");
  Tensor p(size, 1), g(size, 1), m(size, 0), v(size, 0), lr = {0.125f, 0}, step = {1, 0},
                                                         scale = {1, 0}, apply = {1, 0};
  auto run = [&] {
    kernel.call({data(p), data(g), data(m), data(v), data(lr), data(step), data(scale), data(apply),
                 data(p), data(m), data(v)},
                0, kernel.range());
  };
  run();
  EXPECT_NEAR(p.back(), 1 - 0.125 * 1.1, 1e-5);
  report("adamw 16M", 28.0 * size, run);
}

TEST(KernelSpeed, Rows) {
  CompiledKernel norm(
      "(%x: tensor<8192x768xf32>, %w: tensor<768xf32>, %b: tensor<768xf32>) -> "
      "(tensor<8192x768xf32>, "
      "tensor<8192xf32>, tensor<8192xf32>)",
      "%0, %1, %2 = graph.layer_norm %x, %w, %b : (tensor<8192x768xf32>, tensor<768xf32>, "
      "tensor<768xf32>) -> (tensor<8192x768xf32>, tensor<8192xf32>, tensor<8192xf32>)",
      "%0, %1, %2");
  Tensor x(8192 * 768), w(768, 1), b(768, 0), y(x.size()), mean(8192), rstd(8192);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 2 ? 1 : -1;
  report("layer_norm 8192x768", 8.0 * x.size(), [&] {
    norm.call({data(x), data(w), data(b), data(y), data(mean), data(rstd)}, 0, norm.range());
  });
  EXPECT_NEAR(y.back(), 1, 1e-4);
  CompiledKernel grad(
      "(%x: tensor<8192x768xf32>, %m: tensor<8192xf32>, %r: tensor<8192xf32>, %dy: "
      "tensor<8192x768xf32>) "
      "-> (tensor<768xf32>, tensor<768xf32>)",
      "%0, %1 = graph.layer_norm_param_grad %x, %m, %r, %dy : (tensor<8192x768xf32>, "
      "tensor<8192xf32>, "
      "tensor<8192xf32>, tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>)",
      "%0, %1");
  Tensor dw(768), db(768);
  report("layer_norm_param_grad 8192x768", 8.0 * x.size(), [&] {
    grad.call({data(x), data(mean), data(rstd), data(y), data(dw), data(db)}, 0, grad.range());
  });
  EXPECT_NEAR(dw[1], 8192, 1);
}

TEST(KernelSpeed, CrossEntropyOfManyWords) {
  CompiledKernel kernel(
      "(%x: tensor<256x50257xf32>, %t: tensor<256xi32>) -> (tensor<256xf32>, tensor<256xf32>)",
      "%0, %1 = graph.cross_entropy %x, %t : (tensor<256x50257xf32>, tensor<256xi32>) -> "
      "(tensor<256xf32>, tensor<256xf32>)",
      "%0, %1");
  CompiledKernel grad(
      "(%x: tensor<256x50257xf32>, %t: tensor<256xi32>, %l: tensor<256xf32>, %d: tensor<256xf32>) "
      "-> "
      "tensor<256x50257xf32>",
      "%0 = graph.cross_entropy_grad %x, %t, %l, %d : (tensor<256x50257xf32>, tensor<256xi32>, "
      "tensor<256xf32>, tensor<256xf32>) -> tensor<256x50257xf32>",
      "%0");
  Tensor x(256 * 50257, 1), loss(256), lse(256), d(256, 1);
  std::vector<int32_t> targets(256, 50256);
  report("cross_entropy 256x50257", 4.0 * x.size(), [&] {
    kernel.call({data(x), reinterpret_cast<char *>(targets.data()), data(loss), data(lse)}, 0,
                kernel.range());
  });
  EXPECT_NEAR(loss.back(), 10.8248, 1e-3);
  report("cross_entropy_grad 256x50257", 8.0 * x.size(), [&] {
    grad.call({data(x), reinterpret_cast<char *>(targets.data()), data(lse), data(d), data(x)}, 0,
              grad.range());
    std::fill(x.begin(), x.end(), 1);
  });
}

TEST(KernelSpeed, Reductions) {
  constexpr int64_t size = 16 << 20;
  CompiledKernel squares("(%x: tensor<16777216xf32>) -> tensor<f32>",
                         "%0 = graph.sum_squares %x : tensor<16777216xf32>", "%0");
  CompiledKernel bias(
      "(%x: tensor<4096x3072xf32>) -> tensor<3072xf32>",
      "%0 = graph.reduce sum %x dims [0] : tensor<4096x3072xf32> -> tensor<3072xf32>", "%0");
  Tensor x(size, 1), total(2), columns(3072);
  report("sum_squares 16M", 4.0 * size, [&] { squares.call({data(x), data(total)}, 0, 1); });
  EXPECT_EQ(total[0], size);
  report("reduce columns 4096x3072", 4.0 * 4096 * 3072, [&] {
    bias.call({data(x), data(columns)}, 0, bias.range());
  });
  EXPECT_EQ(columns.back(), 4096);
}

TEST(KernelSpeed, Dropout) {
  CompiledKernel kernel(
      "(%x: tensor<1024x3072xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> "
      "tensor<1024x3072xf32>",
      "%0 = graph.dropout %x p 0.5 id 1 key(%seed, %step) : tensor<1024x3072xf32>", "%0");
  Tensor x(1024 * 3072, 1), y(x.size()), seed(2), step(2, 1);
  report("dropout 1024x3072", 8.0 * x.size(), [&] {
    kernel.call({data(x), data(seed), data(step), data(y)}, 0, kernel.range(), {0, 1});
  });
  EXPECT_TRUE(y[0] == 0 || y[0] == 2);
}
