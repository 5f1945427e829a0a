#include "base/names.h"

#include <gtest/gtest.h>

#include <limits>

namespace evener {
namespace {

const std::vector<std::string> kModels = {"resnet18", "resnet34", "mlp"};

TEST(NearestName, FindsTyposOfEachKind) {
  EXPECT_EQ(nearest_name("resnet43", kModels), "resnet34");   // swapped
  EXPECT_EQ(nearest_name("resnet8", kModels), "resnet18");    // left out
  EXPECT_EQ(nearest_name("resnett18", kModels), "resnet18");  // doubled
  EXPECT_EQ(nearest_name("resmet34", kModels), "resnet34");   // replaced
  EXPECT_EQ(nearest_name("ResNet18", kModels), "resnet18");   // case
  EXPECT_EQ(nearest_name("mpl", kModels), "mlp");
  EXPECT_EQ(nearest_name("--epoch", {"--port", "--epochs"}), "--epochs");
  EXPECT_EQ(nearest_name("-epochs", {"--epochs"}), "--epochs");
}

TEST(NearestName, OffersNothingThatIsFarAway) {
  EXPECT_EQ(nearest_name("vgg", kModels), "");
  EXPECT_EQ(nearest_name("", kModels), "");
  EXPECT_EQ(nearest_name("x", {"a"}), "");  // one letter replaced by another is not a typo
  EXPECT_EQ(nearest_name(std::string(100000, 'r'), kModels), "");
  EXPECT_EQ(nearest_name("mlp", {}), "");
  EXPECT_EQ(nearest_name("--out", {"--port", "--html", "--cut"}), "");
}

TEST(UnknownNameMessage, NamesTheNearestAndTheKnown) {
  EXPECT_EQ(unknown_name_message("model", "resnet43", kModels),
            "unknown model 'resnet43'; did you mean 'resnet34'? Known: resnet18, resnet34, mlp");
  EXPECT_EQ(unknown_name_message("model", "vgg", kModels), "unknown model 'vgg'. Known: resnet18, resnet34, mlp");
}

TEST(Units, HaveThreeSignificantDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1500), "1.5 kB");
  EXPECT_EQ(bytes_text(85'300'000), "85.3 MB");
  EXPECT_EQ(bytes_text(999'999), "1 MB");  // rounding up changes the prefix
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
  EXPECT_EQ(si_text(3.6e9, "FLOP"), "3.6 GFLOP");
  EXPECT_EQ(si_text(21.3e6), "21.3 M");
  EXPECT_EQ(si_text(-1234), "-1.23 k");
  EXPECT_EQ(si_text(99.96), "100");
  EXPECT_EQ(si_text(std::numeric_limits<double>::quiet_NaN(), "B"), "nan B");
}

TEST(Printable, DropsWhatATerminalWouldObeyAndCuts) {
  EXPECT_EQ(printable("layer1.0.conv1 \u00e9"), "layer1.0.conv1 \u00e9");
  EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a?[31m??");
  EXPECT_EQ(printable(std::string(101, 'x')), std::string(100, 'x') + "...");
}

TEST(DurationText, ChoosesTheUnit) {
  EXPECT_EQ(duration_text(0.85), "850 ms");
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(245), "4 min 05 s");
  EXPECT_EQ(duration_text(7800), "2 h 10 min");
  EXPECT_EQ(duration_text(59.97), "1 min 00 s");
  EXPECT_EQ(duration_text(3599.7), "1 h 00 min");
  EXPECT_EQ(duration_text(25e-6), "25 us");
  EXPECT_EQ(duration_text(-12.34), "-12.3 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

}  // namespace
}  // namespace evener
