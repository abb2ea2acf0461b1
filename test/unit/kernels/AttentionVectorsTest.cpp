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

// Returns the gradient of a sink z, as the ops make it that graph.attention's gradient builds.
double sinkGradient(double z, const std::vector<float> &out, const std::vector<float> &lse,
                    const std::vector<float> &dout) {
  double dz = 0;
  for (size_t i = 0; i < out.size(); ++i)
    dz -= std::exp(z - static_cast<double>(lse[i / 4])) * static_cast<double>(dout[i]) * out[i];
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
      float sink = wanted["sink"].is_null() ? 0 : wanted["sink"].get<float>();
      args.sinks = wanted["sink"].is_null() ? nullptr : &sink;
      attention(args, pool);
      attentionGrad({args, dout.data(), dq.data(), dk.data(), dv.data(), scratch.data()}, pool);
      if (args.sinks)
        EXPECT_NEAR(sinkGradient(sink, out, lse, dout), wanted["dsink"].get<double>(), kTolerance);
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
