// evener share, as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/in_process_helpers.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

using test::Infer;
using test::ProgramResult;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Infer, SharePageTellsWhatIsRecognisedAndHowToUseIt) {
  const std::string run = trained();
  const ProgramResult result = run_program({"share", run}, options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(run + "/share/page.html"));
  const std::string page = text_of(run + "/share/page.html");
  EXPECT_THAT(page, AllOf(HasSubstr("Tells 0, 1, 2, 3, 4, 5, 6, 7, 8 and 9 apart"), HasSubstr("of 120 images"),
                          HasSubstr("which is known with a certainty of 95 %"), HasSubstr("images per second"),
                          HasSubstr("was right about, and surest of"), HasSubstr("data:image/png;base64,")));
  for (const char* word : {"infer", "quantize", "export", "--onnx"}) EXPECT_THAT(page, HasSubstr(word));
  EXPECT_THAT(page, Not(HasSubstr("http://"))) << "everything is in it";
  const ProgramResult again = run_program({"share", run, "--html", file("other.html")}, options());
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(text_of(file("other.html")), HasSubstr("apart"));
}

TEST_F(Infer, ShareRefusesWhatIsNoTraining) {
  EXPECT_EQ(run_in_process({"share", file("none")}, options()).exit_code, 1);
  const std::string run = trained();
  ASSERT_EQ(run_program({"share", run}, options()).exit_code, 0);
  const ProgramResult of_inference = run_in_process({"share", run + "/share"}, options());
  EXPECT_EQ(of_inference.exit_code, 2);
  EXPECT_THAT(of_inference.err, HasSubstr("is not the folder of a training"));
}

}  // namespace
}  // namespace evener
