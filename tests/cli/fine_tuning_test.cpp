// evener train that goes on from weights with no further option, as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"
#include "data/fetch_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

class FineTuning : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino"}) {
      if (!test::module_is_built(name)) GTEST_SKIP() << "the " << name << " engine is not built";
    }
  }

  ProgramResult train(const std::string& name, const Words& words) const {
    return run_program(joined({"train", "resnet20", "--on", "cpu/t1", "--out", file(name)}, words));
  }
  Words from_digits() const { return test::from_digits(file("digits")); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  test::TemporaryFolder folder_;
};

TEST_F(FineTuning, WeightsAloneChooseSizeRateAndEndAndFitTheLastLayerFirst) {
  const ProgramResult result =
      train("masks", joined({"--data", "synth:masks:120", "--split", "60/40", "--epochs", "3"}, from_digits()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("epoch 1 is linear probing: the last layer, linear, was fitted to features of 72 images"),
                    HasSubstr("epoch 1/3"), HasSubstr("linear probing")));
  const json record = record_in(file("masks")), before = record_in(file("digits"));
  EXPECT_EQ(record["config"]["size"], "20x20");
  EXPECT_EQ(record["config"]["crop"], "stretch") << "as the weights' own images";
  EXPECT_EQ(record["config"]["momentum"], 0.9);
  EXPECT_EQ(record["config"]["schedule"], "cosine");
  EXPECT_EQ(record["config"]["patience"], 3);
  EXPECT_TRUE(record["epochs"][0]["lr"].is_null());
  EXPECT_TRUE(record["epochs"][0]["images_per_s"].is_null());
  EXPECT_FALSE(record["epochs"][1]["lr"].is_null());
  EXPECT_EQ(before["config"]["momentum"], 0) << "from scratch nothing is chosen";
  EXPECT_EQ(before["config"]["lr"], 0.05);
  EXPECT_EQ(before["config"]["patience"], 0);
}

// They were trained so, and their files don't say.
TEST_F(FineTuning, WeightsOfOtherProgramsSeeTheMiddleOfImages) {
  from_digits();
  weights::write_safetensors(file("theirs.safetensors"),
                             weights::read_safetensors(file("digits/best.safetensors")).tensors, {});
  const Words words = {"--data", "synth:masks:90", "--epochs", "1", "--weights", file("theirs.safetensors")};
  const ProgramResult middle = train("middle", words);
  ASSERT_EQ(middle.exit_code, 0) << middle.err;
  EXPECT_EQ(record_in(file("middle"))["config"]["crop"], "centre");
  const ProgramResult found = run_program({"infer", file("middle"), "synth:masks:9"});
  EXPECT_THAT(found.out + found.err, HasSubstr("the middle of images, of their shorter side all, resized to 32x32"));
  ASSERT_EQ(train("letterbox", joined(words, {"--crop", "letterbox"})).exit_code, 0);
  EXPECT_EQ(record_in(file("letterbox"))["config"]["crop"], "letterbox");
}

TEST_F(FineTuning, WhatIsGivenIsTaken) {
  const Words from = from_digits(), data = {"--data", "synth:masks:90", "--split", "60/40", "--epochs", "2"};
  const ProgramResult rate = train("rate", joined(joined(data, {"--lr", "0.01", "--linear-probing", "off"}), from));
  ASSERT_EQ(rate.exit_code, 0) << rate.err;
  const json record = record_in(file("rate"));
  EXPECT_EQ(record["config"]["lr"], 0.01);
  EXPECT_EQ(record["config"]["momentum"], 0) << "whoever chose the rate chose it for sgd as it is";
  EXPECT_EQ(record["config"]["batch"], 64);
  EXPECT_FALSE(record["epochs"][0]["lr"].is_null());
  const ProgramResult size = train("size", joined(joined(data, {"--size", "24x16", "--patience", "0"}), from));
  ASSERT_EQ(size.exit_code, 0) << size.err;
  EXPECT_EQ(record_in(file("size"))["config"]["size"], "24x16");
  EXPECT_EQ(record_in(file("size"))["config"]["patience"], 0);
}

// The usual 2 % would be two of them, which choose the best epoch by chance.
TEST_F(FineTuning, ImagesWithoutPartsAreDividedWithEnoughToValidateOn) {
  const Words from = from_digits();
  const ProgramResult result = train("run", joined({"--data", "synth:masks:90", "--epochs", "1"}, from));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(record_in(file("run"))["config"]["split"], json({70, 15, 15}));
  const ProgramResult rate = train("rate", joined({"--data", "synth:masks:90", "--epochs", "1", "--lr", "0.01"}, from));
  ASSERT_EQ(rate.exit_code, 0) << rate.err;
  EXPECT_NE(record_in(file("rate"))["config"]["split"], json({70, 15, 15}));
}

TEST_F(FineTuning, AnEvaluationOfWeightsChoosesNothingOfLearning) {
  const ProgramResult result = train("judged", joined({"--data", "synth:digits:60", "--epochs", "0"}, from_digits()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json config = record_in(file("judged"))["config"];
  EXPECT_EQ(config["size"], "20x20");
  EXPECT_EQ(config["batch"], 64);
  EXPECT_EQ(config["lr"], 0.05);
  EXPECT_EQ(config["ema"], 0);
  EXPECT_EQ(config["patience"], 0);
}

TEST_F(FineTuning, TheBackboneMayLearnSlowerOrKeepItsStatistics) {
  const Words words = joined({"--data", "synth:masks:90", "--split", "60/40", "--epochs", "1", "--linear-probing",
                              "off", "--lr", "0.05", "--backbone-rate", "1e-9", "--batch-norm", "frozen"},
                             from_digits());
  const ProgramResult result = train("run", words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TensorMap before = weights::read_safetensors(file("digits/best.safetensors")).tensors;
  const TensorMap after = weights::read_safetensors(file("run/last.safetensors")).tensors;
  for (const char* name : {"bn1.running_mean", "bn1.running_var"}) EXPECT_EQ(after.at(name), before.at(name)) << name;
  EXPECT_NEAR(*after.at("conv1.weight").floats(), *before.at("conv1.weight").floats(), 1e-6);
  EXPECT_EQ(train("none", {"--data", "synth:masks:90", "--batch-norm", "frozen"}).exit_code, 2);
}

TEST_F(FineTuning, GoesOnWithoutTheFileOfWeights) {
  const Words from = from_digits();
  const ProgramResult one =
      train("run", joined({"--data", "synth:masks:90", "--split", "60/40", "--epochs", "2"}, from));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  fs::remove(from.back());
  const ProgramResult more = run_program({"train", "--resume", file("run"), "--epochs", "4"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(record_in(file("run"))["epochs"].size(), 4);
  EXPECT_EQ(record_in(file("run"))["config"]["size"], "20x20");
}

class NamedWeights : public test::FetchTest {
 protected:
  ProgramResult train(const Words& words, const std::string& mirror) const {
    return test::run_in_process(joined({"train"}, words),
                                {.environment = {{"EVENER_FETCH_FROM", mirror},
                                                 {"no_proxy", "127.0.0.1"},
                                                 {"NO_PROXY", "127.0.0.1"},
                                                 {"XDG_CACHE_HOME", folder_.path().string()}}});
  }

  const test::TestFolder folder_;
};

TEST_F(NamedWeights, WithoutANetworkSayWhichFileBelongsWhere) {
  const test::LoopbackServer server([](const Request&) { return Reply{test::http_reply(404, "", "")}; });
  const ProgramResult result = train({"resnet18", "--data", "synth:digits:20", "--weights", "imagenet"}, server.url());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(server.url("/resnet18-imagenet/resnet18-f37072fd.pth")),
                    HasSubstr((folder_ / "evener/weights/resnet18-imagenet/resnet18-f37072fd.pth").string())));
}

TEST_F(NamedWeights, AreCheckedWhereTheyAreKept) {
  const fs::path kept = folder_ / "evener/weights/resnet18-imagenet/resnet18-f37072fd.pth";
  fs::create_directories(kept.parent_path());
  std::ofstream(kept) << "no weights";
  const test::LoopbackServer server([](const Request&) { return Reply{test::http_reply(404, "", "")}; });
  const ProgramResult result = train({"resnet18", "--data", "synth:digits:20", "--weights", "imagenet"}, server.url());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("resnet18-f37072fd.pth"));
}

TEST_F(NamedWeights, OfFacesAreTheEmbeddersAndTheDetectors) {
  const test::LoopbackServer server([](const Request&) { return Reply{test::http_reply(404, "", "")}; });
  const auto faces = [&](const Words& words) {
    return test::run_in_process(joined({"faces", folder_.path().string()}, words),
                                {.environment = {{"EVENER_FETCH_FROM", server.url()},
                                                 {"no_proxy", "127.0.0.1"},
                                                 {"NO_PROXY", "127.0.0.1"},
                                                 {"XDG_CACHE_HOME", folder_.path().string()}}});
  };
  const ProgramResult embedder = faces({"--weights", "facenet"});
  EXPECT_EQ(embedder.exit_code, 1);
  EXPECT_THAT(embedder.err, HasSubstr((folder_ / "evener/weights/facenet/20180402-114759-vggface2.pt").string()));
  const ProgramResult detector = faces({"--detector-weights", "mtcnn"});
  EXPECT_EQ(detector.exit_code, 1);
  EXPECT_THAT(detector.err,
              AllOf(HasSubstr((folder_ / "evener/weights/mtcnn/pnet.pt").string()),
                    HasSubstr((folder_ / "evener/weights/mtcnn/onet.pt").string()), HasSubstr("licence: MIT")));
  const ProgramResult other = faces({"--weights", "facenet", "--embedder", "mobilefacenet"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("are those of inception_resnet_v1"));
}

TEST_F(NamedWeights, OfANetworkWithoutAnyAreRefused) {
  if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  const ProgramResult result = train({"resnet20", "--data", "synth:digits:20", "--weights", "imagenet"}, "");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no weights of resnet20 for 'imagenet'"), HasSubstr("mobilenet_v2")));
  EXPECT_THAT(train({"resnet18", "--data", "synth:digits:20", "--weights", "none.pth"}, "").err,
              HasSubstr("does not exist"));
}

}  // namespace
}  // namespace evener
