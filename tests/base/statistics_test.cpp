// Statistics and hashes, beside plain formulas.
#include "base/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/content_hash.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/utf8.h"

namespace evener {
namespace {

TEST(Quantiles, TheMedianIsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(std::vector<double>{}), std::nullopt);
}

TEST(Quantiles, QuantilesLieBetweenSamples) {
  const std::vector<double> samples = {30, 10, 50, 20, 40};
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.25), 20);
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.1), 14);
  EXPECT_DOUBLE_EQ(*quantile(samples, 1), 50);
  EXPECT_DOUBLE_EQ(*quantile(samples, 7), 50);
}

// Of whole numbers it is a sum of binomial terms, computed in fractions.
TEST(IncompleteBeta, IsTheSumOfBinomialTerms) {
  EXPECT_NEAR(incomplete_beta(0.3, 2, 5), 0.579825, 1e-13);
  EXPECT_NEAR(incomplete_beta(0.7, 2, 5), 0.989065, 1e-13);
  EXPECT_NEAR(incomplete_beta(0.5, 3, 4), 0.65625, 1e-13);
  EXPECT_NEAR(incomplete_beta(0.95, 10, 3), 0.9804317380028454, 1e-13);
  EXPECT_NEAR(incomplete_beta(0.02, 1, 7), 0.13187446675328, 1e-13);
  for (const double outside : {-0.5, 0.0}) EXPECT_EQ(incomplete_beta(outside, 2, 3), 0);
  for (const double outside : {1.0, 1.5}) EXPECT_EQ(incomplete_beta(outside, 2, 3), 1);
}

TEST(StudentsT, HasClosedFormsOfOneAndTwoDegrees) {
  for (const double t : {0.1, 1.0, 2.5, 40.0}) {
    EXPECT_NEAR(student_two_sided(t, 1), 1 - 2 / std::numbers::pi * std::atan(t), 1e-12) << t;
    EXPECT_NEAR(student_two_sided(t, 2), 1 - t / std::sqrt(t * t + 2), 1e-12) << t;
    EXPECT_NEAR(student_two_sided(-t, 2), student_two_sided(t, 2), 1e-15);
  }
  for (const double share : {0.6, 0.975, 0.9995}) {
    const double inside = 2 * share - 1;
    EXPECT_NEAR(student_quantile(share, 2), std::numbers::sqrt2 * inside / std::sqrt(1 - inside * inside), 1e-9);
    EXPECT_NEAR(student_quantile(share, 1), std::tan(std::numbers::pi / 2 * inside), 1e-7);
  }
}

TEST(Quantiles, LieOnTheLineBetweenTheNearestSamples) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  for (const auto& [q, expected] :
       {std::pair(0.0, 1.0), {0.1, 1.3}, {1.0 / 3, 2.0}, {0.5, 3.0}, {0.9, 6.8}, {1.0, 8.0}, {-3.0, 1.0}, {3.0, 8.0}}) {
    EXPECT_NEAR(sorted_quantile(sorted, q), expected, 1e-12) << q;
  }
  EXPECT_EQ(sorted_quantile(std::vector<double>{5}, 0.7), 5);
  EXPECT_DOUBLE_EQ(*quantile(std::vector<double>{8, 1, 4, 2}, 0.9), 6.8);
  EXPECT_FALSE(quantile(std::vector<double>{}, 0.9));
}

// Computed by the definition in the header with whole numbers of any size.
TEST(ContentHashes, AreThoseOfTheDefinition) {
  EXPECT_EQ(content_hash(""), 0x1ff5c2923a788d2c);
  EXPECT_EQ(content_hash("a"), 0x4646cfa6212723c0);
  EXPECT_EQ(content_hash("0123456789abcdef"), 0x2cfbe1560be9f11c);
  EXPECT_EQ(content_hash("0123456789abcdefg"), 0x630ce505bd05f085);
  std::string high;
  for (int byte = 200; byte < 240; ++byte) high += static_cast<char>(byte);
  EXPECT_EQ(content_hash(high), 0xd2e49562f4c73351);
}

TEST(TrimmedTexts, LoseBlanksAtTheirEndsAlone) {
  EXPECT_EQ(trimmed(" \t\r\n a b\tc \n"), "a b\tc");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed("a "), "a");
  EXPECT_EQ(trimmed(" a"), "a");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(NearestNames, OfShortOnesBeginAlike) {
  EXPECT_EQ(nearest_name("--in", {"--on"}), "") << "another first letter is another word";
  EXPECT_EQ(nearest_name("--ou", {"--on"}), "--on");
  EXPECT_EQ(nearest_name("--out", {"--cut"}), "");
  EXPECT_EQ(nearest_name("--Outs", {"--out"}), "--out");
  EXPECT_EQ(nearest_name("kuts", {"cuts"}), "cuts") << "of longer ones not";
  EXPECT_EQ(nearest_name("--", {"--on"}), "");
  EXPECT_EQ(nearest_name("abcdef", {"abcxyz", "abcdxy", "abcdex"}), "abcdex") << "of several the nearest";
  EXPECT_EQ(nearest_name("abcdef", {"abcdeg", "abcdex"}), "abcdeg") << "of equal ones the first";
  EXPECT_EQ(nearest_name("abcdef", {"abcxyf", "abcxyz"}), "abcxyf") << "two of six letters";
  EXPECT_EQ(nearest_name("abcdef", {"abcxyz"}), "") << "three of six letters";
  EXPECT_EQ(nearest_name(std::string(200, 'r'), {std::string(199, 'r')}), std::string(199, 'r'));
  EXPECT_EQ(nearest_name(std::string(201, 'r'), {std::string(200, 'r')}), "");
}

TEST(CpuKindsText, TellsWhatIsKnownOfEachKind) {
  EXPECT_EQ(kinds_text({{.name = "IntelCore", .cores = 8, .cpus = 16, .highest_mhz = 5100},
                        {.name = "", .cores = 1, .cpus = 1, .capacity = 446, .highest_mhz = 3985}}),
            "8 cores IntelCore (16 CPUs, up to 5.10 GHz), 1 core (1 CPU, up to 3.98 GHz, capacity 446)");
  EXPECT_EQ(kinds_text({{.name = "x", .cores = 2, .cpus = 2}}), "2 cores x (2 CPUs)");
}

TEST(Utf8Rules, TellsWhatIsNoCharacter) {
  const auto is_text = [](const std::string& bytes) { return is_utf8(bytes); };
  for (const std::string& good :
       {std::string("\x7F"), std::string("\xC2\x80"), std::string("\xDF\xBF"), std::string("\xE0\xA0\x80"),
        std::string("\xED\x9F\xBF"), std::string("\xEE\x80\x80"), std::string("\xEF\xBF\xBF"),
        std::string("\xF0\x90\x80\x80"), std::string("\xF4\x8F\xBF\xBF"), std::string("a\0b", 3), std::string()}) {
    EXPECT_TRUE(is_text(good)) << testing::PrintToString(good);
    EXPECT_EQ(to_utf8_text(good), good);
  }
  for (const std::string& bad :
       {std::string("\x80"), std::string("\xC1\xBF"), std::string("\xC2"), std::string("\xC2\x7F"),
        std::string("\xC2\xC0"), std::string("\xE0\x9F\xBF"), std::string("\xED\xA0\x80"), std::string("\xED\xBF\xBF"),
        std::string("\xF0\x8F\xBF\xBF"), std::string("\xF4\x90\x80\x80"), std::string("\xF5\x80\x80\x80"),
        std::string("\xE2\x82"), std::string("ab\xFF")}) {
    EXPECT_FALSE(is_text(bad)) << testing::PrintToString(bad);
    EXPECT_NE(to_utf8_text(bad), bad);
    EXPECT_TRUE(is_text(to_utf8_text(bad)));
    EXPECT_EQ(from_utf8_text(to_utf8_text(bad)), bad);
  }
  // The first and the last of the characters that stand for bytes, and their neighbours.
  EXPECT_EQ(to_utf8_text("\xFF"), "\xEF\x9F\xBF");
  EXPECT_EQ(to_utf8_text("\xEF\x9D\xBF"), "\xEF\x9D\xBF") << "U+F77F is none";
  EXPECT_EQ(to_utf8_text("\xEF\xA0\x80"), "\xEF\xA0\x80") << "U+F800 is none";
  EXPECT_EQ(from_utf8_text("\xEF\x9D\xBF\xEF\x9F\xBF\xEF\xA0\x80"), "\xEF\x9D\xBF\xFF\xEF\xA0\x80");
}

TEST(Utf8Rules, TextsInUtf16KeepEveryCharacter) {
  const auto little = [](const std::u16string& units) {
    std::string bytes;
    for (const char16_t unit : units) bytes += {static_cast<char>(unit & 0xFF), static_cast<char>(unit >> 8)};
    return bytes;
  };
  EXPECT_EQ(text_without_byte_order_mark(little(u"\uFEFF\u007F\u0080\u07FF\u0800\uFFFF")),
            "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
  EXPECT_EQ(text_without_byte_order_mark(little({0xFEFF, 0xD800, 0xDC00, 0xDBFF, 0xDFFF})),
            "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  const std::string lost = "\xEF\xBF\xBD";
  EXPECT_EQ(text_without_byte_order_mark(little({0xFEFF, 0xDC00, u'a'})), lost + "a") << "a second half alone";
  EXPECT_EQ(text_without_byte_order_mark(little({0xFEFF, 0xD800, u'a'})), lost + "a") << "a first half alone";
  EXPECT_EQ(text_without_byte_order_mark(little({0xFEFF, 0xD800, 0xD800, 0xDC00})), lost + "\xF0\x90\x80\x80");
  EXPECT_EQ(text_without_byte_order_mark(std::string("\0a\0b", 4)), "ab");
  EXPECT_EQ(text_without_byte_order_mark(std::string("\0\0ab", 4)), std::string("\0\0ab", 4)) << "neither";
  EXPECT_EQ(text_without_byte_order_mark(std::string("\0\0\xFE\xFF", 4).substr(0, 3)), std::string("\0\0\xFE", 3));
  EXPECT_THROW(text_without_byte_order_mark(std::string("\0\0\xFE\xFF", 4)), Error);
}

}  // namespace
}  // namespace evener
