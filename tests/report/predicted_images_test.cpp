// What an inference keeps for the page, and the page's part with it.
#include "record/predicted_images.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/base64.h"
#include "base/error.h"
#include "base/test_folder.h"
#include "report/html.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

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
  report::Run run = test::sample_run("infer");
  run.predictions = {{"a.png", "<b>bream</b>", 0.75, true, "trout", "cG5n"},
                     {"b.png", "pike", 11.25, false, "", "cG5n"}};
  const std::string page = html_page(std::vector<report::Run>{run}, "");
  EXPECT_THAT(page, HasSubstr("src=\"data:image/png;base64,cG5n\""));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;bream&lt;/b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>bream</b>")));
  EXPECT_THAT(page, HasSubstr("</b> 75 %<br>is trout"));
  EXPECT_THAT(page, HasSubstr("<b>pike</b> 11.25<"));
  run.predictions.clear();
  EXPECT_THAT(html_page(std::vector<report::Run>{run}, ""), Not(HasSubstr("class=\"answer")));
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace evener::report
