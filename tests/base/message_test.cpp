#include "base/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace evener {
namespace {

using testing::HasSubstr;

enum class Colour : std::uint8_t { kRed, kGreen };

struct Part {
  std::string name;
  std::optional<double> seconds;
  bool operator==(const Part&) const = default;
};

struct Whole {
  int number = 0;
  std::uint64_t bytes = 0;
  bool good = false;
  Colour colour = Colour::kRed;
  std::vector<Part> parts;
  std::map<std::string, double> phases_s;
  std::int64_t left_at_home = 0;
  bool operator==(const Whole&) const = default;
};

template <typename Visitor>
void describe(Visitor& visitor, Of<Part> auto& part) {
  visitor.value("name", part.name);
  visitor.value("seconds", part.seconds);
}
template <typename Visitor>
void describe(Visitor& visitor, Of<Whole> auto& whole) {
  visitor.value("number", whole.number);
  visitor.value("bytes", whole.bytes);
  visitor.value("good", whole.good);
  visitor.value("colour", whole.colour);
  visitor.value("parts", whole.parts);
  visitor.value("phases_s", whole.phases_s);
}

Whole some_whole() {
  return {-7,
          std::numeric_limits<std::uint64_t>::max(),
          true,
          Colour::kGreen,
          {{"first\nof all", 0.1}, {std::string("\0zero", 5), std::nullopt}},
          {{"forward", 1e-300}, {"h2d", 0.0}},
          0};
}

std::string error_of(const std::string& bytes) {
  try {
    unpack_message<Whole>(bytes, "the result of rank 3");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Message, ArrivesAsItWas) {
  EXPECT_EQ(unpack_message<Whole>(pack_message(some_whole()), "it"), some_whole());
  EXPECT_EQ(unpack_message<Whole>(pack_message(Whole{}), "it"), Whole{});
}

TEST(Message, LeavesOutWhatIsNoMember) {
  Whole whole = some_whole();
  whole.left_at_home = 5;
  EXPECT_EQ(unpack_message<Whole>(pack_message(whole), "it").left_at_home, 0);
}

TEST(Message, KeepsEveryBitOfNumbers) {
  for (const double value : {0.1, -0.0, 5e-324, std::numeric_limits<double>::infinity()}) {
    const double read = unpack_message<double>(pack_message(value), "it");
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read), std::bit_cast<std::uint64_t>(value));
  }
  EXPECT_TRUE(std::isnan(unpack_message<double>(pack_message(std::nan("")), "it")));
  const auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(unpack_message<std::int64_t>(pack_message(least), "it"), least);
}

TEST(Message, AbsentIsNotZero) {
  using Times = std::vector<std::optional<double>>;
  const Times times = {std::nullopt, 0.0, -1.0};
  EXPECT_EQ(unpack_message<Times>(pack_message(times), "it"), times);
}

TEST(Message, OfValuesWithoutAStruct) {
  const std::tuple<int, std::string, bool> values = {3, "abc", false};
  EXPECT_EQ((unpack_message<std::tuple<int, std::string, bool>>(pack_message(values), "it")), values);
}

TEST(Message, CutOffAnywhereIsRefused) {
  const std::string whole = pack_message(some_whole());
  EXPECT_EQ(error_of(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  EXPECT_THAT(error_of(whole.substr(0, 30)), HasSubstr("the result of rank 3 can't be understood at byte"));
}

TEST(Message, SurvivesAnyWrongByte) {
  const std::string whole = pack_message(some_whole());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string wrong = whole;
      wrong[at] = static_cast<char>(wrong[at] ^ flip);
      error_of(wrong);  // refused or not, nothing but Error is thrown and no memory is asked for that isn't there
    }
  }
}

TEST(Message, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(pack_message(2.5)), HasSubstr("a number with a fraction stands where a struct belongs"));
  EXPECT_THAT(error_of(pack_message(Part{"a", 1})), HasSubstr("a text stands where an integer belongs"));
  EXPECT_THAT(error_of(pack_message(some_whole()) + "x"), HasSubstr("it should end here"));
  const auto narrow = [](std::int64_t number) { return unpack_message<std::int32_t>(pack_message(number), "it"); };
  EXPECT_EQ(narrow(-2'000'000'000), -2'000'000'000);
  EXPECT_THROW(narrow(3'000'000'000), Error);
}

TEST(Message, OfAnotherFormSaysWhichNumberIsWrong) {
  const auto wrong = [](auto target, const std::string& bytes) -> std::string {
    try {
      unpack_message<decltype(target)>(bytes, "it");
    } catch (const Error& error) {
      return error.what();
    }
    return "it was read";
  };
  EXPECT_THAT(wrong(std::tuple<int, int, int>(), pack_message(std::tuple(1, 2))),
              HasSubstr("2 values stand where 3 belong"));
  std::string truth = pack_message(true);
  truth[1] = 2;
  EXPECT_THAT(wrong(false, truth), HasSubstr("a truth value has the impossible number 2"));
  EXPECT_THAT(wrong(std::uint8_t(), pack_message(256U)), HasSubstr("the number 256 is too large"));
  EXPECT_EQ(unpack_message<std::uint8_t>(pack_message(255U), "it"), 255);
  EXPECT_EQ(unpack_message<float>(pack_message(0.1F), "it"), 0.1F);
}

}  // namespace
}  // namespace evener
