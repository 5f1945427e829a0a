// Training a detector, as a user runs it: it learns, and goes with what other trainings go with.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "network/init.h"
#include "network/zoo.h"
#include "support/train_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

using nlohmann::json;
using test::joined;
using test::record_in;
using test::run_program;
using testing::HasSubstr;
using Words = test::Words;

class DetectorTraining : public test::TrainCommand {
 protected:
  /// A training of two steps in each of two epochs.
  Words small_detector(const Words& more = {}) const {
    return joined({"train", "ssdlite_mobilenet_v2", "--data", "synth:shapes:12", "--size", "64x64", "--split",
                   "70/30/0", "--batch", "4", "--epochs", "2", "--on", "cpu/t1", "--out", out().string()},
                  more);
  }
};

// Images that it has not seen need more; docs/detection.md tells how much.
TEST_F(DetectorTraining, LearnsAFewImages) {
  const auto trained =
      run_program({"train", "ssdlite_mobilenet_v2", "--data", "synth:shapes:6", "--size", "96x96", "--split", "100/0/0",
                   "--batch", "3", "--epochs", "30", "--on", "cpu/t1", "--out", out().string()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const json epochs = record_in(out()).at("epochs");
  EXPECT_LT(epochs.back().at("train_loss"), 0.3 * epochs.front().at("train_loss").get<double>());
  if (!test::module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
  const auto found = run_program(
      {"detect", out().string(), "--data", "synth:shapes:6", "--part", "train", "--out", (folder_ / "found").string()});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_GT(record_in(folder_ / "found").at("metrics").at("map_50"), 0.6);
}

TEST_F(DetectorTraining, HasDefaultsOfItsOwn) {
  ASSERT_EQ(run_program({"train", "ssdlite_mobilenet_v2", "--data", "synth:shapes:4", "--size", "32x32", "--split",
                         "100/0/0", "--epochs", "1", "--out", out().string()})
                .exit_code,
            0);
  const json config = record_in(out()).at("config");
  EXPECT_EQ(config.at("optimizer"), "adamw");
  EXPECT_EQ(config.at("lr"), 0.002);
  EXPECT_EQ(config.at("schedule"), "cosine");
  EXPECT_EQ(config.at("batch"), 16);
  EXPECT_EQ(config.at("clip-norm"), 10);
  ASSERT_EQ(run_program(small_detector({"--overwrite", "--optimizer", "sgd", "--clip-norm", "0"})).exit_code, 0);
  const json asked = record_in(out()).at("config");
  EXPECT_EQ(asked.at("momentum"), 0.9);
  EXPECT_EQ(asked.at("lr"), 0.05);
  EXPECT_EQ(asked.at("clip-norm"), 0);
}

TEST_F(DetectorTraining, GoesOnAndDividesItsBatches) {
  ASSERT_EQ(run_program(small_detector({"--on", "2xcpu/t1"})).exit_code, 0);
  ASSERT_EQ(run_program({"train", "--resume", out().string(), "--epochs", "3"}).exit_code, 0);
  EXPECT_THAT(record_in(out()).at("warnings"), testing::Contains(HasSubstr("too little, was learnt")));
  const json epochs = record_in(out()).at("epochs");
  ASSERT_EQ(epochs.size(), 3U);
  EXPECT_TRUE(epochs.back().at("figures").contains("val_map_50"));
  EXPECT_EQ(run_program(small_detector({"--overwrite", "--accumulate", "2"})).exit_code, 0);
}

// Without a weight in its heads a detector has only biases: the same boxes for every image.
TEST_F(DetectorTraining, ADetectorThatDoesNotLookIsTold) {
  const auto file = (folder_ / "w.safetensors").string();
  const auto detector = network::build("ssdlite_mobilenet_v2", {.input = network::Shape{3, 64, 64}, .classes = 3});
  TensorMap state = network::initial_state(detector, 1);
  for (auto& [name, tensor] : state) {
    const auto values = static_cast<std::size_t>(element_count(tensor.shape));
    if (name.starts_with("head.") && tensor.shape.size() > 1)
      tensor = HostTensor::of_floats(tensor.shape, std::vector<float>(values));
  }
  weights::write_safetensors(file, state);
  const auto judged = run_program(small_detector({"--weights", file, "--epochs", "0", "--json", "-"}));
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_THAT(json::parse(judged.out).at("warnings").dump(), HasSubstr("finds the same box in blank images"));
}

// A set as people have them: one class, an image full of boxes, others without one, boxes that are wrong.
TEST_F(DetectorTraining, LearnsFromASetWithOddBoxes) {
  const auto write = [&](const std::string& name, const std::string& boxes) {
    const std::filesystem::path set = folder_ / "set";
    std::filesystem::create_directories(set);
    std::ofstream(set / (name + ".pgm")) << "P2\n80 60\n255\n"
                                         << [] {
                                              std::string grey;
                                              for (int i = 0; i < 4800; ++i) grey += std::to_string(i % 251) + " ";
                                              return grey;
                                            }();
    std::ofstream(set / (name + ".xml")) << "<annotation>" << boxes << "</annotation>";
  };
  const auto box = [](int x1, int y1, int x2, int y2) {
    return "<object><name>cell</name><bndbox><xmin>" + std::to_string(x1) + "</xmin><ymin>" + std::to_string(y1) +
           "</ymin><xmax>" + std::to_string(x2) + "</xmax><ymax>" + std::to_string(y2) + "</ymax></bndbox></object>";
  };
  std::string thousand;
  for (int i = 0; i < 1000; ++i) thousand += box(1 + i % 70, 1 + i / 20, 8 + i % 70, 9 + i / 20);
  write("a", thousand);
  write("b", "");
  write("c", box(-50, -40, 400, 300));  // larger than the image
  write("d", box(0, 0, 30, 30));        // counted from 0
  write("e", box(40, 40, 20, 50) + box(5, 5, 5, 50));
  write("f", box(10, 10, 11, 11));
  const auto train = [&](const Words& more) {
    return run_program(
        joined({"train", "ssdlite_mobilenet_v2", "--data", (folder_ / "set").string(), "--size", "64x64", "--batch",
                "2", "--epochs", "2", "--on", "cpu/t1", "--overwrite", "--out", out().string()},
               more));
  };
  const auto trained = train({"--split", "100/0/0", "--augment", "flip,iou-crop,mosaic,colour:0.3"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("swapped corners"));
  const json record = record_in(out());
  for (const json& epoch : record.at("epochs")) EXPECT_TRUE(epoch.at("train_loss").is_number()) << epoch;
  // Nothing to learn on the images to train on.
  for (const char* name : {"a", "c", "d", "f"}) {
    for (const char* kind : {".pgm", ".xml"}) {
      std::filesystem::create_directories(folder_ / "set" / "val");
      std::filesystem::rename(folder_ / "set" / (std::string(name) + kind),
                              folder_ / "set" / "val" / (std::string(name) + kind));
    }
  }
  std::filesystem::create_directories(folder_ / "set" / "train");
  for (const char* file : {"b.pgm", "b.xml", "e.pgm", "e.xml"}) {
    std::filesystem::rename(folder_ / "set" / file, folder_ / "set" / "train" / file);
  }
  const auto without = train({});
  EXPECT_EQ(without.exit_code, 1) << without.err;
  EXPECT_THAT(without.err, HasSubstr("none of the 2 images to train on"));
}

TEST_F(DetectorTraining, BeginsWithAClassifiersBackboneOrAnotherDetector) {
  const network::Shape input{3, 64, 64};
  const auto file = (folder_ / "w.safetensors").string();
  const auto classifier = network::build("mobilenet_v2", {.input = input, .classes = 5});
  weights::write_safetensors(file, network::initial_state(classifier, 1));
  const auto begun = run_program(small_detector({"--weights", file}));
  EXPECT_EQ(begun.exit_code, 0);
  EXPECT_THAT(begun.err, HasSubstr("tensors are those of the classifier mobilenet_v2"));
  const json config = record_in(out()).at("config");
  EXPECT_EQ(config.at("augment"), "flip,iou-crop");
  EXPECT_EQ(config.at("size"), "64x64") << "as it was given";
  ASSERT_EQ(run_program(small_detector({"--overwrite", "--weights", file, "--lr", "0.003"})).exit_code, 0);
  EXPECT_EQ(record_in(out()).at("config").at("augment"), "") << "whoever chose the rate has the rest in mind";
  const auto quantized = run_program(small_detector({"--overwrite", "--weights", file, "--quantize", "int8"}));
  EXPECT_EQ(quantized.exit_code, 0) << quantized.err;
  EXPECT_THAT(quantized.err, HasSubstr("tensors are those of the classifier mobilenet_v2"));
  const auto judged = run_program(small_detector({"--overwrite", "--weights", file, "--epochs", "0"}));
  EXPECT_EQ(judged.exit_code, 2);
  EXPECT_THAT(judged.err, HasSubstr("there is nothing to evaluate"));

  const auto detector = network::build("ssdlite_mobilenet_v2", {.input = input, .classes = 7});
  weights::write_safetensors(file, network::initial_state(detector, 1));
  const auto other = run_program(small_detector({"--overwrite", "--weights", file, "--epochs", "1"}));
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("the file has 7 classes, the data 3 classes: new first values for "
                                   "head.classification_head.module_list.0.1.weight and 13 tensors more"));
  EXPECT_EQ(
      run_program({"detect", "ssdlite_mobilenet_v2", "--weights", file, "--data", "synth:shapes:2", "--size", "64x64"})
          .exit_code,
      2)
      << "of 7 classes";
}

}  // namespace
}  // namespace evener
