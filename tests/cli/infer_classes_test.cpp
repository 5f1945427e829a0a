// What infer tells of images whose classes are known: by class, which were taken for which, and the surest mistakes.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "cli/in_process_helpers.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

using nlohmann::json;
using test::Infer;
using test::lines_of;
using test::ProgramResult;
using test::record_in;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InferClasses : public Infer {
 protected:
  /// Three pictures that are all the same, of different classes: at least two are mistakes.
  std::string alike() const { return pictures({"3/a.pgm", "5/b.pgm", "7/c.pgm"}); }
};

TEST_F(InferClasses, AreToldWithMistakesByFile) {
  const std::string run = trained(), folder = alike();
  const ProgramResult result = infer({run, folder, "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("accuracy"), HasSubstr("(95 %: "), HasSubstr("class"), HasSubstr("images"),
                                HasSubstr("the surest mistakes"), HasSubstr("b.pgm"), HasSubstr("taken for")));
  std::ifstream table(file("out/mistakes.csv"));
  const auto lines = lines_of({std::istreambuf_iterator<char>(table), {}});
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "file,true_class,found_class,score");
  const json record = record_in(file("out"));
  int images = 0;
  for (const auto& row : record["confusion"]["counts"]) {
    for (const int count : row) images += count;
  }
  EXPECT_EQ(images, 3);
  const ProgramResult page = test::run_in_process({"report", file("out"), "--html", file("page.html")});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  std::ifstream html(file("page.html"));
  const std::string text{std::istreambuf_iterator<char>(html), {}};
  EXPECT_THAT(text, AllOf(HasSubstr("The surest mistakes of"), HasSubstr("Classes of")));
}

TEST_F(InferClasses, TheSurestMistakesComeFirst) {
  const std::string run = trained(), folder = alike();
  for (const char* name : {"3/d.pgm", "5/d.pgm"}) {  // another picture, of whose two classes one is wrong at least
    std::ofstream(folder + "/" + name, std::ios::binary) << "P5\n2 1\n255\n" << '\xff' << '\0';
  }
  ASSERT_EQ(infer({run, folder, "--out", file("out")}).exit_code, 0);
  std::ifstream table(file("out/mistakes.csv"));
  const auto lines = lines_of({std::istreambuf_iterator<char>(table), {}});
  std::vector<double> scores;
  for (std::size_t i = 1; i < lines.size(); ++i) scores.push_back(std::stod(lines[i].substr(lines[i].rfind(',') + 1)));
  ASSERT_GE(scores.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(scores, std::greater<>())) << testing::PrintToString(scores);
  EXPECT_GT(scores.front(), scores.back());
}

TEST_F(InferClasses, OfEachImageAreToldOnRequest) {
  const std::string run = trained(), folder = alike();
  const ProgramResult result = infer({run, folder, "--topk", "99"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("a.pgm"), HasSubstr("c.pgm")));
  EXPECT_THAT(result.err, HasSubstr("there are 10 classes; --topk 99 tells all of them"));
  EXPECT_THAT(infer({run, folder, "--format", "csv", "--topk", "2"}).out, Not(HasSubstr("surest")));
}

TEST_F(InferClasses, NetworksWithoutWeightsSayNothingOfPictures) {
  const std::string folder = alike();
  const ProgramResult without = refused({"resnet20", folder});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, AllOf(HasSubstr("--weights FILE"), HasSubstr("--random")));
  EXPECT_EQ(infer({"resnet20", folder, "--random"}).exit_code, 0);
  EXPECT_EQ(infer({"mlp:784-10", "random:4"}).exit_code, 0);
}

TEST_F(InferClasses, SpeedTimesSecondsIsTheNumberOfImages) {
  const ProgramResult result = infer({"mlp:784-10", "random:100", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json metrics = json::parse(result.out)["metrics"];
  const double speed = metrics["images_per_s_overall"]["value"], seconds = metrics["answering_s"]["value"];
  EXPECT_NEAR(speed * seconds, 100, 1e-6);
}

}  // namespace
}  // namespace evener
