// Tests .npy files: headers as numpy.save writes them, wrong headers, and conversions of elements.
#include "runtime/data/NpyHeader.h"
#include "runtime/data/NpySamples.h"
#include "runtime/data/SampleSource.h"
#include "test/unit/data/TempFolder.h"

#include <bit>
#include <cmath>

namespace dtc::rt {
namespace {

class Npy : public TempFolder {
protected:
  // Writes a file of version 1.0 with this literal and these elements.
  void write(const std::string &literal, const std::string &elements) {
    std::string length = {static_cast<char>(literal.size() & 0xff),
                          static_cast<char>(literal.size() >> 8)};
    writeFile("x.npy", std::string("\x93NUMPY\x01\x00", 8) + length + literal + elements);
  }
  void write(const std::string &descr, const std::string &shape, const std::string &elements) {
    write("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }   \n",
          elements);
  }

  Status open(const SampleType &type) { return openNpy(path("x.npy"), type, source); }

  // Returns all of sample `index`, read as `type`, or the error.
  template <typename T> std::vector<T> read(uint64_t index, const SampleType &type) {
    std::vector<T> values(type.elements());
    Status status = open(type);
    if (status.ok())
      status = source->read(index, 0, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }

  // Returns the error of opening or reading sample 0, without the path.
  std::string complaint(const SampleType &type) {
    std::vector<int32_t> values(type.elements());
    Status status = open(type);
    if (status.ok())
      status = source->read(0, 0, std::as_writable_bytes(std::span(values)));
    std::string message = status.message();
    size_t at = message.find(path("x.npy"));
    return at == std::string::npos ? message : message.replace(at, path("x.npy").size(), "x.npy");
  }

  std::unique_ptr<SampleSource> source;
};

SampleType floats(std::vector<uint64_t> shape) {
  return {"images", SampleElement::F32, std::move(shape), 0, {}};
}
SampleType labels(uint64_t below = 0, std::optional<int64_t> ignored = {}) {
  return {"labels", SampleElement::I32, {}, below, ignored};
}

TEST_F(Npy, ReadsSamplesAlongDim0) {
  write("<f4", "(2, 3)", std::string(12, '\0') + bytesOfValues<float>({1, 2, 3}));
  EXPECT_EQ(read<float>(1, floats({3})), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(source->samples(), 2u);
  std::vector<float> part(2);
  ASSERT_TRUE(source->read(1, 1, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_EQ(part, (std::vector<float>{2, 3}));
  EXPECT_FALSE(source->read(2, 0, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_FALSE(source->read(1, 2, std::as_writable_bytes(std::span(part))).ok());
}

TEST_F(Npy, ConvertsToF32) {
  auto one = [&](const char *descr, const std::string &bytes) {
    write(descr, "(1,)", bytes);
    return read<float>(0, floats({}))[0];
  };
  EXPECT_EQ(one("|b1", bytesOfValues<uint8_t>({1})), 1);
  EXPECT_EQ(one("|u1", bytesOfValues<uint8_t>({255})), 255);
  EXPECT_EQ(one("|i1", bytesOfValues<int8_t>({-128})), -128);
  EXPECT_EQ(one("<i2", bytesOfValues<int16_t>({-300})), -300);
  EXPECT_EQ(one("<u2", bytesOfValues<uint16_t>({65535})), 65535);
  EXPECT_EQ(one("<i4", bytesOfValues<int32_t>({16777217})), 16777216); // to nearest
  EXPECT_EQ(one("<u4", bytesOfValues<uint32_t>({1ll << 31})), 2147483648.0f);
  EXPECT_EQ(one("<i8", bytesOfValues<int64_t>({-5})), -5);
  EXPECT_EQ(one("<u8", bytesOfValues<uint64_t>({7})), 7);
  EXPECT_EQ(one("<f8", bytesOfValues<double>({3})), 3);
  auto half = [&](uint16_t bits) { return one("<f2", bytesOfValues<uint16_t>({bits})); };
  EXPECT_EQ(half(0x3c00), 1);
  EXPECT_EQ(half(0xc500), -5);
  EXPECT_EQ(half(0x7bff), 65504);
  EXPECT_EQ(half(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half(0x83ff), -std::ldexp(1023.0f, -24));
  EXPECT_EQ(half(0x7c00), INFINITY);
  EXPECT_TRUE(std::isnan(half(0x7c01)));
  EXPECT_TRUE(std::signbit(half(0x8000)));
}

TEST_F(Npy, ConvertsToI32AndChecksEveryValue) {
  auto one = [&](const char *descr, const std::string &bytes, const SampleType &type) {
    write(descr, "(1,)", bytes);
    return complaint(type);
  };
  write("<i8", "(1,)", bytesOfValues<int64_t>({-100}));
  EXPECT_EQ(read<int32_t>(0, labels(10, -100))[0], -100);
  write("|b1", "(1,)", bytesOfValues<uint8_t>({1}));
  EXPECT_EQ(read<int32_t>(0, labels(2))[0], 1);
  write("<i4", "(1,)", bytesOfValues<int32_t>({-(1ll << 31)}));
  EXPECT_EQ(read<int32_t>(0, labels())[0], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(one("|u1", bytesOfValues<uint8_t>({10}), labels(10)),
            "reading 'x.npy' for input 'labels': sample 0 is 10; wanted 0 to 9");
  EXPECT_EQ(one("<i8", bytesOfValues<int64_t>({-1}), labels(10, -100)),
            "reading 'x.npy' for input 'labels': sample 0 is -1; wanted 0 to 9, or -100, which is "
            "ignored");
  EXPECT_EQ(one("<i8", bytesOfValues<int64_t>({1ll << 31}), labels()),
            "reading 'x.npy' for input 'labels': sample 0 is 2147483648; wanted -2147483648 to "
            "2147483647");
  EXPECT_NE(one("<u8", bytesOfValues<int64_t>({-100}), labels(10, -100)), "");
  EXPECT_NE(one("<i8", bytesOfValues<int64_t>({-(1ll << 32) + 3}), labels(10)), "");
  EXPECT_EQ(one("<f4", bytesOfValues<float>({1}), labels()),
            "opening 'x.npy' for input 'labels': it holds float32; wanted integers, as the input "
            "is i32: save x.astype('<i4')");
  SampleType rows = labels(4);
  rows.shape = {3};
  write("|u1", "(1, 3)", bytesOfValues<uint8_t>({3, 4, 0}));
  EXPECT_EQ(complaint(rows),
            "reading 'x.npy' for input 'labels': sample 0, element 1 is 4; wanted 0 to 3");
}

TEST_F(Npy, ComparesShapes) {
  write("<f4", "(2, 3)", std::string(24, '\0'));
  EXPECT_EQ(complaint(floats({4})),
            "opening 'x.npy' for input 'images': it has shape [2, 3]; wanted [samples, 4]");
  EXPECT_EQ(complaint(floats({})),
            "opening 'x.npy' for input 'images': it has shape [2, 3]; wanted [samples]");
  EXPECT_NE(complaint(floats({3, 1})), "");
  write("<f4", "()", std::string(4, '\0'));
  EXPECT_EQ(complaint(floats({})),
            "opening 'x.npy' for input 'images': it has shape []; wanted [samples]");
  write("<f4", "(0, 3)", "");
  EXPECT_EQ(complaint(floats({3})), "opening 'x.npy' for input 'images': it has no samples");
}

TEST_F(Npy, ReadsHeadersOfBothVersionsAndAnyOrder) {
  std::string literal = "{\"shape\": (1, 2,), 'fortran_order':False,'descr' : '<f4'}";
  write(literal, std::string(8, '\0'));
  EXPECT_EQ(complaint(floats({2})), "");
  std::string length = {static_cast<char>(literal.size()), 0, 0, 0};
  writeFile("x.npy", std::string("\x93NUMPY\x02\x00", 8) + length + literal + std::string(8, '\0'));
  EXPECT_EQ(complaint(floats({2})), "");
}

TEST_F(Npy, SaysWhatIsWrongWithAFile) {
  auto refused = [&](const std::string &bytes) {
    writeFile("x.npy", bytes);
    return complaint(floats({}));
  };
  const std::string magic("\x93NUMPY\x01\x00", 8);
  EXPECT_NE(refused("").find("does not begin with \\x93NUMPY"), std::string::npos);
  EXPECT_NE(refused("tokens, tokens").find("does not begin"), std::string::npos);
  EXPECT_NE(refused(std::string("\x93NUMPY\x03\x00\x01\x00 ", 11)).find("version 3.0"),
            std::string::npos);
  EXPECT_NE(refused(std::string("\x93NUMPY\x02\x00\x01\x00", 10)).find("within its header"),
            std::string::npos);
  EXPECT_NE(refused(magic + std::string("\x05\x00{}", 4)).find("beyond the file's end"),
            std::string::npos);
  auto literal = [&](const std::string &text, const std::string &elements = "") {
    write(text, elements);
    return complaint(floats({}));
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  EXPECT_EQ(literal(good, "abcd"), "");
  for (const char *text :
       {"", "{", "{}", "{'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1)}"})
    EXPECT_NE(literal(text, "abcd").find("its header is not"), std::string::npos) << text;
  EXPECT_NE(literal("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd")
                .find("x.astype('<f4')"),
            std::string::npos);
  EXPECT_NE(literal("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "abcd")
                .find("numpy.ascontiguousarray(x)"),
            std::string::npos);
  EXPECT_EQ(literal(good, "abcde"),
            "opening 'x.npy': it has 5 bytes of elements; float32 [1] takes 4");
  EXPECT_EQ(literal("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
            "opening 'x.npy': it has 0 bytes of elements; float32 [4611686018427387904, 4] takes "
            "over 2^64");
  ::unlink(path("x.npy").c_str());
  EXPECT_EQ(open(floats({})).statusCode(), StatusCode::NotFound);
}

} // namespace
} // namespace dtc::rt
