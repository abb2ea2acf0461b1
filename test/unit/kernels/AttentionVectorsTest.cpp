// Compares attention with results that another program computed in f64. Inputs/attention-vectors
// has masks, soft caps, sinks and documents of 8 tokens and one head of 4.
#include "kernels/cpu/Attention.h"
#include "test/unit/kernels/KernelsTestSupport.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace dtc::cpu {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr double kTolerance = 1e-6;

std::vector<double> flat(const Json &value) {
  std::vector<double> numbers;
  for (const Json &each : value)
    if (each.is_array())
      for (double number : flat(each))
        numbers.push_back(number);
    else
      numbers.push_back(each.get<double>());
  return numbers;
}

std::vector<float> floats(const Json &value) {
  std::vector<double> numbers = flat(value);
  return {numbers.begin(), numbers.end()};
}

// Adds a score without a value to attention's softmax, as the ops do that graph.attention with
// sinks stands for: out is multiplied by w = sigmoid(lse - z). Turns dout into the gradient of
// attention's result, sets that of its lse, and returns that of z.
double sink(double z, const AttentionArgs &args, std::vector<float> &dout,
            std::vector<float> &dlse) {
  double dz = 0;
  for (size_t i = 0; i < dlse.size(); ++i) {
    double weight = 1 / (1 + std::exp(z - args.lse[i])), product = 0;
    for (size_t d = 4 * i; d < 4 * i + 4; ++d) {
      product += static_cast<double>(dout[d]) * args.out[d];
      dout[d] = static_cast<float>(dout[d] * weight);
    }
    dlse[i] = static_cast<float>(product * weight * (1 - weight));
    dz -= dlse[i];
  }
  return dz;
}

// Returns the number of each token's document; nothing for a case without documents.
std::vector<int32_t> documentsOf(const Json &wanted) {
  std::vector<int32_t> numbers;
  if (!wanted.contains("docs"))
    return numbers;
  for (size_t document = 0; document < wanted["docs"].size(); ++document)
    numbers.insert(numbers.end(), wanted["docs"][document].get<size_t>(),
                   static_cast<int32_t>(document));
  return numbers;
}

TEST(AttentionVectors, AgreeTo1e6) {
  std::ifstream file(DTC_ATTENTION_VECTORS);
  Json vectors = Json::parse(file);
  std::vector<float> q = floats(vectors["q"]), k = floats(vectors["k"]), v = floats(vectors["v"]),
                     dout = floats(vectors["dout"]);
  ThreadPool pool(2);
  forEachIsa([&] {
    for (const auto &[name, wanted] : vectors["cases"].items()) {
      std::vector<float> out(32), lse(8), dq(32), dk(32), dv(32), scratch(8);
      AttentionArgs args{q.data(),
                         k.data(),
                         v.data(),
                         out.data(),
                         lse.data(),
                         1,
                         8,
                         8,
                         1,
                         1,
                         4,
                         /*causal=*/true,
                         vectors["scale"].get<float>()};
      args.window = wanted["window"].get<int64_t>();
      args.softCap = wanted["softcap"].get<float>();
      std::vector<int32_t> documents = documentsOf(wanted);
      args.documents = documents.empty() ? nullptr : documents.data();
      attention(args, pool);
      std::vector<float> doutOf = dout, dlse(8);
      double dsink = 0;
      if (!wanted["sink"].is_null())
        dsink = sink(wanted["sink"].get<double>(), args, doutOf, dlse);
      attentionGrad(
          {args, doutOf.data(), dq.data(), dk.data(), dv.data(), scratch.data(), dlse.data()},
          pool);
      if (!wanted["sink"].is_null()) {
        EXPECT_NEAR(dsink, wanted["dsink"].get<double>(), kTolerance);
        for (size_t i = 0; i < out.size(); ++i) {
          double z = wanted["sink"].get<double>(), weight = 1 / (1 + std::exp(z - lse[i / 4]));
          out[i] = static_cast<float>(out[i] * weight);
          if (i % 4 == 3)
            lse[i / 4] = static_cast<float>(lse[i / 4] - std::log(weight));
        }
      }
      expectClose(out, flat(wanted["out"]), kTolerance, name + ": out");
      expectClose(lse, flat(wanted["lse"]), kTolerance, name + ": lse");
      expectClose(dq, flat(wanted["dq"]), kTolerance, name + ": dq");
      expectClose(dk, flat(wanted["dk"]), kTolerance, name + ": dk");
      expectClose(dv, flat(wanted["dv"]), kTolerance, name + ": dv");
    }
  });
}

} // namespace
} // namespace dtc::cpu
