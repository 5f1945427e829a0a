// What an inference keeps for the page, and the page's part with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "base/test_folder.h"
#include "infer/page.h"
#include "record/detection.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Answers : public testing::Test {
 protected:
  std::string failure(const std::string& text) {
    std::ofstream(folder_ / record::kPredictedImages) << text;
    try {
      record::read_predicted_images(folder_ / record::kPredictedImages);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  test::TestFolder folder_;
};

TEST_F(Answers, ComeBackAsTheyWereWritten) {
  record::write_predicted_images(
      folder_ / record::kPredictedImages,
      {{"a\xff.png", "bream", 0.75, true, "", to_base64("png")}, {"b", "x", 11, false, "y", to_base64("p")}});
  const auto answers = record::read_predicted_images(folder_ / record::kPredictedImages);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].found, "bream");
  EXPECT_EQ(answers[0].score, 0.75);
  EXPECT_TRUE(answers[0].is_probability);
  EXPECT_FALSE(answers[1].is_probability);
  EXPECT_EQ(answers[1].truth, "y");
  EXPECT_EQ(answers[0].png_base64, "cG5n");
}

TEST_F(Answers, ForeignFilesBringNothingElseThanImages) {
  const auto with_image = [](const std::string& image) {
    return R"([{"file":"a","class":"b","score":1,"is_probability":true,"true_class":"","png":")" + image + R"("}])";
  };
  EXPECT_EQ(failure(with_image("cG5n")), "");
  EXPECT_THAT(failure(with_image("x' onerror='alert(1)")), HasSubstr("key 'png': expected an image"));
  EXPECT_THAT(failure(with_image("")), HasSubstr("key 'png': expected an image"));
  EXPECT_THAT(failure("[{}]"), HasSubstr(record::kPredictedImages));
  EXPECT_THAT(failure("no JSON"), HasSubstr(record::kPredictedImages));
}

TEST_F(Answers, StandOnThePage) {
  std::vector<report::Run> runs(1);
  runs[0].folder = folder_.path();
  EXPECT_EQ(predictions_part(runs).html, "");
  record::write_predicted_images(
      folder_ / record::kPredictedImages,
      {{"a.png", "<b>bream</b>", 0.75, true, "trout", "cG5n"}, {"b.png", "pike", 11.25, false, "", "cG5n"}});
  const std::string page = predictions_part(runs).html;
  EXPECT_THAT(page, HasSubstr("src=\"data:image/png;base64,cG5n\""));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;bream&lt;/b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>bream</b>")));
  EXPECT_THAT(page, HasSubstr("</b> 75 %<br>is trout"));
  EXPECT_THAT(page, HasSubstr("<b>pike</b> 11.25<"));
}

record::PredictedImage answer(const std::string& file, const std::string& found, const std::string& truth,
                              double score) {
  record::PredictedImage made;
  made.file = file;
  made.found = found;
  made.truth = truth;
  made.score = score;
  made.is_probability = false;
  made.png_base64 = "QUJD";
  return made;
}

TEST(PredictionsPart, MistakesRightOnesAndSamplesStandApart) {
  const test::TestFolder folder;
  std::vector shown = {answer("a", "cat", "dog", 0.875), answer("b", "dog", "dog", 12.34567),
                       answer("c", "cow", "", 3)};
  shown[0].is_probability = true;
  shown[0].is_sure_mistake = true;
  shown[0].map_base64 = "TUFQ";
  shown[1].is_sure_right = true;
  record::write_predicted_images(folder / record::kPredictedImages, shown);
  std::vector<report::Run> runs(1);
  runs[0].folder = folder.path();
  const std::string page = predictions_part(runs).html;
  const std::size_t mistakes = page.find("The surest mistakes"), right = page.find("was right about"),
                    rest = page.find("says of");
  ASSERT_LT(mistakes, right);
  ASSERT_LT(right, rest);
  EXPECT_THAT(page.substr(mistakes, right - mistakes),
              AllOf(HasSubstr("prediction wrong\" title=\"a\""), HasSubstr("<b>cat</b> 88 %<br>is dog"),
                    HasSubstr("base64,TUFQ"), HasSubstr("in orange")));
  EXPECT_THAT(page.substr(right, rest - right), AllOf(HasSubstr("prediction\" title=\"b\""),
                                                      HasSubstr("<b>dog</b> 12.35<"), Not(HasSubstr("in orange"))));
  EXPECT_THAT(page.substr(rest), AllOf(HasSubstr("title=\"c\""), HasSubstr("prediction\""), Not(HasSubstr("<br>is"))));
}

TEST(PredictedImages, KeepsEachFieldAndRefusesWhatIsNoPicture) {
  const test::TestFolder folder;
  record::PredictedImage whole = answer("a", "cat", "dog", 0.875);
  whole.is_probability = true;
  whole.map_base64 = "TUFQ";
  whole.is_sure_mistake = true;
  record::PredictedImage other = answer("b", "x", "", -2);
  other.is_sure_right = true;
  record::write_predicted_images(folder / record::kPredictedImages, {whole, other});
  const auto read = record::read_predicted_images(folder / record::kPredictedImages);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].file, "a");
  EXPECT_EQ(read[0].found, "cat");
  EXPECT_EQ(read[0].truth, "dog");
  EXPECT_EQ(read[0].score, 0.875);
  EXPECT_TRUE(read[0].is_probability);
  EXPECT_EQ(read[0].png_base64, "QUJD");
  EXPECT_EQ(read[0].map_base64, "TUFQ");
  EXPECT_TRUE(read[0].is_sure_mistake);
  EXPECT_FALSE(read[0].is_sure_right);
  EXPECT_TRUE(read[1].is_sure_right);
  EXPECT_FALSE(read[1].is_sure_mistake);
  EXPECT_EQ(read[1].map_base64, "");
  whole.map_base64 = "\"><script>";
  record::write_predicted_images(folder / record::kPredictedImages, {whole});
  EXPECT_THROW(record::read_predicted_images(folder / record::kPredictedImages), Error);
  whole.map_base64 = "";
  whole.png_base64 = "\"><script>";
  record::write_predicted_images(folder / record::kPredictedImages, {whole});
  EXPECT_THROW(record::read_predicted_images(folder / record::kPredictedImages), Error);
}

}  // namespace
}  // namespace evener::inference
