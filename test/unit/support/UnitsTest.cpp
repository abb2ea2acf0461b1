// Tests which quantities with units are accepted, and that printed ones read back.
#include "compiler/support/Units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dtc;

static double read(const char *text, Quantity quantity) {
  Result<double> value = parseQuantity(text, quantity);
  EXPECT_TRUE(value.ok()) << value.error().text();
  return value ? *value : -1;
}

TEST(ParseQuantity, ReadsTheExamples) {
  EXPECT_EQ(read("400 Gbit/s", Quantity::BytesPerSecond), 5e10);
  EXPECT_EQ(read("450 GB/s", Quantity::BytesPerSecond), 450e9);
  EXPECT_EQ(read("80 GiB", Quantity::Bytes), 85899345920.0);
  EXPECT_EQ(read("80 GB", Quantity::Bytes), 80e9);
  EXPECT_EQ(read("989 TFLOP/s", Quantity::FlopsPerSecond), 989e12);
  EXPECT_EQ(read("1.5 us", Quantity::Seconds), 1.5e-6);
}

// The result is rounded once: 0.1 GB is 1e8, not 0.1 * 1e9 with two roundings.
TEST(ParseQuantity, RoundsOnce) {
  EXPECT_EQ(read("0.1 GB", Quantity::Bytes), 1e8);
  EXPECT_EQ(read("4.35 us", Quantity::Seconds), 4.35e-6);
  EXPECT_EQ(read("1.1 TB/s", Quantity::BytesPerSecond), 1.1e12);
  EXPECT_EQ(read("0.5KiB", Quantity::Bytes), 512);
  EXPECT_EQ(read("  2.5e2  MB ", Quantity::Bytes), 250e6);
  EXPECT_EQ(read("0 s", Quantity::Seconds), 0);
}

TEST(ParseQuantity, NamesTextAndUnitsWhenItRefuses) {
  UserError error = parseQuantity("80 GiG", Quantity::Bytes).error();
  EXPECT_EQ(error.message, "'80 GiG' is not a number of bytes: 'GiG' is not one of its units");
  EXPECT_EQ(error.note,
            "write a number and a unit, one of B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
  EXPECT_EQ(parseQuantity("400 Gb/s", Quantity::BytesPerSecond).error().message,
            "'400 Gb/s' is not a bandwidth: 'Gb/s' is not one of its units; bits are written "
            "'Gbit/s', bytes 'GB/s'");
  EXPECT_EQ(parseQuantity("12", Quantity::Seconds).error().message,
            "'12' is not a time: it has no unit");
  EXPECT_EQ(parseQuantity("-1 s", Quantity::Seconds).error().message,
            "'-1 s' is not a time: it is negative");
  EXPECT_EQ(parseQuantity("1e999 GB/s", Quantity::BytesPerSecond).error().message,
            "'1e999 GB/s' is not a bandwidth: the number is out of range");
}

TEST(ParseQuantity, RefusesWhatIsNoNumber) {
  for (const char *text :
       {"", " ", "GB", ".", ". GB", "nan GB", "inf GB", "0x10 GB", "1,5 GB", "1 GB extra", "1 gb",
        "e5 GB", "1 G B", "1e99999999999999999999 GB", "1 GB/s"})
    EXPECT_FALSE(parseQuantity(text, Quantity::Bytes).ok()) << text;
}

TEST(ParseBytes, WantsWholeBytes) {
  EXPECT_EQ(*parseBytes("1.5 KiB"), 1536);
  EXPECT_EQ(*parseBytes("1073741824"), 1073741824);
  EXPECT_EQ(parseBytes("0.3 B").error().message,
            "'0.3 B' is 0.3 bytes, which is not a whole number");
  EXPECT_FALSE(parseBytes("4096 PiB").ok());
  EXPECT_EQ(*parseBytes("4095 PiB"), int64_t(4095) << 50);
}

TEST(PrintExact, ChoosesTheShortestUnit) {
  EXPECT_EQ(printExact(85899345920.0, Quantity::Bytes), "80 GiB");
  EXPECT_EQ(printExact(80e9, Quantity::Bytes), "80 GB");
  EXPECT_EQ(printExact(1024, Quantity::Bytes), "1 KiB");
  EXPECT_EQ(printExact(1000, Quantity::Bytes), "1 kB");
  EXPECT_EQ(printExact(0, Quantity::Bytes), "0 B");
  EXPECT_EQ(printExact(5e10, Quantity::BytesPerSecond), "50 GB/s");
  EXPECT_EQ(printExact(3.35e12, Quantity::BytesPerSecond), "3.35 TB/s");
  EXPECT_EQ(printExact(1978.9e12, Quantity::FlopsPerSecond), "1.9789 PFLOP/s");
  EXPECT_EQ(printExact(1.5e-6, Quantity::Seconds), "1.5 us");
  EXPECT_EQ(printExact(2e-10, Quantity::Seconds), "0.2 ns");
  EXPECT_EQ(printExact(7200, Quantity::Seconds), "7200 s");
}

TEST(PrintExact, ReadsBackToTheSameNumber) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-9, 18), mantissa(1, 10);
  for (int i = 0; i < 20000; ++i) {
    double value = mantissa(random) * std::pow(10.0, exponent(random));
    for (Quantity quantity :
         {Quantity::Bytes, Quantity::BytesPerSecond, Quantity::FlopsPerSecond, Quantity::Seconds}) {
      std::string text = printExact(value, quantity);
      ASSERT_EQ(read(text.c_str(), quantity), value) << text;
    }
    double whole = std::floor(value);
    ASSERT_EQ(read(printExact(whole, Quantity::Bytes).c_str(), Quantity::Bytes), whole);
  }
}

TEST(PrintRounded, KeepsThreeDigits) {
  EXPECT_EQ(printRounded(8589123584.0, Quantity::Bytes), "8 GiB");
  EXPECT_EQ(printRounded(8000000000.0, Quantity::Bytes), "7.45 GiB");
  EXPECT_EQ(printRounded(0.0123456, Quantity::Seconds), "12.3 ms");
  EXPECT_EQ(printRounded(1023, Quantity::Bytes), "1023 B");
  EXPECT_EQ(printRounded(0, Quantity::Seconds), "0 s");
  EXPECT_EQ(printRounded(312e12, Quantity::FlopsPerSecond), "312 TFLOP/s");
}
