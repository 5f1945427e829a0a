// What infer says of the images that it shows: which part of a run's own data, and what of each picture.
#include <gmock/gmock.h>

#include "cli/in_process_helpers.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

using test::Infer;
using test::ProgramResult;
using test::run_in_process;
using test::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Infer, OfARunsOwnDataThePartAndItsSizeAreTold) {
  const std::string images = file("digits"), run = file("run");
  ASSERT_EQ(run_in_process({"data", "synth", "digits", "--out", images, "--count", "60"}).exit_code, 0);
  const ProgramResult trained =
      run_program({"train", "mlp:784-8-10", "--data", images, "--epochs", "1", "--batch", "16", "--out", run});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult part = run_program({"infer", run, images, "--format", "none"});
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.err, AllOf(HasSubstr("the test part of"), HasSubstr("10 of its 60 images; --part all shows all")));
  EXPECT_THAT(part.out, HasSubstr("whole images, stretched to 28x28"));
  const ProgramResult all = run_program({"infer", run, images, "--format", "none", "--part", "all"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, AllOf(HasSubstr("60 images"), Not(HasSubstr("part of"))));
}

// Its accuracy on what it was trained on would look too good.
TEST_F(Infer, WithoutATestPartTheValidationIsShown) {
  const std::string run = file("run");
  const ProgramResult trained = run_program({"train", "mlp:784-8-10", "--data", "synth:digits:60", "--split", "70/30/0",
                                             "--epochs", "1", "--batch", "16", "--out", run});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult shown = run_program({"infer", run, "--format", "none"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("the validation part of 'synth:digits:60', 20 of its 60 images"));
}

}  // namespace
}  // namespace evener
