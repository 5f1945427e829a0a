#include "sweep/run/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/error.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "sweep/run/axes.h"

namespace evener::sweeps {
namespace {

using test::TestFolder;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string refusal(const std::string& text) {
  try {
    expanded(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepAxes, RangesBecomeTheirValues) {
  EXPECT_THAT(expanded("1..4"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(expanded("8..64/28"), ElementsAre("8", "36", "64"));
  EXPECT_THAT(expanded("8..63/28"), ElementsAre("8", "36"));
  EXPECT_THAT(expanded("0.1..0.3/0.1"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(expanded("2^0..2^4"), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(expanded("cpu/t{1..3}"), ElementsAre("cpu/t1", "cpu/t2", "cpu/t3"));
  EXPECT_THAT(expanded("{1..2}xcpu/t{2^0..2^1}"), ElementsAre("1xcpu/t1", "1xcpu/t2", "2xcpu/t1", "2xcpu/t2"));
}

TEST(SweepAxes, OtherTextsAreOneValue) {
  for (const char* text :
       {"cuda:0..cuda:1", "2xcpu/t1..cuda", "64x48", "70/10/20", "{a}", "mlp:784-256-10", "", "{1..2"}) {
    EXPECT_THAT(expanded(text), ElementsAre(text));
  }
}

TEST(SweepAxes, RangesWithoutAnEndAreRefused) {
  EXPECT_THAT(refusal("4..1"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refusal("1..9/0"), HasSubstr("step of 0"));
  EXPECT_THAT(refusal("2^0..3^4"), HasSubstr("two bases"));
  EXPECT_THAT(refusal("1..1000000"), HasSubstr("more than 1000 values"));
  EXPECT_THAT(refusal("10^0..10^99"), HasSubstr("more than 1000 values"));
}

const std::vector<record::SweepAxis>& axes() {
  static const std::vector<record::SweepAxis> all = {{{"on"}, {{"cpu/t1"}, {"cpu/t2"}}},
                                                     {{"precision", "lr"}, {{"fp32", "0.1"}, {"bf16", "0.2"}}}};
  return all;
}

TEST(SweepAxes, CellsAreAllCombinationsButTheExcluded) {
  const auto cells = combinations(axes(), {});
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[1].at("precision"), "bf16");
  EXPECT_EQ(cells[1].at("lr"), "0.2");  // they go together
  EXPECT_EQ(cells[2].at("on"), "cpu/t2");
  const auto fewer = combinations(axes(), {{{"on", {"cpu/t2"}}, {"precision", {"bf16"}}}});
  EXPECT_EQ(fewer.size(), 3U);
  EXPECT_EQ(combinations({}, {}).size(), 1U);
}

TEST(SweepAxes, WhatCannotBeIsRefused) {
  const auto refused = [](const std::vector<record::SweepAxis>& some, const std::vector<Exclusion>& exclusions) {
    return test::thrown_by<UsageError>([&] { combinations(some, exclusions); });
  };
  EXPECT_EQ(refused({{{"on"}, {}}}, {}), "the axis 'on' has no values");
  EXPECT_EQ(refused({{{"on"}, {{"a"}}}, {{"on"}, {{"b"}}}}, {}), "'on' stands on two axes");
  EXPECT_EQ(refused({{{"on", "lr"}, {{"a", "1"}, {"a", "2"}, {"a", "1"}}}}, {}),
            "the axis 'on, lr' has the value 'a, 1' twice");
  EXPECT_THAT(refused(axes(), {{{"om", {"1"}}}}), HasSubstr("did you mean 'on'"));
  EXPECT_THAT(refused(axes(), {{{"lr", {"0.1"}}}, {{"on", {"cpu/t3"}}}}), HasSubstr("'cpu/t3'"));
  EXPECT_EQ(refused(axes(), {{{"on", {"cpu/t1", "cpu/t2"}}}}), "[[exclude]] leaves no cell");
  EXPECT_THAT(refused(axes(), {{}}), HasSubstr("would leave out every cell"));
}

TEST(SweepAxes, FoldersAreNamesOfFiles) {
  const auto cells = combinations(axes(), {});
  EXPECT_EQ(cell_folder(axes(), cells[0], "0123456789abcdef"), "cpu-t1_fp32_0.1-01234567");
  EXPECT_EQ(cell_folder({}, {}, "0123456789abcdef"), "cell-01234567");
  EXPECT_EQ(cell_name(axes(), cells[3]), "on=cpu/t2, precision=bf16, lr=0.2");
}

// What tells that data, a program or an option's values are the same as before.

TEST(DataIdentity, IsOfNamesSizesAndTimes) {
  const TestFolder folder;
  const fs::path images = folder / "images";
  test::write_text(images / "a.jpg", "1");
  test::write_text(images / "deep/b.jpg", "22");
  const std::vector<std::string> words = {"--data=" + images.string()};
  std::set<std::string> seen = {data_identity(words)};
  EXPECT_EQ(data_identity(words), *seen.begin());
  const auto changes = [&](const char* what) {
    EXPECT_TRUE(seen.insert(data_identity(words)).second) << what;
    EXPECT_EQ(data_identity(words), data_identity(words));
  };
  const auto time = fs::last_write_time(images / "a.jpg");
  test::write_text(images / "a.jpg", "3");
  fs::last_write_time(images / "a.jpg", time + std::chrono::seconds(2));
  changes("another content of the same size");
  test::write_text(images / "a.jpg", "333");
  fs::last_write_time(images / "a.jpg", time);
  changes("another size at the same time");
  fs::rename(images / "deep/b.jpg", images / "deep/c.jpg");
  changes("another name");
  fs::rename(images / "deep", images / "deeper");
  changes("another folder");
  test::write_text(images / "d.jpg", "");
  changes("one more");
}

TEST(DataIdentity, LooksAtWhatWordsName) {
  const TestFolder folder;
  const std::string file = (folder / "a.jpg").string(), other = (folder / "b.jpg").string();
  test::write_text(file, "1");
  test::write_text(other, "22");
  EXPECT_EQ(data_identity({"resnet20", "--data=synth:digits", "--nesterov", "--weights=" + file + ".not"}), "");
  EXPECT_EQ(data_identity({}), "");
  const std::string one = data_identity({file});
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(data_identity({"--weights=" + file}), one);
  EXPECT_NE(data_identity({other}), one);
  EXPECT_NE(data_identity({file, other}), one);
  EXPECT_EQ(data_identity({"--weights" + file}), "") << "no value";
}

TEST(DataIdentity, OfARunOnlyItsNetworksAndItsRecordCount) {
  const TestFolder folder;
  const fs::path run = folder / "run";
  test::write_text(run / "record.json", "{}");
  test::write_text(run / "best.safetensors", "1");
  const std::vector<std::string> words = {run.string()};
  const std::string before = data_identity(words);
  test::write_text(run / "report.html", "page");
  EXPECT_EQ(data_identity(words), before);
  std::set<std::string> seen = {before};
  for (const char* name : {"last.safetensors", "network.onnx", "deep/record.json"}) {
    test::write_text(run / name, "22");
    EXPECT_TRUE(seen.insert(data_identity(words)).second) << name;
  }
  fs::remove(run / "record.json");
  const std::string data = data_identity(words);
  test::write_text(run / "report.html", "longer page");
  EXPECT_NE(data_identity(words), data) << "it is no run's folder any more";
}

TEST(ShortHash, HasSixteenDigitsOfTheText) {
  EXPECT_EQ(short_hash("a").size(), 16u);
  EXPECT_EQ(short_hash("a").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(short_hash("a"), short_hash("a"));
  EXPECT_NE(short_hash("a"), short_hash("b"));
  EXPECT_NE(short_hash(""), short_hash("a"));
}

TEST(MachineIdentity, StaysTheSame) {
  EXPECT_EQ(machine_identity(), machine_identity());
  EXPECT_THAT(machine_identity(), testing::AllOf(HasSubstr(" cores, "), HasSubstr(" bytes of memory, ")));
  EXPECT_TRUE(is_same_machine(machine_identity(), machine_identity()));
}

TEST(MachineIdentity, ALittleLessMemoryOrAnotherKernelIsNoOtherMachine) {
  const std::string text = "Zen, 2 cores, 4 logical CPUs, 8000000000 bytes of memory, Linux 6";
  EXPECT_TRUE(is_same_machine(text, "Zen, 2 cores, 4 logical CPUs, 7000000000 bytes of memory, Linux 7"));
  EXPECT_FALSE(is_same_machine(text, "Zen, 2 cores, 4 logical CPUs, 6000000000 bytes of memory, Linux 6"));
  EXPECT_FALSE(is_same_machine(text, "Zen, 3 cores, 4 logical CPUs, 8000000000 bytes of memory, Linux 6"));
  EXPECT_FALSE(is_same_machine("m", "n"));
}

std::string what_of(const std::string& text) {
  try {
    return std::to_string(expanded(text).size());
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(SweepValuesTest, KeepTheDecimalsOfTheFirstAndOfTheStep) {
  EXPECT_THAT(expanded("0.25..2/1"), ElementsAre("0.25", "1.25"));
  EXPECT_THAT(expanded("0.25..1.25"), ElementsAre("0.25", "1.25"));
  EXPECT_THAT(expanded("1..2/0.5"), ElementsAre("1.0", "1.5", "2.0"));
  EXPECT_THAT(expanded("0..0.3/0.1"), ElementsAre("0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(expanded("5..5"), ElementsAre("5"));
  EXPECT_THAT(expanded("3^2..3^2"), ElementsAre("9"));
  EXPECT_THAT(expanded("3^1..3^3"), ElementsAre("3", "9", "27"));
}

TEST(SweepValuesTest, AreAThousandAtMost) {
  EXPECT_EQ(what_of("1..1000"), "1000");
  EXPECT_THAT(what_of("0..1000"), HasSubstr("more than 1000 values"));
  EXPECT_EQ(what_of("{1..10}x{1..100}"), "1000");
  EXPECT_THAT(what_of("{1..11}x{1..100}"), HasSubstr("more than 1000 values"));
  EXPECT_EQ(what_of("10^0..10^15"), "16");
  EXPECT_THAT(what_of("10^0..10^16"), HasSubstr("more than 1000 values"));
  EXPECT_THAT(what_of("2^3..2^1"), HasSubstr("ends before it begins"));
}

TEST(SweepValuesTest, BracesThatHoldNoRangeStayAndLaterOnesAreRead) {
  EXPECT_THAT(expanded("{a}{1..2}"), ElementsAre("{a}1", "{a}2"));
  EXPECT_THAT(expanded("x{2^1..2^2}y"), ElementsAre("x2y", "x4y"));
}

std::vector<record::SweepAxis> two_axes(std::size_t first, std::size_t second) {
  std::vector<record::SweepAxis> axes = {{{"a"}, {}}, {{"b"}, {}}};
  for (std::size_t i = 0; i < first; ++i) axes[0].steps.push_back({std::to_string(i)});
  for (std::size_t i = 0; i < second; ++i) axes[1].steps.push_back({std::to_string(i)});
  return axes;
}

TEST(SweepCellsTest, AreTenThousandAtMost) {
  EXPECT_EQ(combinations(two_axes(100, 100), {}).size(), 10'000u);
  EXPECT_THROW(combinations(two_axes(100, 101), {}), UsageError);
}

TEST(SweepCellsTest, AnExclusionNeedsAllItsNames) {
  const auto cells = combinations(two_axes(3, 4), {{{"a", {"0", "2"}}, {"b", {"1", "3"}}}, {{"b", {"2"}}}});
  std::vector<std::string> left;
  for (const auto& cell : cells) left.push_back(cell.at("a") + cell.at("b"));
  EXPECT_THAT(left, ElementsAre("00", "10", "11", "13", "20"));
}

TEST(SweepCellsTest, NamesLeaveOutAxesOfOneStepUnlessAllHaveOne) {
  EXPECT_EQ(cell_name(two_axes(2, 1), {{"a", "1"}, {"b", "0"}}), "a=1");
  EXPECT_EQ(cell_name(two_axes(1, 2), {{"a", "0"}, {"b", "1"}}), "b=1");
  EXPECT_EQ(cell_name(two_axes(1, 1), {{"a", "0"}, {"b", "0"}}), "a=0, b=0");
  EXPECT_EQ(cell_folder(two_axes(2, 1), {{"a", "1"}, {"b", "0"}}, "0123456789"), "1-01234567");
  EXPECT_EQ(cell_folder(two_axes(2, 2), {{"a", ".."}, {"b", "x/ÿ:Z"}}, "0123456789"), "cell-01234567");
  EXPECT_EQ(cell_folder(two_axes(2, 2), {{"a", "9z"}, {"b", "x/y:Z"}}, "0123456789"), "9z_x-y-Z-01234567");
  const std::string longest = cell_folder(two_axes(2, 1), {{"a", std::string(200, 'n')}, {"b", "0"}}, "0123456789");
  EXPECT_EQ(longest, std::string(80, 'n') + "-01234567");
}

}  // namespace

}  // namespace evener::sweeps
