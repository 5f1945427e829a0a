// What each job of the library gives back, where it fails, and how it ends before its time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/built_modules.h"
#include "base/test_folder.h"
#include "base/tiny_onnx.h"
#include "base/version.h"
#include "evener/evener.h"

namespace evener {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

template <class Call>
std::string what_fails(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing failed";
}

TEST(LibraryJobs, HaveTheOptionsOfTheirCommands) {
  const std::pair<const char*, std::vector<std::string>> jobs[] = {{"train", {"model", "data", "lr"}},
                                                                   {"infer", {"model", "images", "topk"}},
                                                                   {"faces", {"dir", "on"}},
                                                                   {"detect", {"model", "images", "max-boxes"}},
                                                                   {"quantize", {"model", "images", "seconds"}},
                                                                   {"sweep", {"what", "repeats"}},
                                                                   {"load", {"model", "batch", "streams"}}};
  for (const auto& [job, expected] : jobs) {
    const std::vector<OptionDescription> options = options_of(job);
    for (const std::string& name : expected) {
      const auto found = std::ranges::find(options, name, &OptionDescription::name);
      ASSERT_NE(found, options.end()) << job << " " << name;
      EXPECT_FALSE(found->help.empty()) << job << " " << name;
    }
    EXPECT_EQ(std::ranges::find(options, "quiet", &OptionDescription::name), options.end()) << job;
  }
  const auto of_detect = options_of("detect");
  EXPECT_EQ(std::ranges::find(of_detect, "format", &OptionDescription::name)->default_text, "none");
  const auto of_load = options_of("load");
  EXPECT_EQ(std::ranges::find(of_load, "images", &OptionDescription::name), of_load.end());
  EXPECT_STREQ(version(), program_version());
  EXPECT_STREQ(status_name(Result::Status::kDone), "done");
  EXPECT_STREQ(status_name(Result::Status::kInterrupted), "interrupted");
  EXPECT_STREQ(status_name(Result::Status::kDiverged), "diverged");
}

TEST(LibraryJobs, ATrainingThatDivergesSaysSo) {
  if (!test::module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  const test::TestFolder folder;
  const Result result = train({{"model", "mlp:784-16-10"},
                               {"data", "synth:digits:100"},
                               {"engine", "native"},
                               {"on", "cpu/t1"},
                               {"epochs", 2},
                               {"lr", 1e30},
                               {"replicas", "threads"},
                               {"out", folder / "run"}});
  EXPECT_EQ(result.status, Result::Status::kDiverged);
  EXPECT_THAT(result.reason, Not(IsEmpty()));
  EXPECT_EQ(nlohmann::json::parse(result.record).at("status"), "diverged");
}

/// Hears of progress and answers.
struct Hearer : Observer {
  void note(const std::string& text) override { notes += text + "\n"; }
  void progress(const std::string& text) override { shown += text + "\n"; }
  void answers(const std::string& text) override { lines += text; }
  bool wants_stop() override { return stops; }

  std::string notes, shown, lines;
  bool stops = false;
};

class LibraryInference : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("openvino")) GTEST_SKIP() << "OpenVINO is not built";
    test::write_tiny_onnx(folder_ / "means.onnx", {.op = "ReduceMean", .input = {1, 3, 8, 8}, .axes = {2, 3}});
    // A red picture, and a green one.
    std::string red, green;
    for (int i = 0; i < 64; ++i) {
      red += std::string("\xC8\x14\x0A", 3);
      green += std::string("\x0A\xC8\x14", 3);
    }
    test::write_text(folder_ / "photos/a.ppm", "P6 8 8 255\n" + red);
    test::write_text(folder_ / "photos/b.ppm", "P6 8 8 255\n" + green);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const test::TestFolder folder_;
};

TEST_F(LibraryInference, TellsItsAnswersItsRecordAndItsFolder) {
  Hearer hearer;
  const Result result = infer({{"model", path("means.onnx")},
                               {"images", {path("photos")}},
                               {"on", "cpu/t1"},
                               {"format", "jsonl"},
                               {"topk", 1},
                               {"out", path("answers")}},
                              &hearer);
  EXPECT_EQ(result.status, Result::Status::kDone);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.folder, folder_ / "answers");
  const auto record = nlohmann::json::parse(result.record);
  EXPECT_EQ(record.at("kind"), "infer");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "answers/record.json"));
  EXPECT_EQ(std::ranges::count(hearer.lines, '\n'), 2);
  const std::string first = hearer.lines.substr(0, hearer.lines.find('\n'));
  EXPECT_EQ(nlohmann::json::parse(first).at("predictions").at(0).at("index"), 0) << "red";
  EXPECT_THAT(hearer.notes, Not(IsEmpty()));

  Hearer silent;
  const Result other = infer({{"model", path("means.onnx")}, {"images", {path("photos")}}, {"on", "cpu/t1"}}, &silent);
  EXPECT_EQ(silent.lines, "") << "no format was asked for";
  EXPECT_TRUE(other.folder.empty());
}

TEST_F(LibraryInference, FailsWhereNothingCouldBeReadAndEndsWithAStop) {
  test::write_text(folder_ / "broken/a.ppm", "text");
  const Options broken = {{"model", path("means.onnx")}, {"images", {path("broken")}}, {"on", "cpu/t1"}};
  EXPECT_EQ(what_fails([&] { infer(broken); }), "none of the images could be read");
  StopFlag stop;
  stop.request();
  const Options good = {{"model", path("means.onnx")}, {"images", {path("photos")}}, {"on", "cpu/t1"}};
  EXPECT_THROW(infer(good, nullptr, &stop), Interrupted);
  EXPECT_THROW(
      quantize({{"model", path("means.onnx")}, {"data", path("photos")}, {"out", path("int8")}}, nullptr, &stop),
      Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "int8"));
}

TEST_F(LibraryInference, ANetworkOfVectorsTakesNoPictures) {
  LoadedNetwork network("mlp:4-3", {{"batch", 2}, {"on", "cpu/t1"}});
  EXPECT_EQ(network.name(), "mlp:4-3");
  EXPECT_FALSE(network.takes_images());
  EXPECT_THAT(network.input_shape(), ElementsAre(4));
  EXPECT_THAT(network.classes(), IsEmpty());
  EXPECT_THAT(network.notes(), Contains("its weights are random, so that its outputs mean nothing"));
  const std::uint8_t pixel = 0;
  EXPECT_EQ(what_fails([&] {
              network.run(PictureSpan{&pixel, 1, 1, 1, 1});
            }),
            "'mlp:4-3' takes inputs of shape 4, not pictures");
  const std::vector<float> values = {1, 2, 3, 4, 0, 1, 0, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1};
  const FloatArray all = network.run(SampleSpan{nullptr, values.data(), {5, 4}}).at(network.main_output());
  EXPECT_THAT(all.shape, ElementsAre(5, 3));
  for (std::ptrdiff_t i = 0; i < 5; ++i) {
    const FloatArray one = network.run(SampleSpan{nullptr, values.data() + 4 * i, {1, 4}}).at(network.main_output());
    for (std::size_t c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(one.values[c], all.values[static_cast<std::size_t>(3 * i) + c]);
  }
  EXPECT_THROW(network.run(SampleSpan{nullptr, values.data(), {5, 3}}), Error);
  EXPECT_EQ(network.class_name(2), "class 2") << "it has no names";

  LoadedNetwork moved = std::move(network);
  EXPECT_EQ(moved.run(SampleSpan{nullptr, values.data(), {5, 4}}).at(moved.main_output()).values, all.values);
}

TEST_F(LibraryInference, ALoadedFileSaysWhatItsOutputIsAndEndsARunWithAStop) {
  LoadedNetwork network(path("means.onnx"), {{"on", "cpu/t2"}, {"oversubscribe", true}, {"batch", 1}});
  EXPECT_TRUE(network.takes_images());
  EXPECT_THAT(network.input_shape(), ElementsAre(3, 8, 8));
  EXPECT_EQ(network.main_output(), "output");
  EXPECT_THAT(network.notes(), Not(Contains(HasSubstr("random"))));
  // Pictures of one colour each, three of them, of another size than the network's.
  std::vector<std::uint8_t> pictures;
  for (const int colour : {10, 90, 200}) {
    for (int i = 0; i < 5 * 7; ++i) {
      for (const int channel : {0, 1, 2}) pictures.push_back(static_cast<std::uint8_t>(colour + 10 * channel));
    }
  }
  const Outputs outputs = network.run(PictureSpan{pictures.data(), 3, 5, 7, 3});
  const FloatArray& means = outputs.at("output");
  EXPECT_THAT(means.shape, ElementsAre(3, 3));
  const std::vector<float>& values = means.values;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(values[3 * i + 1], values[3 * i]) << "channels keep their order";
    EXPECT_GT(values[3 * i + 2], values[3 * i + 1]);
    if (i > 0) {
      EXPECT_GT(values[3 * i], values[3 * i - 1]) << "pictures keep theirs";
    }
  }
  const float single = network.run(PictureSpan{pictures.data() + 105, 1, 5, 7, 3}).at("output").values[0];
  EXPECT_FLOAT_EQ(single, values[3]);
  Hearer hearer;
  hearer.stops = true;
  std::vector<std::uint8_t> many(std::size_t{20'000} * 192, 7);
  EXPECT_THROW(network.run(SampleSpan{many.data(), nullptr, {20'000, 3, 8, 8}}, &hearer), Interrupted);
  EXPECT_FLOAT_EQ(network.run(PictureSpan{pictures.data(), 3, 5, 7, 3}).at("output").values[8], values[8])
      << "a run that was stopped changes nothing";
}

}  // namespace
}  // namespace evener
