// How a network's own scaling of its input joins the normalisation of images.
#include "task/normalization.h"

#include <gtest/gtest.h>

namespace evener::task {
namespace {

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

}  // namespace
}  // namespace evener::task
