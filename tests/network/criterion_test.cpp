#include "network/criterion.h"

#include <gmock/gmock.h>

namespace evener::network {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Network two_heads() {
  Network network("heads", {1, 2, 2});
  const int trunk = network.add("flatten", Flatten{});
  const int first = network.add("first", Linear{3, true}, {trunk});
  const int second = network.add("second", Linear{5, true}, {trunk});
  network.set_output("small", first);
  network.set_output("large", second);
  return network;
}

Criterion both() {
  return {{{CrossEntropy{0.1}, 1, {"large"}, "large_loss"}, {MeanSquaredError{}, 0.5, {"small"}, "small_loss"}}};
}

TEST(Criterion, NamesWhatItSumsUpTo) {
  EXPECT_THAT(sum_names(cross_entropy()), ElementsAre("loss", "correct"));
  EXPECT_THAT(sum_names(both()), ElementsAre("loss", "large_loss", "small_loss", "correct"));
}

TEST(Criterion, TellsItself) {
  EXPECT_EQ(criterion_text(cross_entropy(0.1)), "cross-entropy");
  EXPECT_EQ(criterion_text(mean_squared_error()), "mse");
  EXPECT_EQ(criterion_text(both()), "large_loss=cross-entropy+small_loss=0.5*mse");
}

TEST(Criterion, FindsTheOutputsThatItsTermsRead) {
  const Network network = two_heads();
  EXPECT_EQ(why_unfit(both(), network), "");
  EXPECT_THAT(outputs_of(both().terms[0], network), ElementsAre(1u));
  EXPECT_THAT(outputs_of(both().terms[1], network), ElementsAre(0u));
  EXPECT_THAT(outputs_of(cross_entropy().terms[0], network), ElementsAre(0u));
}

TEST(Criterion, SaysWhyItDoesNotFit) {
  const Network network = two_heads();
  Criterion other = both();
  other.terms[1].outputs = {"huge"};
  EXPECT_THAT(why_unfit(other, network),
              testing::AllOf(HasSubstr("small_loss"), HasSubstr("huge"), HasSubstr("large")));
  Criterion twice = both();
  twice.terms[1].name = "large_loss";
  EXPECT_THAT(why_unfit(twice, network), HasSubstr("name"));
  Criterion greedy = both();
  greedy.terms[0].outputs = {"small", "large"};
  EXPECT_THAT(why_unfit(greedy, network), HasSubstr("2 outputs"));
  EXPECT_NE(why_unfit({{}}, network), "");
  Network image("image", {1, 4, 4});
  image.add("conv", Conv2d{2});
  EXPECT_THAT(why_unfit(cross_entropy(), image), HasSubstr("no vector"));
}

}  // namespace
}  // namespace evener::network
