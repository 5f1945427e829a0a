// What evener infer makes of lists, of parts of data, and of photos that lie in the sorted folder already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "infer/inference.h"
#include "infer/options.h"
#include "infer/session/images.h"
#include "infer/session/session.h"
#include "infer/sinks.h"
#include "record/detection.h"
#include "record/record_kind.h"
#include "weights/weights_file.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
namespace fs = std::filesystem;

TEST(ImageLists, HaveANameOnEachLineWhateverEndsIt) {
  const test::TestFolder folder;
  test::write_text(folder / "list.txt", "a.jpg\r\n\r\nb c.jpg\n\nd.jpg");
  EXPECT_THAT(with_lists({"x.png", (folder / "list.txt").string(), "y.png"}),
              ElementsAre("x.png", "a.jpg", "b c.jpg", "d.jpg", "y.png"));
}

TEST(ImageLists, OnStdinAndInFilesMayHaveZeroBytesBetweenNames) {
  const test::TestFolder folder;
  const std::string names("\xEF\xBB\xBF./a b.jpg\0./ c\nd.jpg\0", 24);
  test::write_text(folder / "list.txt", names);
  std::istringstream stdin_text(names);
  std::streambuf* const before = std::cin.rdbuf(stdin_text.rdbuf());
  EXPECT_THAT(with_lists({"-", (folder / "list.txt").string()}),
              ElementsAre("./a b.jpg", "./ c\nd.jpg", "./a b.jpg", "./ c\nd.jpg"));
  std::istringstream wide(std::string("\xFF\xFE\0\0a\0\0\0", 8));
  std::cin.rdbuf(wide.rdbuf());
  EXPECT_THAT(test::thrown_by([] { with_lists({"-"}); }), AllOf(HasSubstr("stdin"), HasSubstr("UTF-32")));
  std::cin.rdbuf(before);
  std::cin.clear();
}

TEST(PartsOfData, AreTheirOwnSamplesAndAllTogetherInTheirOrder) {
  const data::Split split{{2, 5}, {0}, {1, 4}};
  EXPECT_THAT(indices_of(split, "train"), ElementsAre(2, 5));
  EXPECT_THAT(indices_of(split, "validation"), ElementsAre(0));
  EXPECT_THAT(indices_of(split, "test"), ElementsAre(1, 4));
  EXPECT_THAT(indices_of(split, "all"), ElementsAre(0, 1, 2, 4, 5));
}

TEST(SortedPhotos, OnlyAnEqualFileIsThereAlready) {
  const test::TestFolder folder;
  std::filesystem::create_directories(folder / "photos");
  std::filesystem::create_directories(folder / "more");
  test::write_text(folder / "photos" / "a.jpg", "one");
  test::write_text(folder / "more" / "a.jpg", "two");
  for (const SortBy by : {SortBy::kLink, SortBy::kCopy}) {
    const std::filesystem::path out = folder / (by == SortBy::kLink ? "links" : "copies");
    PhotoSorter first(out, by, {});
    first.add(folder / "photos" / "a.jpg", "cat");
    PhotoSorter second(out, by, {});
    second.add(folder / "photos" / "a.jpg", "dog");
    second.add(folder / "more" / "a.jpg", "dog");
    EXPECT_EQ(second.there(), 1U) << "it stays where it is";
    EXPECT_THAT(second.added(), ElementsAre(Pair("dog", 1)));
  }
}

TEST(Accuracies, AmongFiveClassesAreNoFigureWhereThereAreNoMore) {
  for (const std::int64_t classes : {4, 5, 6}) {
    record::Record record;
    Scores scores;
    scores.images = 8;
    scores.correct = 3;
    scores.correct_in_five = 7;
    scores.classes = classes;
    add_accuracies(record, scores);
    EXPECT_EQ(record.metrics.at("accuracy").value, 0.375);
    const record::Metric* five = &record.metrics.at("top5_accuracy");
    if (classes > 5) {
      EXPECT_EQ(five->value, 0.875);
      EXPECT_TRUE(five->interval);
      EXPECT_EQ(five->reason, "");
    } else {
      EXPECT_FALSE(five->value);
      EXPECT_FALSE(five->interval);
      EXPECT_EQ(five->reason,
                "there are " + std::to_string(classes) + " classes, so that the true one is always among five");
    }
  }
}

// Speeds of inference as records tell them.

TEST(InferSpeeds, EachBlockOfAnswersHasItsOwnTime) {
  record::Record record;
  record.kind = "infer";
  InferResult result;
  result.answered = 80;
  result.seconds = 8;
  std::vector<double> times_s;  // ten images a second
  for (int i = 1; i <= 80; ++i) times_s.push_back(i * 0.1);
  fill_inference_speeds(record, result, times_s, {});
  ASSERT_EQ(record.images_per_s.samples.size(), 20U);
  for (const double rate : record.images_per_s.samples) EXPECT_NEAR(rate, 10, 1e-6);
}

// What evener infer tells, counts and sorts of answers, which are made up here, and what its record says of them.

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Grey images of 2x2 pixels, some with a label.
class Greys : public data::Samples {
 public:
  explicit Greys(std::vector<std::optional<std::int32_t>> labels) : labels_(std::move(labels)) {}
  std::size_t size() const override { return labels_.size(); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return folder + "i" + std::to_string(index) + ".png"; }
  std::optional<std::int32_t> label(std::size_t index) const override { return labels_[index]; }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    for (auto& value : values) value = static_cast<std::uint8_t>(index);
  }
  std::string folder;

 private:
  std::vector<std::int64_t> shape_ = {1, 2, 2};
  std::vector<std::optional<std::int32_t>> labels_;
};

class Lines : public measure::Observer {
 public:
  void tell(const std::string& lines) override { text += lines; }
  void note(const std::string& note) override { notes.push_back(note); }
  std::string text;
  std::vector<std::string> notes;
};

/// A network of six classes, a to f, whose answers the tests make up: as probabilities, of which it gives the logits.
class PredictedClasses : public testing::Test {
 protected:
  PredictedClasses() : model_(request()) {}

  InferenceRequest request() const {
    test::write_text(folder_ / "labels.txt", names_);
    InferenceRequest request;
    request.model.model = "mlp:4-6";
    request.labels = folder_ / "labels.txt";
    return request;
  }
  /// Probabilities: `best` has `score`, `second` the rest but for 0.004 in all, which the others share.
  static std::vector<float> probabilities(std::size_t best, float score, std::size_t second) {
    std::vector<float> all(6, 0.001F);
    all[best] = score;
    all[second] = 1 - score - 0.004F;
    return all;
  }
  /// A writer that got these answers, of samples 0, 1, ...
  InferSinks& answer(const std::vector<std::vector<float>>& outputs, bool is_labelled, const fs::path& out = {},
                     const std::vector<std::string>& photos = {"photos"}) {
    writer_.emplace(flags_, model_, *samples_, is_labelled, out, photos, OutputShapes{}, lines_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Prediction one;
      one.index = i;
      std::vector<float> logits = outputs[i];
      if (*flags_.output_type != "logit")
        std::ranges::transform(logits, logits.begin(), [](float p) { return std::log(p); });
      one.outputs[model_.main_output()] = logits;
      if (!flags_.features->empty()) one.outputs["features"] = outputs[i];
      writer_->on_prediction(one);
    }
    writer_->finish();
    return *writer_;
  }
  void samples(std::vector<std::optional<std::int32_t>> labels) { samples_.emplace(std::move(labels)); }

  static constexpr const char* names_ = "a\nb\nc\nd\ne\nf\n";
  test::TestFolder folder_;
  InferenceModel model_;
  PredictionFlags flags_;
  std::optional<Greys> samples_;
  Lines lines_;
  std::optional<InferSinks> writer_;
};

TEST_F(PredictedClasses, TablesTellWhatIsWorthTelling) {
  samples({{}, {}});
  answer({probabilities(1, 0.9F, 4), probabilities(2, 0.992F, 0)}, false);
  EXPECT_EQ(lines_.text, "i0.png  b 90.0 %, e 9.6 %\ni1.png  c 99.2 %\n");
}

TEST_F(PredictedClasses, OnlySoManyAndSoLikelyClassesAreTold) {
  samples({{}, {}, {}});
  flags_.topk.read({"2"});
  flags_.confidence.read({"0.25"});
  flags_.format.read({"csv"});
  answer({{0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.03125F},
          probabilities(3, 0.8F, 5),
          {0.04F, 0.02F, 0.32F, 0.31F, 0.3F, 0.01F}},
         false);
  EXPECT_EQ(lines_.text,
            "file,rank,class_index,class_name,probability\ni0.png,1,0,a,0.5\ni0.png,2,1,b,0.25\ni1.png,1,3,d,0.8\n"
            "i2.png,1,2,c,0.32\ni2.png,2,3,d,0.31\n")
      << "one that is as likely as asked for is told";
}

TEST_F(PredictedClasses, LinesOfJsonHaveNamesAndNumbers) {
  samples({{}});
  flags_.topk.read({"1"});
  flags_.format.read({"jsonl"});
  answer({{0.125F, 0.25F, 0.5F, 0.0625F, 0.03125F, 0.03125F}}, false);
  EXPECT_EQ(lines_.text, "{\"file\":\"i0.png\",\"predictions\":[{\"class\":\"c\",\"index\":2,\"probability\":0.5}]}\n");
}

TEST_F(PredictedClasses, LogitsAreToldAsTheyAreWhateverTheThreshold) {
  samples({{}});
  flags_.output_type.read({"logit"});
  flags_.confidence.read({"0.9"});
  flags_.topk.read({"3"});
  answer({{-3, 7.5F, -2, 0.25F, -9, -8}}, false);
  EXPECT_EQ(lines_.text, "i0.png  b 7.5, d 0.25, c -2\n");
}

TEST_F(PredictedClasses, OfLabelledAndRandomImagesNothingIsToldUnlessAsked) {
  samples({{1}});
  const auto told = [&](bool is_labelled, const char* photos) {
    lines_.text.clear();
    answer({probabilities(1, 0.9F, 4)}, is_labelled, {}, {photos});
    return !lines_.text.empty();
  };
  EXPECT_TRUE(told(false, "photos"));
  EXPECT_FALSE(told(true, "photos"));
  EXPECT_FALSE(told(false, "random:5"));
  flags_.json.read({"-"});
  EXPECT_FALSE(told(false, "photos")) << "the record is";
  flags_.json.read({"record.json"});
  flags_.topk.read({"2"});
  EXPECT_TRUE(told(true, "photos"));
  flags_.format.read({"none"});
  EXPECT_FALSE(told(false, "photos"));
}

TEST_F(PredictedClasses, ATopkBeyondTheClassesIsNotedOnce) {
  samples({{}, {}});
  flags_.topk.read({"7"});
  answer({probabilities(1, 0.9F, 4), probabilities(1, 0.9F, 4)}, false);
  EXPECT_THAT(lines_.notes, ElementsAre(HasSubstr("there are 6 classes; --topk 7")));
  lines_.notes.clear();
  samples({{}});
  answer({probabilities(1, 0.9F, 4)}, false);
  EXPECT_EQ(lines_.notes.size(), 1u) << "with the first";
  lines_.notes.clear();
  flags_.topk.read({"6"});
  answer({probabilities(1, 0.9F, 4)}, false);
  EXPECT_THAT(lines_.notes, IsEmpty());
}

/// The fifth class is the fifth likeliest, the sixth the last.
const std::vector<float> kFalling = {0.3F, 0.25F, 0.2F, 0.15F, 0.06F, 0.04F};

TEST_F(PredictedClasses, LabelledAnswersAreCounted) {
  samples({{1}, {1}, {4}, {5}, {1}, {}});
  const auto out = folder_ / "out";
  fs::create_directories(out);
  const InferSinks& writer = answer({probabilities(1, 0.9F, 4), probabilities(2, 0.6F, 1), kFalling, kFalling,
                                     probabilities(3, 0.8F, 1), probabilities(0, 0.9F, 1)},
                                    true, out);
  const Scores& scores = writer.scores();
  EXPECT_EQ(scores.images, 5) << "one has no label";
  EXPECT_EQ(scores.correct, 1);
  EXPECT_EQ(scores.correct_in_five, 4);
  EXPECT_EQ(scores.confusion[1][2], 1);
  EXPECT_EQ(scores.confusion[2][1], 0);
  EXPECT_EQ(scores.confusion[1][1], 1);
  EXPECT_EQ(scores.confusion[4][0], 1);
  EXPECT_EQ(scores.confusion[1][3], 1);
  EXPECT_EQ(writer.times_s().size(), 6u);
  EXPECT_EQ(content_of(out / "mistakes.csv"),
            "file,true_class,found_class,score\ni4.png,b,d,0.8\ni1.png,b,c,0.6\ni2.png,e,a,0.3\ni3.png,f,a,0.3\n")
      << "the surest first";
  EXPECT_THAT(content_of(out / "predictions.csv"), HasSubstr("\ni5.png,1,0,a,0.9\n"));
  const auto shown = record::read_predicted_images(out / record::kPredictedImages);
  EXPECT_EQ(std::ranges::count(shown, true, &record::PredictedImage::is_sure_mistake), 4);
  EXPECT_EQ(std::ranges::count(shown, true, &record::PredictedImage::is_sure_right), 1);
  EXPECT_EQ(shown.size(), 6u + 4 + 1) << "and one in so many, here each";

  record::Record record;
  record.kind = "infer";
  record.data.skipped = 2;
  InferResult result;
  result.answered = 6;
  result.seconds = 1.5;
  result.skipped.resize(3);
  fill_inference_results(record, "validation", result, writer, {100, 300, 120});
  EXPECT_EQ(record.data.skipped, 5);
  EXPECT_DOUBLE_EQ(record.metrics.at("accuracy").value.value(), 0.2);
  EXPECT_DOUBLE_EQ(record.metrics.at("top5_accuracy").value.value(), 0.8);
  EXPECT_EQ(record.metrics.at("accuracy").of_images, 5);
  EXPECT_DOUBLE_EQ(record.metrics.at("answering_s").value.value(), 1.5);
  EXPECT_DOUBLE_EQ(record.metrics.at(record::kOverallSpeed).value.value(), 4);
  EXPECT_DOUBLE_EQ(record.metrics.at("network_images_per_s").value.value(), 120);
  EXPECT_EQ(record.confusion.part, "validation");
  EXPECT_EQ(record.confusion.counts, scores.confusion);
}

TEST_F(PredictedClasses, FourRightAnswersOfEachClassAreKeptTheSurest) {
  samples({{1}, {1}, {1}, {1}, {1}, {1}, {2}});
  const auto out = folder_ / "out";
  fs::create_directories(out);
  std::vector<std::vector<float>> outputs;
  for (const float score : {0.7F, 0.9F, 0.6F, 0.8F, 0.65F, 0.55F}) outputs.push_back(probabilities(1, score, 3));
  outputs.push_back(probabilities(2, 0.51F, 3));
  const InferSinks& writer = answer(outputs, true, out);
  std::vector<std::string> files;
  for (const Mistake& one : writer.scores().sure) files.push_back(one.file);
  EXPECT_THAT(files, ElementsAre("i1.png", "i3.png", "i0.png", "i4.png", "i6.png"));
  EXPECT_THAT(writer.scores().mistakes, IsEmpty());
}

TEST_F(PredictedClasses, PhotosGoIntoTheFoldersOfTheirClassesAndUnsureOnesApart) {
  samples({{}, {}, {}});
  samples_->folder = (folder_ / "photos").string() + "/";
  for (int i = 0; i < 3; ++i) test::write_text(samples_->name(static_cast<std::size_t>(i)), std::to_string(i));
  flags_.sort.read({(folder_ / "sorted").string()});
  flags_.confidence.read({"0.5"});
  const std::vector<float> at_the_bound = {0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.03125F};
  const InferSinks& writer = answer({at_the_bound, {0.1F, 0.1F, 0.49F, 0.31F, 0, 0}, probabilities(3, 0.9F, 1)}, false,
                                    {}, {samples_->folder});
  EXPECT_THAT(writer.sorter()->added(), ElementsAre(Pair("a", 1), Pair("d", 1), Pair("unsure", 1)));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/unsure/i1.png"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/a/i0.png"));
}

TEST_F(PredictedClasses, OneInSoManyImagesIsShownUpTo24) {
  const auto shown = [&](std::size_t images) {
    samples(std::vector<std::optional<std::int32_t>>(images));
    const auto out = folder_ / std::to_string(images);
    fs::create_directories(out);
    answer(std::vector<std::vector<float>>(images, probabilities(1, 0.9F, 4)), false, out);
    return record::read_predicted_images(out / record::kPredictedImages);
  };
  EXPECT_EQ(shown(24).size(), 24u);
  const auto of_fifty = shown(50);
  ASSERT_EQ(of_fifty.size(), 17u) << "every third";
  EXPECT_EQ(of_fifty[16].file, "i48.png");
  EXPECT_EQ(of_fifty[16].found, "b");
}

TEST_F(PredictedClasses, ClassesOfSimilarNamesHaveFoldersOfTheirOwn) {
  InferenceRequest similar = request();
  test::write_text(folder_ / "similar.txt", "a/b\na_b\nc\nd\ne\nf\n");
  similar.labels = folder_ / "similar.txt";
  const InferenceModel model(similar);
  samples({{}, {}});
  samples_->folder = (folder_ / "photos").string() + "/";
  for (std::size_t i = 0; i < 2; ++i) test::write_text(samples_->name(i), std::to_string(i));
  flags_.sort.read({(folder_ / "sorted").string()});
  InferSinks writer(flags_, model, *samples_, false, {}, {samples_->folder}, OutputShapes{}, lines_);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<float> output(6);
    output[i] = 5;
    Prediction one;
    one.index = i;
    one.outputs[model.main_output()] = output;
    writer.on_prediction(one);
  }
  writer.finish();
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/a_b-2/i0.png"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/a_b/i1.png"));
}

TEST_F(PredictedClasses, FeaturesOfEachImageStandInItsRow) {
  samples({{}, {}});
  flags_.features.read({(folder_ / "features.safetensors").string()});
  answer({probabilities(1, 0.9F, 4), probabilities(2, 0.8F, 4)}, false);
  const auto file = weights::read_weights(folder_ / "features.safetensors");
  const HostTensor& features = file.tensors.at("features");
  EXPECT_EQ(features.shape, (std::vector<std::int64_t>{2, 6}));
  EXPECT_EQ(features.floats()[1], 0.9F);
  EXPECT_EQ(features.floats()[8], 0.8F);
  EXPECT_EQ(file.metadata.at("files"), "[\"i0.png\",\"i1.png\"]");
}

TEST(InferRecord, SpeedsOfNothingHaveAReason) {
  record::Record record;
  record.kind = "infer";
  fill_inference_speeds(record, {}, {}, {});
  EXPECT_FALSE(record.images_per_s.median);
  EXPECT_EQ(record.images_per_s.reason, "no image was answered");
  EXPECT_FALSE(record.metrics.at(record::kOverallSpeed).value);
  EXPECT_EQ(record.metrics.at(record::kOverallSpeed).reason, "no image was answered");
  EXPECT_EQ(record.metrics.at("network_images_per_s").reason, "it was not measured");
}

TEST(InferRecord, StagesAreBusyEachForItself) {
  record::Record record;
  record.kind = "infer";
  record.placement.replicas.resize(2);
  for (auto& replica : record.placement.replicas) replica.stages.resize(2);
  fill_stage_uses(record, {{{.busy_share = 0.9, .call_s = 0.01}, {.busy_share = 0.5, .call_s = 0.02}},
                           {{.busy_share = 0.8, .call_s = 0.03}, {.busy_share = 0.2, .call_s = 0.04}}});
  EXPECT_DOUBLE_EQ(record.metrics.at("pipeline_bubble").value.value(), 1 - 2.4 / 4);
  EXPECT_EQ(record.placement.replicas[0].stages[1].busy_share, 0.5);
  EXPECT_EQ(record.placement.replicas[1].stages[0].busy_share, 0.8);
  EXPECT_THAT(
      record.notes,
      ElementsAre(AllOf(HasSubstr("of the first replica were busy 90.0 % (" + duration_text(0.01) + " a call), 50.0 %"),
                        Not(HasSubstr("80.0 %")))));
  record::Record plain;
  fill_stage_uses(plain, {});
  EXPECT_THAT(plain.metrics, IsEmpty());
}

data::OpenedData opened_with(data::Split split, bool came_divided) {
  data::OpenedData opened;
  opened.split = std::move(split);
  opened.came_divided = came_divided;
  return opened;
}

data::Split split_of(std::vector<std::uint32_t> train, std::vector<std::uint32_t> val,
                     std::vector<std::uint32_t> test) {
  data::Split split;
  split.train = std::move(train);
  split.val = std::move(val);
  split.test = std::move(test);
  return split;
}

TEST(ShownPartTest, IsWhatWasAskedForOrHeldOut) {
  const RunConfig none{fs::path()};
  const auto shown = [&](const data::OpenedData& opened, const std::string& part, const std::string& split = "") {
    try {
      const LabelledDataRequest request{.location = "photos", .weights = {}, .part = part, .split = split, .seed = {}};
      const ShownPart found = shown_part(opened, request, none);
      return found.name + " " + std::to_string(found.indices.size()) + "/" + std::to_string(found.images) + " " +
             part_note(found, request);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  const auto whole = opened_with(split_of({0, 1, 2, 3}, {4, 5}, {6, 7, 8}), true);
  const auto untested = opened_with(split_of({0, 1, 2, 3}, {4, 5}, {}), true);
  const auto trained = opened_with(split_of({0, 1, 2, 3}, {}, {}), true);
  const auto made = opened_with(split_of({0, 1, 2, 3}, {4, 5}, {6, 7, 8}), false);
  EXPECT_EQ(shown(whole, ""),
            "test 3/9 shown is the test part of 'photos', 3 of its 9 images; --part all shows all of them");
  EXPECT_THAT(shown(untested, ""), testing::StartsWith("validation 2/6 "));
  EXPECT_EQ(shown(trained, ""), "all 4/4 ");
  EXPECT_EQ(shown(made, ""), "all 9/9 ");
  EXPECT_THAT(shown(made, "", "50/25/25"), testing::StartsWith("test 3/9 "));
  EXPECT_EQ(shown(whole, "train"), "train 4/9 shown is the train part of 'photos', 4 of its 9 images");
  EXPECT_THAT(shown(made, "held-out"), testing::StartsWith("test 3/9 "));
  EXPECT_THAT(shown(untested, "held-out"), testing::StartsWith("validation 2/6 "));
  EXPECT_THAT(shown(trained, "held-out"), HasSubstr("no images in a test part, nor in one to validate on"));
  EXPECT_THAT(shown(trained, "test"), HasSubstr("'photos' has no images in its test part"));
  EXPECT_THAT(shown(whole, "new"), HasSubstr("no image of 'photos' is known to be new"));
  auto grown = opened_with(split_of({0}, {1}, {2}), true);
  grown.split.added = {5, 3};
  grown.split.changed = {4};
  EXPECT_EQ(shown(grown, "new"), "new 2/6 shown are the new images of 'photos', 2 of its 6 images");
  EXPECT_THAT(indices_of(grown.split, "all"), ElementsAre(0, 1, 2, 3, 4, 5));
}

using Words = std::vector<std::pair<std::string, std::string>>;  // option, value

/// The options as a command line gives them, checked.
void give_scenario(ScenarioFlags& flags, const Words& words) {
  for (const auto& [name, value] : words) {
    const auto& options = flags.options();
    const auto option = std::ranges::find(options, name, &OptionBase::name);
    ASSERT_NE(option, options.end()) << name;
    (*option)->read({value});
  }
  flags.check();
}

std::string scenario_refusal(const Words& words) {
  ScenarioFlags flags;
  try {
    give_scenario(flags, words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ScenarioFlags, DefaultsAreThoseOfTheScenario) {
  ScenarioFlags none;
  give_scenario(none, {});
  EXPECT_FALSE(none.wanted());

  ScenarioFlags single;
  give_scenario(single, {{"--scenario", "single-stream"}});
  const ScenarioOptions quick = single.scenario_options(200);
  EXPECT_EQ(quick.scenario, Scenario::kSingleStream);
  EXPECT_EQ(quick.samples, 200);
  EXPECT_EQ(quick.percentile, 0.9);
  EXPECT_EQ(quick.min_duration_s, 5);
  EXPECT_EQ(quick.max_duration_s, 60);

  ScenarioFlags offline;
  give_scenario(offline, {{"--scenario", "offline"}, {"--full", "true"}});
  const ScenarioOptions full = offline.scenario_options(50'000);
  EXPECT_EQ(full.min_duration_s, 600);
  EXPECT_EQ(full.min_queries, 24'576);
  EXPECT_FALSE(full.max_duration_s);
}

TEST(ScenarioFlags, EachReachesItsOption) {
  ScenarioFlags server;
  give_scenario(server, {{"--scenario", "server"},
                         {"--latency-limit", "15"},
                         {"--target-rate", "40.5"},
                         {"--percentile", "97%"},
                         {"--min-duration", "90"},
                         {"--scenario-seeds", "5,6,7,18446744073709551615"}});
  const ScenarioOptions options = server.scenario_options(10);
  EXPECT_EQ(options.latency_limit_s, 0.015);
  EXPECT_EQ(options.target_rate, 40.5);
  EXPECT_EQ(options.percentile, 0.97);
  EXPECT_EQ(options.min_duration_s, 90);
  EXPECT_FALSE(options.max_duration_s) << "shorter than the least duration";
  EXPECT_EQ(options.seeds.sample_set, 5u);
  EXPECT_EQ(options.seeds.sample_index, 6u);
  EXPECT_EQ(options.seeds.schedule, 7u);
  EXPECT_EQ(options.seeds.accuracy_log, 18446744073709551615u);

  ScenarioFlags multi;
  give_scenario(multi, {{"--scenario", "multi-stream"}, {"--samples-per-query", "4"}});
  EXPECT_EQ(multi.scenario_options(10).samples_per_query, 4);
  EXPECT_EQ(multi.scenario_options(10).percentile, 0.99);
}

TEST(ScenarioFlags, WhatHasNoEffectIsRefused) {
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--quick", "true"}}), IsEmpty());
  EXPECT_THAT(scenario_refusal({{"--quick", "true"}}), HasSubstr("--quick has no effect without --scenario"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "sever"}}), HasSubstr("did you mean 'server'"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--quick", "true"}, {"--full", "true"}}),
              HasSubstr("exclude"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "offline"}, {"--target-rate", "4"}}), HasSubstr("it is for server"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "offline"}, {"--percentile", "90%"}}), HasSubstr("single-stream"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--samples-per-query", "4"}}), HasSubstr("multi-stream"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--latency-limit", "0"}}), HasSubstr("more than 0"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--percentile", "100%"}}), HasSubstr("99.99%"));
  for (const char* seeds : {"1,2,3", "1,2,3,4,5", "1,2,x,4", "1,2,3,", "-1,2,3,4"}) {
    EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--scenario-seeds", seeds}}),
                HasSubstr("four whole numbers"));
  }
}

}  // namespace

}  // namespace evener::inference
