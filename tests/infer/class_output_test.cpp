// Which output tells classes: by kinds of values, columns, several rows, and how many names there are; how these names
// are read, and how a network's own scaling of its input joins the normalisation of images.
#include "infer/model/class_output.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "detect/detector.h"
#include "infer/model/metadata.h"
#include "infer/model/normalization.h"
#include "infer/run/infer.h"
#include "quantize/figures.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Outputs = std::vector<NetworkOutput>;

ClassOutput chosen(const Outputs& outputs, std::size_t labels = 0, const std::string& wanted = "") {
  return choose_class_output(outputs, labels, wanted);
}

TEST(ClassOutput, IsARowOfValuesInWhateverShape) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{3}, {3, 1, 1}, {1, 1, 3}, {1, 3}}) {
    const ClassOutput one = chosen({{.name = "scores", .shape = shape}});
    EXPECT_EQ(one.refusal + one.note, "");
    EXPECT_EQ(one.classes, 3);
  }
  const ClassOutput two = chosen({{.name = "a", .shape = {2}}}, 2);
  EXPECT_EQ(two.classes, 2);
  EXPECT_EQ(two.refusal, "");
  EXPECT_FALSE(two.from_one_value);
  EXPECT_EQ(chosen({{.name = "scores", .shape = {-1}}}).classes, -1);
  EXPECT_EQ(chosen({{.name = "scores", .shape = {}, .rank_is_known = false}}).refusal, "");
  EXPECT_EQ(chosen({{.name = "scores", .shape = {1001}, .type = "u8"}}).classes, 1001) << "a quantised softmax";
}

TEST(ClassOutput, OfSeveralIsTheOneThatIsAskedForOrTheOnlyRow) {
  const Outputs outputs = {{.name = "embedding", .shape = {120}}, {.name = "scores", .shape = {3}}};
  EXPECT_THAT(chosen(outputs, 3).note, AllOf(HasSubstr("'embedding' 120"), HasSubstr("told by 'scores'")));
  EXPECT_THAT(chosen(outputs).note, HasSubstr("--output-name"));
  EXPECT_THROW(chosen(outputs, 0, "score"), UsageError);
  const ClassOutput only = chosen({{.name = "map", .shape = {512, 7, 7}}, {.name = "scores", .shape = {3}}});
  EXPECT_EQ(only.index, 1U);
  EXPECT_THAT(only.note, HasSubstr("the only row"));
}

TEST(ClassOutput, WhatADetectorGivesIsNone) {
  const Outputs yolo = {{.name = "boxes", .shape = {25200, 85}}};
  EXPECT_THAT(chosen(yolo).refusal, AllOf(HasSubstr("'boxes' 25200x85"), HasSubstr("--outputs raw --out")));
  EXPECT_NE(chosen(yolo, 80).refusal, "");
  const Outputs scrfd = {{.name = "score_8", .shape = {12800, 1}}, {.name = "bbox_8", .shape = {12800, 4}}};
  EXPECT_THAT(chosen(scrfd).refusal, AllOf(HasSubstr("'score_8' 12800x1"), HasSubstr("'bbox_8' 12800x4")));
  const Outputs suppressed = {{.name = "scores", .shape = {100}}, {.name = "boxes", .shape = {100, 4}}};
  EXPECT_NE(chosen(suppressed).refusal, "") << "a score for each of the boxes";
  EXPECT_EQ(chosen(suppressed, 100).refusal, "") << "names tell otherwise";
}

TEST(ClassOutput, OneValueTellsTwoClassesWhereTheyAreNamed) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{}, {1}, {1, 1}}) {
    const Outputs sigmoid = {{.name = "prob", .shape = shape}};
    EXPECT_TRUE(chosen(sigmoid, 2).from_one_value);
    EXPECT_EQ(chosen(sigmoid, 2).classes, 2);
    for (const std::size_t labels : {0, 1, 3}) {
      EXPECT_THAT(chosen(sigmoid, labels).refusal, AllOf(HasSubstr("'prob'"), HasSubstr("one value for each image")));
    }
    const Outputs number = {{.name = "label", .shape = shape, .type = "i64"}};
    for (const std::size_t labels : {0, 2, 3}) EXPECT_THAT(chosen(number, labels).refusal, HasSubstr("ArgMax"));
  }
}

TEST(ImagenetNames, AreAThousandWithOrWithoutTheBackground) {
  const std::vector<std::string> names = imagenet_names(1000), more = imagenet_names(1001);
  ASSERT_EQ(names.size(), 1000U);
  EXPECT_EQ(names[0], "tench");
  EXPECT_EQ(names[207], "golden retriever");
  EXPECT_EQ(names[999], "toilet tissue");
  ASSERT_EQ(more.size(), 1001U);
  EXPECT_EQ(more[0], "background");
  EXPECT_EQ(more[1], "tench");
  EXPECT_TRUE(imagenet_names(999).empty());
  for (const std::string& name : names) EXPECT_THAT(name, testing::MatchesRegex("[A-Za-z][A-Za-z' .-]+"));
}

TEST(ClassOutputRules, IntegersOf32And64BitsAreNumbersOfClasses) {
  for (const char* type : {"i64", "i32", "u64", "u32"}) {
    const Outputs outputs = {{.name = "classes", .shape = {5}, .type = type}, {.name = "scores", .shape = {7}}};
    EXPECT_EQ(chosen(outputs, 5).index, 1U) << type;
    EXPECT_NE(chosen(outputs, 0, "classes").refusal, "") << type;
  }
  for (const char* type : {"i8", "u8", "f16", "f32"}) {
    const Outputs outputs = {{.name = "classes", .shape = {5}, .type = type}, {.name = "scores", .shape = {7}}};
    EXPECT_EQ(chosen(outputs).index, 0U) << type;
  }
}

TEST(ClassOutputRules, AColumnIsClassesOnlyWhereNamesOrTheUserSaySo) {
  const Outputs column = {{.name = "values", .shape = {12, 1}}};
  EXPECT_THAT(chosen(column).refusal, HasSubstr("its output 'values' 12x1 can't be classes"));
  EXPECT_NE(chosen(column, 11).refusal, "");
  EXPECT_EQ(chosen(column, 12).classes, 12);
  EXPECT_EQ(chosen(column, 0, "values").classes, 12);
  EXPECT_EQ(chosen({{.name = "values", .shape = {12, 1, 1}}}).classes, 12) << "an image of a pixel";
  EXPECT_EQ(chosen({{.name = "values", .shape = {1, 12}}}).classes, 12);
}

TEST(ClassOutputRules, ARowOfWhichAnotherOutputTellsMoreIsNone) {
  const NetworkOutput scores{.name = "scores", .shape = {40}};
  for (const std::vector<std::int64_t>& boxes : std::vector<std::vector<std::int64_t>>{{40, 4}, {4, 40}, {2, 40, 2}}) {
    EXPECT_NE(chosen({scores, {.name = "boxes", .shape = boxes}}).refusal, "");
  }
  for (const std::vector<std::int64_t>& other : std::vector<std::vector<std::int64_t>>{{41, 4}, {40}, {40, 1}}) {
    EXPECT_EQ(chosen({scores, {.name = "other", .shape = other}}).index, 0U);
  }
}

TEST(ClassOutputRules, OpenExtentsAreARowOfUnknownLength) {
  EXPECT_EQ(chosen({{.name = "a", .shape = {1, -1, 1}}}, 9).classes, -1);
  EXPECT_EQ(chosen({{.name = "a", .shape = {-1, -1}}}, 9).classes, 0) << "not one row";
  EXPECT_EQ(chosen({{.name = "a", .shape = {2, 3}}, {.name = "b", .shape = {-1}}}).index, 1U);
}

TEST(ClassOutputRules, OfSeveralRowsTheNoteSaysWhy) {
  const Outputs three = {{.name = "a", .shape = {4}}, {.name = "b", .shape = {6}}, {.name = "c", .shape = {6}}};
  const ClassOutput both = chosen(three, 6);
  EXPECT_EQ(both.index, 1U);
  EXPECT_EQ(both.classes, 6);
  EXPECT_THAT(both.note, AllOf(HasSubstr("'a' 4, 'b' 6, 'c' 6"), HasSubstr("the first that fits")));
  const ClassOutput one = chosen(three, 4);
  EXPECT_EQ(one.index, 0U);
  EXPECT_THAT(one.note, HasSubstr("as many values as there are names"));
  const ClassOutput none = chosen(three, 5);
  EXPECT_EQ(none.index, 0U);
  EXPECT_THAT(none.note, HasSubstr("the first that fits"));
  const ClassOutput named = chosen(three, 6, "c");
  EXPECT_EQ(named.index, 2U);
  EXPECT_EQ(named.note, "");
}

TEST(ClassOutputRules, NineOutputsAreToldAndTheRestCounted) {
  Outputs outputs;
  for (int i = 0; i < 9; ++i) outputs.push_back({.name = "map" + std::to_string(i), .shape = {3, i + 2}});
  EXPECT_THAT(chosen(outputs).refusal,
              AllOf(HasSubstr("its outputs 'map0' 3x2"), HasSubstr("'map8' 3x10 can't"), Not(HasSubstr("more"))));
  outputs.push_back({.name = "map9", .shape = {3, 11}});
  outputs.push_back({.name = "map10", .shape = {3, 12}});
  EXPECT_THAT(chosen(outputs).refusal, AllOf(HasSubstr("'map8' 3x10 and 2 more can't"), Not(HasSubstr("map9"))));
}

TEST(ClassOutputRules, OneValueBesideMapsIsTheOneThatIsTold) {
  const Outputs outputs = {{.name = "map", .shape = {2, 3}}, {.name = "prob", .shape = {1}}};
  const ClassOutput two = chosen(outputs, 2);
  EXPECT_EQ(two.index, 1U);
  EXPECT_TRUE(two.from_one_value);
  EXPECT_EQ(two.refusal, "");
  const ClassOutput unnamed = chosen(outputs);
  EXPECT_EQ(unnamed.index, 1U);
  EXPECT_EQ(unnamed.classes, 1);
  EXPECT_FALSE(unnamed.from_one_value);
  EXPECT_THAT(unnamed.refusal, HasSubstr("--labels FILE"));
  EXPECT_THAT(chosen(outputs, 2, "map").refusal, HasSubstr("'map' 2x3"));
}

TEST(ClassOutputRules, NamesAreSaidToBeOffByABackgroundWhereOneIs) {
  const NetworkOutput output{.name = "scores", .shape = {5}};
  const ClassOutput five{.classes = 5};
  const auto mismatch = [&](std::size_t names) {
    return label_mismatch(five, output, std::vector<std::string>(names, "name"));
  };
  EXPECT_EQ(mismatch(0), "");
  EXPECT_THAT(mismatch(1), HasSubstr("1 name for the 5 classes of output 'scores' 5"));
  EXPECT_THAT(mismatch(3), AllOf(HasSubstr("3 names for the 5 classes"), Not(HasSubstr("background"))));
  EXPECT_THAT(mismatch(4), HasSubstr("put a line 'background' before the names"));
  EXPECT_EQ(mismatch(5), "");
  EXPECT_THAT(mismatch(6),
              HasSubstr("if the first, 'name', is no class of the network (a background), leave out its line"));
  EXPECT_THAT(mismatch(7), AllOf(HasSubstr("7 names"), Not(HasSubstr("background"))));
  EXPECT_THAT(label_mismatch({.classes = 2}, output, {"a", "b", "c", "d"}), HasSubstr("4 names for the 2 classes"));
  for (const std::int64_t unknown : {-1, 0, 1}) {
    EXPECT_EQ(label_mismatch({.classes = unknown}, output, {"a", "b"}), "") << "nothing to compare them with";
  }
}

TEST(ClassOutputRules, ShapesAreToldWithWhatIsOpen) {
  EXPECT_EQ(open_shape_text({3, -1, 0}), "3x?x0");
  EXPECT_EQ(output_text({.name = "a\n", .shape = {}}), "'a?' of one value");
  EXPECT_EQ(output_text({.name = "a", .shape = {2}, .rank_is_known = false}), "'a' of any shape");
}

TEST(Labels, AreTheLinesWhateverEndsThem) {
  const test::TestFolder folder;
  test::write_text(folder / "names.txt", "cat\r\nbig dog\r\n\r\nfish\n\n");
  EXPECT_THAT(read_labels(folder / "names.txt"), ElementsAre("cat", "big dog", "", "fish"));
  using namespace std::string_literals;
  std::ofstream(folder / "utf16.txt") << "\xFF\xFE"s + "c\0a\0\r\0\n\0b\0\r\0\n\0"s;
  EXPECT_THAT(read_labels(folder / "utf16.txt"), ElementsAre("ca", "b"));
  std::ofstream(folder / "zeros.txt") << "cat\0\0big dog\0"s;
  EXPECT_THAT(read_labels(folder / "zeros.txt"), ElementsAre("cat", "", "big dog"));
}

TEST(WantedLabels, AreNamesOrNumbersOfClasses) {
  EXPECT_THAT(detection::wanted_labels({"dog", "0"}, {"cat", "dog"}), ElementsAre(1, 0));
  for (const char* unknown : {"2", "-1", "1x", "fish"}) {
    EXPECT_THROW(detection::wanted_labels({unknown}, {"cat", "dog"}), UsageError) << unknown;
  }
}

TEST(Int8Layers, AreProductsOfSignedAndUnsignedBytes) {
  const quantization::Int8Layers layers = quantization::int8_layers({{"Convolution i8", 1},
                                                                     {"Convolution u8", 2},
                                                                     {"Convolution f32", 3},
                                                                     {"FullyConnected i8", 1},
                                                                     {"MatMul f32", 1},
                                                                     {"Pooling u8", 9}});
  EXPECT_EQ(layers.int8, 4);
  EXPECT_EQ(layers.all, 8);
}

float best(const std::vector<float>& scores, OutputType type = OutputType::kAuto) {
  return top_classes(scores, 1, type).front().score;
}

TEST(TopClasses, AreTheLikeliestFirst) {
  const auto top = top_classes(std::vector<float>{1, 3, NAN, 3, 2}, 4, OutputType::kLogits);
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(top[0].index, 1u) << "of equal ones the first";
  EXPECT_EQ(top[1].index, 3u);
  EXPECT_EQ(top[2].index, 4u);
  EXPECT_EQ(top[3].index, 0u);
  EXPECT_EQ(top[2].score, 2);
  EXPECT_TRUE(top_classes({}, 3, OutputType::kAuto).empty());
}

TEST(TopClasses, ScoresBecomeProbabilities) {
  EXPECT_NEAR(best({0, std::log(3.0F)}), 0.75, 1e-6);
  EXPECT_NEAR(best({0, std::log(3.0F)}, OutputType::kLogits), std::log(3.0F), 1e-6);
  EXPECT_NEAR(best({0.3F, 0.5F}), 1 / (1 + std::exp(-0.2)), 1e-6) << "these are no probabilities of everything";
}

TEST(TopClasses, ProbabilitiesStay) {
  EXPECT_FLOAT_EQ(best({0.3F, 0.7F}), 0.7F);
  EXPECT_FLOAT_EQ(best({0.3F, 0.3F}, OutputType::kProbabilities), 0.3F);
}

TEST(TopClasses, AProbabilityLiesBetween0And1WhateverIsSaidOfTheScores) {
  using enum OutputType;
  const struct {
    std::vector<float> scores;
    OutputType told, holds;
    float best;
  } cases[] = {
      {{1.2F, 4.806F, 3.1F}, kProbabilities, kAuto, 0.8273F},   // logits, told as probabilities
      {{0.25F, 0.7F, 0.05F}, kAuto, kLogits, 0.463F},           // logits that add up to 1 by chance
      {{0.25F, 0.7F, 0.05F}, kProbabilities, kLogits, 0.463F},  // which is known of the network
      {{0.25F, 0.7F, 0.05F}, kAuto, kAuto, 0.7F},
      {{0.2F, 0.4F, 0.1F}, kAuto, kProbabilities, 0.4F},
      {{0, 1.000004F, -0.000004F}, kAuto, kAuto, 1},  // rounded, and no logits
      {{0, 1.000004F, -0.000004F}, kProbabilities, kAuto, 1},
      {{0, 1.000004F, -0.000004F}, kAuto, kProbabilities, 1},
  };
  for (const auto& one : cases) {
    const float found = top_classes(one.scores, 1, one.told, one.holds).front().score;
    EXPECT_NEAR(found, one.best, 5e-4) << one.scores[1];
    EXPECT_LE(found, 1);
  }
  EXPECT_THAT(test::thrown_by<Error>([] {
                top_classes(std::vector<float>{-3.8F, 4.806F}, 1, kAuto, kProbabilities);
              }),
              AllOf(HasSubstr("4.806"), HasSubstr("--output-type prob")));
  for (const float none : {NAN, INFINITY}) {
    for (const ClassScore& one : top_classes(std::vector<float>{0.5F, none, 0.25F}, 3, kProbabilities)) {
      EXPECT_TRUE(std::isnan(one.score)) << "no number is made up";
    }
  }
}

// 1001 classes in bytes: those below 1/512 are rounded to 0.
TEST(TopClasses, ASoftmaxInBytesDoesNotAddUpToOne) {
  std::vector<float> scores(1001);
  scores[7] = 200.0F / 256;
  scores[8] = 3.0F / 256;
  EXPECT_FLOAT_EQ(best(scores), 200.0F / 256);
}

TEST(NamesInMetadata, AreReadFromWhateverPrintedThem) {
  const std::vector<std::string> cat_dog = {"cat", "dog"};
  const std::pair<const char*, std::vector<std::string>> texts[] = {
      {"{0: 'person', 1: \"driver's seat\", 2: 'it\\'s'}", {"person", "driver's seat", "it's"}},
      {R"({"0": "cat", "1": "dog"})", cat_dog},
      {" ['cat' , 'dog', ]", cat_dog},
      {"('cat', 'dog')", cat_dog},
      {R"(["cat", "dog"])", cat_dog},
      {"{1: 'dog', 0: 'cat'}", cat_dog},
      {"{ 0 : 'cat' ,\n 1 : 'dog' , }", cat_dog},
      {"{0: cat, 1: dog}", cat_dog},
      {"[cat, dog]", cat_dog},
      {"{'cat': 0, 'dog': 1}", cat_dog},
      {"0: cat\n1: dog\n", cat_dog},
      {"1: \"dog\"\r\n0: 'cat'\n", cat_dog},
      {"- cat\n- dog", cat_dog},
      {"cat\ndog\n", cat_dog},
      {"cat,dog", cat_dog},
      {"0: driver's seat (red)\n1: dog", {"driver's seat (red)", "dog"}},
      {"cat", {"cat"}},
      {"{0: 0, 1: 1}", {"0", "1"}},
      {"{1: 'cat', 2: 'dog'}", {"", "cat", "dog"}},
      {"{0: 'cat', 2: 'dog'}", {"cat", "", "dog"}},
      {"{0: 'a {b}', 1: 'c, d: e'}", {"a {b}", "c, d: e"}},
      {R"({0: 'K\xe4fer', 1: 'K\u00e4fer', 2: '\U0001F431', 3: '\ud83d\udc31'})", {"Käfer", "Käfer", "🐱", "🐱"}},
      {R"({0: 'd\\og', 1: 'cat\nbig', 2: 'a\qb', 3: "\"a\/b\""})", {"d\\og", "cat\nbig", "a\\qb", "\"a/b\""}},
      {"{0: '犬', 1: 'Käfer'}", {"犬", "Käfer"}},
  };
  for (const auto& [text, names] : texts) EXPECT_EQ(names_in_text(text), names) << text;
}

TEST(NamesInMetadata, AreNoneOfAnythingElse) {
  for (const char* text :
       {"", "{", "{0", "{0:", "{0: 'a", "{0: 'a'", "{0: 'a' 1: 'b'}", "[", "['a\\", "{}", "80", "{-1: 'a'}",
        "{99999999999: 'a'}", "{0: 'a'} b", "{0: ['a']}", "{'a': 'b'}", R"(['\u12'])", R"(['\ud83d'])", "('a', 'b']"}) {
    EXPECT_THAT(names_in_text(text), IsEmpty()) << text;
  }
}

TEST(NamesInMetadata, StandUnderSeveralKeysAndMayBeUnread) {
  for (const char* key : {"names", "classes", "class_names", "labels", "id2label"}) {
    EXPECT_THAT(model_facts({{key, "{0: 'cat', 1: 'dog'}"}}).classes, ElementsAre("cat", "dog")) << key;
  }
  EXPECT_EQ(model_facts({{"names", "{0: 'cat'"}}).unread_names, "{0: 'cat'");
  EXPECT_EQ(model_facts({{"names", "{0: 'cat'}"}, {"labels", "["}}).unread_names, "");
  EXPECT_EQ(model_facts({{"classes", "80"}}).unread_names, "") << "it is how many there are";
}

TEST(NamesInMetadata, BelongToClassesInTheirOrderOrByTheirNumbers) {
  EXPECT_THAT(names_of_classes({"", "cat", "", "dog"}, 2), ElementsAre("cat", "dog"));
  EXPECT_THAT(names_of_classes({"", "cat", "", "dog"}, 4), ElementsAre("class 0", "cat", "class 2", "dog"));
  EXPECT_THAT(names_of_classes({"", "cat", "", "dog"}, 3), IsEmpty());
}

TEST(NamesInMetadata, AndSizesComeWithFilesOfUltralytics) {
  const ModelFacts facts =
      model_facts({{"names", "{0: 'cat', 1: 'dog'}"}, {"imgsz", "[480, 640]"}, {"task", "detect"}});
  EXPECT_THAT(facts.classes, ElementsAre("cat", "dog"));
  ASSERT_TRUE(facts.input);
  EXPECT_THAT(*facts.input, ElementsAre(3, 480, 640));
  ModelFacts reversed{"m", {}, {}, {}};
  reversed.reverses_channels = true;
  EXPECT_TRUE(model_facts(model_metadata(reversed)).reverses_channels);
}

TEST(Normalization, OfANetworkThatScalesItsInputComesToTheSameValues) {
  const engine::PixelScale scaled{{2, 0.5F, 4}, {-1, 0.25F, 0}};
  const data::ChannelStatistics given{{0.5F, 0.25F, 0.125F}, {0.25F, 0.5F, 2}};
  const data::ChannelStatistics whole = normalization_before(scaled, given);
  ASSERT_EQ(whole.mean.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) {
    for (const float pixel : {0.0F, 0.375F, 1.0F}) {
      const float normalized = (pixel - given.mean[c]) / given.standard_deviation[c];
      EXPECT_FLOAT_EQ((pixel - whole.mean[c]) / whole.standard_deviation[c],
                      normalized * scaled.scale[c] + scaled.shift[c])
          << "channel " << c << ", " << pixel;
    }
  }
}

std::string normalization_refusal(const std::string& text) {
  try {
    parse_normalization(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Normalization, OfPixelsFrom0To255IsToldAsWhatItIsFrom0To1) {
  EXPECT_THAT(normalization_refusal("104/1"),
              AllOf(HasSubstr("the mean 104"), HasSubstr("--normalize 0.407843/0.00392157")));
  EXPECT_THAT(normalization_refusal("123.675:116.28:103.53/58.395:57.12:57.375"),
              AllOf(HasSubstr("the mean 123.675"), HasSubstr("--normalize 0.485:0.456:0.406/0.229:0.224:0.225")));
  EXPECT_THAT(normalization_refusal("0/255"), AllOf(HasSubstr("the deviation 255"), HasSubstr("--normalize 0/1")));
  EXPECT_THAT(normalization_refusal("0.5/0"), HasSubstr("neither"));
  EXPECT_THAT(normalization_refusal("0.5/-1"), HasSubstr("neither"));
  for (const char* good : {"0/1", "1/1", "0.5/0.5", "-1/1", "imagenet", "pixels"})
    EXPECT_EQ(normalization_refusal(good), "") << good;
}

}  // namespace

}  // namespace evener::inference
