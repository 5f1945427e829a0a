// The library as another program uses it: the installed headers alone, in one process, with callbacks and stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/module.h"
#include "base/simd_level.h"
#include "base/test_folder.h"
#include "base/tiny_onnx.h"
#include "engine/detector_file.h"
#include "evener/evener.h"

namespace evener {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

template <class Call>
std::string usage_error(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

Options digits_training(const fs::path& out) {
  return {{"model", "mlp:784-16-10"},
          {"data", "synth:digits:200"},
          {"engine", "native"},
          {"on", "cpu/t1"},
          {"batch", 16},
          {"epochs", 3},
          {"lr", 0.5},
          {"out", out}};
}

/// Counts what it hears, and stops or throws after some epochs.
struct Listener : Observer {
  void note(const std::string& text) override { notes += text + "\n"; }
  void answers(const std::string& text) override { lines += text; }
  void step(const StepEvent& event) override { last_step = event; }
  void epoch(const EpochEvent& event) override {
    epochs.push_back(event);
    if (static_cast<int>(epochs.size()) == throw_after) throw std::runtime_error("thrown by a callback");
  }
  bool wants_stop() override { return stop_after > 0 && static_cast<int>(epochs.size()) >= stop_after; }

  std::string notes, lines;
  StepEvent last_step;
  std::vector<EpochEvent> epochs;
  int stop_after = 0, throw_after = 0;
};

TEST(LibraryOptions, AreTheCommandsByName) {
  const auto options = options_of("train");
  const auto rate = std::ranges::find(options, "lr", &OptionDescription::name);
  ASSERT_NE(rate, options.end());
  EXPECT_EQ(rate->kind, OptionDescription::Kind::kOneValue);
  EXPECT_EQ(rate->value_kind, "a number");
  EXPECT_FALSE(rate->help.empty());
  for (const char* of_the_command : {"json", "quiet", "hosts", "hosts-started"}) {
    EXPECT_EQ(std::ranges::find(options, of_the_command, &OptionDescription::name), options.end()) << of_the_command;
  }
  const auto of_infer = options_of("infer");
  EXPECT_EQ(std::ranges::find(of_infer, "format", &OptionDescription::name)->default_text, "none");
  EXPECT_THAT(usage_error([] { options_of("trian"); }), HasSubstr("did you mean 'train'?"));
}

TEST(LibraryOptions, AreCheckedBeforeAnythingIsDone) {
  EXPECT_THAT(usage_error([] { train({{"epoch", 3}}); }), HasSubstr("did you mean 'epochs'?"));
  EXPECT_THAT(usage_error([] { train({{"batch_size", 3}}); }), HasSubstr("it is called 'batch' here"));
  EXPECT_THAT(usage_error([] { train({{"epochs", "many"}}); }), HasSubstr("not a whole number"));
  EXPECT_THAT(usage_error([] { train({{"replicas", "processes"}}); }), HasSubstr("threads of the calling process"));
  EXPECT_THAT(usage_error([] { infer({{"model", "mlp:4-2"}, {"watch", true}}); }), HasSubstr("is for the command"));
  EXPECT_THAT(usage_error([] { infer({{"images", {"a.png"}}}); }), HasSubstr("'model' is missing"));
  EXPECT_THAT(usage_error([] { LoadedNetwork("resnet18", {{"data", "x"}}); }), HasSubstr("unknown option 'data'"));
}

class Library : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  }
  static bool can_infer() {
    return module_status("torch").state != ModuleState::kNotBuilt &&
           module_status("openvino").state != ModuleState::kNotBuilt;
  }
  test::TestFolder folder_;
};

TEST_F(Library, TrainsAndTellsHowItGoes) {
  Listener listener;
  const Result result = train(digits_training(folder_ / "run"), &listener);
  EXPECT_EQ(result.status, Result::Status::kDone);
  EXPECT_EQ(result.folder, folder_ / "run");
  ASSERT_EQ(listener.epochs.size(), 3U);
  EXPECT_EQ(listener.epochs.back().epoch, 3);
  EXPECT_EQ(listener.last_step.epoch, 3);
  EXPECT_EQ(listener.last_step.step, listener.last_step.steps_per_epoch);
  const auto record = nlohmann::json::parse(result.record);
  EXPECT_EQ(record.at("kind"), "train");
  EXPECT_EQ(record.at("config").at("epochs"), 3);
  EXPECT_EQ(listener.last_step.steps_per_epoch, 10) << "160 images in batches of 16";
  EXPECT_NEAR(listener.last_step.loss, listener.epochs.back().train_loss, 1e-6) << "of the epoch so far";
  EXPECT_GT(listener.last_step.images_per_s, 160 / listener.epochs.back().seconds * 0.5);
  EXPECT_TRUE(listener.epochs.front().best);
  EXPECT_EQ(result.reason, "");
  ASSERT_EQ(record.at("epochs").size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpochEvent& event = listener.epochs[i];
    const auto& told = record["epochs"][i];
    EXPECT_EQ(told.at("epoch"), event.epoch);
    EXPECT_EQ(told.at("seconds"), event.seconds);
    EXPECT_EQ(told.at("lr"), event.learning_rate);
    EXPECT_EQ(told.at("train_loss"), event.train_loss);
    EXPECT_EQ(told.at("train_accuracy"), event.train_accuracy.value());
    EXPECT_EQ(told.at("val_loss"), event.val_loss.value());
    EXPECT_EQ(told.at("val_accuracy"), event.val_accuracy.value());
  }
  EXPECT_TRUE(fs::exists(folder_ / "run" / "record.json"));
}

TEST_F(Library, AStopSavesAndTheRunGoesOn) {
  Listener listener;
  listener.stop_after = 1;
  const Options options = digits_training(folder_ / "run").set("epochs", 5000);
  const Result stopped = train(options, &listener);
  EXPECT_EQ(stopped.status, Result::Status::kInterrupted);
  EXPECT_FALSE(stopped.reason.empty());
  const Result resumed = train({{"resume", folder_ / "run"}, {"epochs", static_cast<int>(listener.epochs.size()) + 1}});
  EXPECT_EQ(resumed.status, Result::Status::kDone);

  StopFlag before;
  before.request();
  EXPECT_THROW(train(digits_training(folder_ / "never"), nullptr, &before), Interrupted);
  EXPECT_FALSE(fs::exists(folder_ / "never"));
}

TEST_F(Library, WhatACallbackThrowsEndsTheJobAndComesOut) {
  Listener listener;
  listener.throw_after = 2;
  try {
    train(digits_training(folder_ / "run").set("epochs", 5000), &listener);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "thrown by a callback");
  }
  EXPECT_EQ(listener.epochs.size(), 2U) << "it heard more after it had thrown";
  EXPECT_TRUE(fs::exists(folder_ / "run" / "last.safetensors")) << "a stop saves";
}

/// Asks for a stop once it has heard of the first run.
struct Stopper : Observer {
  void note(const std::string&) override { ++notes; }
  bool wants_stop() override { return notes > 0; }

  int notes = 0;
};

Options small_sweep(const fs::path& out) {
  return {{"what",
           {"train", "mlp:784-16-10", "--data", "synth:digits:200", "--engine", "native", "--on", "cpu/t1", "--epochs",
            "1", "--batch", "16,32"}},
          {"repeats", 2},
          {"out", out},
          {"no_html", true}};
}

std::size_t lines_in(const fs::path& file) {
  std::ifstream stream(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(stream, line);) ++lines;
  return lines;
}

TEST_F(Library, ASweepRunsTheProgramInEveryWay) {
  Listener listener;
  const Result result = sweep(small_sweep(folder_ / "sweep"), &listener);
  EXPECT_EQ(result.status, Result::Status::kDone);
  EXPECT_EQ(fs::canonical(result.folder), fs::canonical(folder_ / "sweep"));
  const auto cells = nlohmann::json::parse(result.record).at("cells");
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1].at("runs").size(), 2U) << listener.notes;
  EXPECT_EQ(lines_in(folder_ / "sweep" / "runs.csv"), 1U + 4U);
  EXPECT_THAT(listener.notes, HasSubstr("[4/4]"));
  EXPECT_FALSE(fs::exists(folder_ / "sweep" / "report.html"));
}

TEST_F(Library, ASweepThatItsTimeLimitEndsIsToldAsInterrupted) {
  const Result result = sweep(small_sweep(folder_ / "sweep").set("time-limit", 0.001));
  EXPECT_EQ(result.status, Result::Status::kInterrupted);
  EXPECT_THAT(result.reason, HasSubstr("time limit"));
}

TEST_F(Library, AStoppedSweepGoesOn) {
  Stopper stopper;
  EXPECT_THROW(sweep(small_sweep(folder_ / "sweep"), &stopper), Interrupted);
  EXPECT_EQ(stopper.notes, 1);
  Listener listener;
  EXPECT_EQ(sweep(small_sweep(folder_ / "sweep"), &listener).status, Result::Status::kDone);
  EXPECT_THAT(listener.notes, testing::Not(HasSubstr("[1/4]"))) << "the first run was made again";
  EXPECT_EQ(lines_in(folder_ / "sweep" / "runs.csv"), 1U + 4U);

  EXPECT_THAT(usage_error([] { sweep({{"what", {"trian", "resnet18"}}}); }), HasSubstr("did you mean 'train'?"));
  EXPECT_THAT(usage_error([] { sweep({{"repeats", 2}}); }), HasSubstr("'what' is missing"));
  EXPECT_THAT(usage_error([&] {
                sweep({{"what", {"train", "mlp:784-16-10", "--data", "synth:digits:200", "--dry-run"}}});
              }),
              HasSubstr("--dry-run is for the command"));
}

/// 20 vectors of 784 floats, as a .npy file has them.
std::vector<float> some_vectors() {
  std::vector<float> values(20 * 784);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7919) % 256);
  return values;
}

void write_npy(const fs::path& path, const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 1, 28, 28), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

TEST_F(Library, ALoadedNetworkSaysBitByBitWhatInferSays) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  train(digits_training(folder_ / "run"));
  const std::vector<float> values = some_vectors();
  write_npy(folder_ / "images.npy", values);
  Listener listener;
  infer({{"model", folder_ / "run"},
         {"images", {(folder_ / "images.npy").string()}},
         {"batch", 8},
         {"streams", 1},
         {"format", "jsonl"},
         {"output_type", "logit"},
         {"topk", 10}},
        &listener);
  LoadedNetwork network((folder_ / "run").string(), {{"batch", 8}, {"streams", 1}});
  EXPECT_EQ(network.input_shape(), (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_EQ(network.classes().size(), 10U);
  const Outputs outputs = network.run(SampleSpan{nullptr, values.data(), {20, 1, 28, 28}});
  const FloatArray& logits = outputs.at(network.main_output());
  ASSERT_EQ(logits.shape, (std::vector<std::int64_t>{20, 10}));
  std::istringstream lines(listener.lines);
  std::size_t image = 0;
  for (std::string line; std::getline(lines, line); ++image) {
    const auto told = nlohmann::json::parse(line);
    for (const auto& one : told.at("predictions")) {
      EXPECT_EQ(one.at("logit").get<float>(), logits.values[image * 10 + one.at("index").get<std::size_t>()]);
    }
  }
  EXPECT_EQ(image, 20U);

  // One call, or the flow of many: the same.
  const Outputs first = network.run(SampleSpan{nullptr, values.data(), {3, 1, 28, 28}});
  EXPECT_EQ(first.at(network.main_output()).values,
            std::vector<float>(logits.values.begin(), logits.values.begin() + 30));
}

// Calibration gives it an output more, which the network's own outputs don't have, and other logits.
TEST_F(Library, ACalibratedNetworkSaysWhatInferSaysOfWhatIsUnknownToo) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  train(digits_training(folder_ / "run").set("data", "synth:digits:400").set("split", "60/20/20"));
  ASSERT_TRUE(fs::exists(folder_ / "run" / "best.calibration.safetensors"));
  const std::vector<float> values = some_vectors();
  write_npy(folder_ / "images.npy", values);
  Listener listener;
  infer({{"model", folder_ / "run"},
         {"images", {(folder_ / "images.npy").string()}},
         {"batch", 8},
         {"streams", 1},
         {"format", "jsonl"},
         {"output_type", "logit"},
         {"topk", 1}},
        &listener);
  const std::string run = (folder_ / "run").string();
  LoadedNetwork network(run, {{"batch", 8}, {"streams", 1}}), as_learnt(run, {{"batch", 8}, {"uncalibrated", true}});
  for (const std::int64_t images : {20, 3}) {  // the flow of many calls, and one call
    const SampleSpan shown{nullptr, values.data(), {images, 1, 28, 28}};
    const Outputs outputs = network.run(shown);
    ASSERT_EQ(outputs.size(), 2U) << "logits, and how unknown it is";
    const FloatArray &logits = outputs.at(network.main_output()), &unknown = outputs.at("unknown");
    ASSERT_EQ(unknown.shape, (std::vector<std::int64_t>{images, 1}));
    std::istringstream lines(listener.lines);
    std::string line;
    for (std::size_t image = 0; std::cmp_less(image, images) && std::getline(lines, line); ++image) {
      const auto told = nlohmann::json::parse(line);
      const auto& best = told.at("predictions")[0];
      EXPECT_EQ(best.at("logit").get<float>(), logits.values[image * 10 + best.at("index").get<std::size_t>()]);
      EXPECT_EQ(told.at("unknown").get<float>(), unknown.values[image]);
    }
    const Outputs learnt = as_learnt.run(shown);
    EXPECT_EQ(learnt.size(), 1U);
    EXPECT_NE(learnt.at(network.main_output()).values, logits.values) << "divided by the temperature";
  }
}

TEST_F(Library, AThousandCallsTakeNoMoreFilesAndThreadsThanOneAndSayTheSame) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  LoadedNetwork network("mlp:784-10", {{"size", "28x28"}, {"channels", 1}, {"batch", 8}, {"streams", 1}});
  const std::vector<float> values = some_vectors();
  const auto run = [&](std::int64_t images) {
    return network.run(SampleSpan{nullptr, values.data(), {images, 1, 28, 28}}).at(network.main_output()).values;
  };
  const std::vector<float> first = run(20), single = run(1);
  const int files = test::file_count("/proc/self/fd"), threads = test::file_count("/proc/self/task");
  const std::size_t notes = network.notes().size();
  for (int call = 0; call < 1000; ++call) ASSERT_EQ(run(1), single);
  EXPECT_EQ(test::file_count("/proc/self/fd"), files);
  EXPECT_EQ(test::file_count("/proc/self/task"), threads);
  EXPECT_EQ(network.notes().size(), notes);
  EXPECT_EQ(run(20), first);
}

/// Ends the process where a test hangs.
class TimeLimit {
 public:
  explicit TimeLimit(unsigned int seconds) { alarm(seconds); }
  ~TimeLimit() { alarm(0); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
};

TEST_F(Library, DoesASecondJobBesideTheThreadsOfTheFirst) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  const TimeLimit limit(200);
  const std::string file = (folder_ / "means.onnx").string();
  test::write_tiny_onnx(file, {.op = "ReduceMean", .input = {1, 3, 8, 8}, .axes = {2, 3}});
  fs::create_directory(folder_ / "photos");
  std::ofstream(folder_ / "photos" / "a.ppm") << "P6 8 8 255\n" << std::string(192, 'x');
  const auto infer_file = [&] { return infer({{"model", file}, {"images", {(folder_ / "photos").string()}}}); };
  const LoadedNetwork loaded(file, {});
  EXPECT_EQ(infer_file().status, Result::Status::kDone);
  EXPECT_EQ(infer_file().status, Result::Status::kDone);
  const Result run = train(digits_training(folder_ / "run"));
  const LoadedNetwork again(file, {});
  EXPECT_EQ(infer_file().status, Result::Status::kDone);
  const Result quantized =
      quantize({{"model", run.folder}, {"images", 20}, {"seconds", 0.01}, {"on", "cpu/t1"}, {"out", folder_ / "int8"}});
  EXPECT_EQ(quantized.status, Result::Status::kDone);
  EXPECT_EQ(quantized.folder, folder_ / "int8");
  EXPECT_EQ(nlohmann::json::parse(quantized.record).at("kind"), "quantize");
  EXPECT_THAT(quantized.summary, testing::AllOf(testing::Not(testing::IsEmpty()),
                                                testing::Each(testing::Not(testing::AnyOf(HasSubstr("\n"), "")))));
  std::ofstream(folder_ / "damaged.onnx") << "no network";
  EXPECT_THROW(LoadedNetwork((folder_ / "damaged.onnx").string(), {}), Error);
}

/// Outputs of the first `count` of 40 grey images, by a network whose convolutions suit LibTorch.
std::vector<float> of_greys(LoadedNetwork& network, std::int64_t count) {
  std::vector<std::uint8_t> greys;
  for (std::uint8_t grey = 0; grey < 40; ++grey) greys.insert(greys.end(), 64 * 64 * 3, grey);
  return network.run(SampleSpan{greys.data(), nullptr, {count, 3, 64, 64}}).at(network.main_output()).values;
}

TEST_F(Library, FewImagesWaitForNoOtherEngineThanOpenVino) {
  for (const char* engine : {"torch", "openvino"}) {
    if (module_status(engine).state != ModuleState::kUsable) GTEST_SKIP() << engine << " can't be used here";
  }
  if (simd_level() == SimdLevel::kBaseline) GTEST_SKIP() << "this processor has no AVX2";
  const auto loaded = [](const char* engine) {
    return LoadedNetwork("resnet20", {{"size", "64x64"},
                                      {"channels", 3},
                                      {"classes", 3},
                                      {"batch", 16},
                                      {"on", "cpu/t2"},
                                      {"oversubscribe", true},
                                      {"engine", engine}});
  };
  LoadedNetwork chosen = loaded("auto"), openvino = loaded("openvino");
  EXPECT_EQ(of_greys(chosen, 1), of_greys(openvino, 1));
  EXPECT_EQ(of_greys(chosen, 16), of_greys(openvino, 16)) << "a batch";
  EXPECT_NE(of_greys(chosen, 40), of_greys(openvino, 40)) << "LibTorch rounds otherwise";
}

// 5 pictures of 6x4, every value another one: rows, columns and colours can't change places unseen.
TEST_F(Library, PicturesKeepTheirRowsAndColours) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  constexpr std::size_t kImages = 5, kHeight = 4, kWidth = 6;
  std::vector<std::uint8_t> pictures(kImages * kHeight * kWidth * 3), planes(pictures.size());
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    pictures[i] = static_cast<std::uint8_t>(i * 37 % 251);
    const std::size_t channel = i % 3, pixel = i / 3 % (kHeight * kWidth), image = i / (kHeight * kWidth * 3);
    planes[(image * 3 + channel) * kHeight * kWidth + pixel] = pictures[i];
  }
  LoadedNetwork network("mlp:72-4", {{"size", "6x4"}, {"channels", 3}, {"batch", 2}});
  const auto answers = [&](const auto& shown) { return network.run(shown).at(network.main_output()).values; };
  const std::vector<float> shown = answers(PictureSpan{pictures.data(), 5, 4, 6, 3});
  EXPECT_EQ(shown, answers(SampleSpan{planes.data(), nullptr, {5, 3, 4, 6}}));
  EXPECT_NE(shown, answers(SampleSpan{pictures.data(), nullptr, {5, 3, 4, 6}}));
}

// Of a detector, each image's part of each output is that of the image alone.
TEST_F(Library, EachOutputOfADetectorIsInTheOrderOfTheImages) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  LoadedNetwork network("ssdlite_mobilenet_v2",
                        {{"size", "64x64"}, {"channels", 3}, {"classes", 2}, {"batch", 2}, {"streams", 1}});
  constexpr std::ptrdiff_t kValues = 3 * 64 * 64;
  std::vector<std::uint8_t> images;
  for (std::ptrdiff_t i = 0; i < 5 * kValues; ++i) {
    images.push_back(static_cast<std::uint8_t>(i * (3 + i / kValues) % 253));
  }
  const Outputs all = network.run(SampleSpan{images.data(), nullptr, {5, 3, 64, 64}});
  EXPECT_GT(all.size(), 1U);
  EXPECT_THROW(network.class_name(7), UsageError) << "it tells no class of an image";
  for (const auto& [name, output] : all) {
    std::set<std::vector<float>> answers;
    const auto values = static_cast<std::ptrdiff_t>(output.values.size() / 5);
    for (std::ptrdiff_t image = 0; image < 5; ++image) {
      const std::vector<float> own(output.values.begin() + image * values,
                                   output.values.begin() + (image + 1) * values);
      const Outputs one = network.run(SampleSpan{images.data() + image * kValues, nullptr, {1, 3, 64, 64}});
      EXPECT_EQ(own, one.at(name).values) << name << " of image " << image;
      answers.insert(own);
    }
    EXPECT_EQ(answers.size(), 5U) << name;
  }
}

// As evener detect and infer see it (tests/app/known_everywhere_test.cpp): whole, in a corner of grey 114, of 0 to 255.
TEST_F(Library, AForeignDetectorSeesPicturesAsItsFamilyDoes) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  test::write_yolox_file(folder_ / "m.xml");
  LoadedNetwork network((folder_ / "m.xml").string());
  const std::vector<std::uint8_t> wide(std::size_t{128} * 64 * 3, 200);
  const std::vector<float> table = network.run(PictureSpan{wide.data(), 1, 64, 128, 3}).at("output").values;
  EXPECT_NEAR(table.at(test::kObjectness), (200.0 + 114) / 2 / 255, 1e-4);
  EXPECT_EQ(network.classes().size(), 2U);
}

TEST_F(Library, AnInt8NetworkSaysWhatInferSays) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  EXPECT_THAT(train(digits_training(folder_ / "run")).summary, testing::Contains(testing::HasSubstr("accuracy")));
  EXPECT_THAT(infer({{"model", folder_ / "run"}, {"on", "cpu/t1"}}).summary,
              testing::Contains(testing::HasSubstr("accuracy")));
  quantize(
      {{"model", folder_ / "run"}, {"images", 20}, {"seconds", 0.01}, {"on", "cpu/t1"}, {"out", folder_ / "int8"}});
  const std::vector<float> values = some_vectors();
  write_npy(folder_ / "images.npy", values);
  std::map<std::string, std::vector<float>> logits;
  for (const char* model : {"run", "int8"}) {
    Listener listener;
    infer({{"model", folder_ / model},
           {"images", {(folder_ / "images.npy").string()}},
           {"batch", 8},
           {"streams", 1},
           {"format", "jsonl"},
           {"output_type", "logit"},
           {"topk", 10}},
          &listener);
    LoadedNetwork network((folder_ / model).string(), {{"batch", 8}, {"streams", 1}});
    logits[model] = network.run(SampleSpan{nullptr, values.data(), {20, 1, 28, 28}}).at(network.main_output()).values;
    std::istringstream lines(listener.lines);
    std::size_t image = 0;
    for (std::string line; std::getline(lines, line); ++image) {
      const auto told = nlohmann::json::parse(line);
      for (const auto& one : told.at("predictions")) {
        EXPECT_EQ(one.at("logit").get<float>(), logits[model][image * 10 + one.at("index").get<std::size_t>()])
            << model;
      }
    }
    EXPECT_EQ(image, 20U);
  }
  EXPECT_NE(logits["int8"], logits["run"]) << "it was not quantised";
}

TEST_F(Library, PicturesAreBroughtToTheNetworksSize) {
  if (!can_infer()) GTEST_SKIP() << "trained networks can't be run in this build";
  LoadedNetwork network("mlp:64-4", {{"size", "8x8"}, {"channels", 1}, {"batch", 2}});
  EXPECT_THAT(network.notes(), testing::Contains(HasSubstr("random")));
  const std::vector<std::uint8_t> small(8 * 8, 100), large(3 * 40 * 30 * 3, 100);
  const auto of_small = network.run(PictureSpan{small.data(), 1, 8, 8, 1}).at(network.main_output());
  const auto of_large = network.run(PictureSpan{large.data(), 3, 40, 30, 3}).at(network.main_output());
  ASSERT_EQ(of_large.shape, (std::vector<std::int64_t>{3, 4}));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(of_large.values[i], of_small.values[i % 4]) << "all are of one grey";

  EXPECT_THROW(network.run(PictureSpan{small.data(), 1, 8, 8, 2}), Error);
  EXPECT_THROW(network.run(PictureSpan{nullptr, 1, 8, 8, 1}), Error);
  EXPECT_THROW(network.run(SampleSpan{nullptr, nullptr, {1, 1, 8, 8}}), Error);
  EXPECT_THROW(network.run(PictureSpan{small.data(), -1, 8, 8, 1}), Error);
  EXPECT_THROW(network.run(SampleSpan{small.data(), nullptr, {1, 1, 4, 16}}), Error);
  EXPECT_EQ(network.run(PictureSpan{small.data(), 1, 8, 8, 1}).at(network.main_output()).values, of_small.values)
      << "a mistake changes nothing";
  EXPECT_EQ(network.run(PictureSpan{nullptr, 0, 8, 8, 1}).at(network.main_output()).shape,
            (std::vector<std::int64_t>{0, 4}));
}

}  // namespace
}  // namespace evener
