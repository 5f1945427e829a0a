// How a network's own scaling of its input joins the normalisation of images.
#include "task/inference/normalization.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

std::string refusal(const std::string& text) {
  try {
    parse_normalization(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Normalization, OfPixelsFrom0To255IsToldAsWhatItIsFrom0To1) {
  EXPECT_THAT(refusal("104/1"), AllOf(HasSubstr("the mean 104"), HasSubstr("--normalize 0.407843/0.00392157")));
  EXPECT_THAT(refusal("123.675:116.28:103.53/58.395:57.12:57.375"),
              AllOf(HasSubstr("the mean 123.675"), HasSubstr("--normalize 0.485:0.456:0.406/0.229:0.224:0.225")));
  EXPECT_THAT(refusal("0/255"), AllOf(HasSubstr("the deviation 255"), HasSubstr("--normalize 0/1")));
  EXPECT_THAT(refusal("0.5/0"), HasSubstr("neither"));
  EXPECT_THAT(refusal("0.5/-1"), HasSubstr("neither"));
  for (const char* good : {"0/1", "1/1", "0.5/0.5", "-1/1", "imagenet", "pixels"}) EXPECT_EQ(refusal(good), "") << good;
}

}  // namespace
}  // namespace evener::task
