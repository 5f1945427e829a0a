// What is refused before the first step.
#include "task/training/limits.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "network/zoo.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What require_trainable_batch says; "" = nothing.
std::string refusal(const network::Network& network, std::size_t images, std::int64_t batch, int accumulate = 1) {
  try {
    require_trainable_batch(network, images, batch, accumulate);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// ResNet-18's last layers see one pixel of these images.
network::Network one_pixel_resnet() {
  return network::build("resnet18", {network::Shape{1, 32, 32}, 2});
}

TEST(RequireTrainableBatch, RefusesABatchOfOneWhereALayerSeesOnePixel) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16), "");
  EXPECT_EQ(refusal(network, 66, 16), "");
  EXPECT_EQ(refusal(network, 7, 16), "");
  EXPECT_THAT(refusal(network, 65, 16), AllOf(HasSubstr("65 training images and --batch 16"), HasSubstr("layer4.0.bn1"),
                                              HasSubstr("Use another --batch or a larger --size")));
  EXPECT_THAT(refusal(network, 64, 1), HasSubstr("a batch has one image"));
  EXPECT_THAT(refusal(network, 1, 16), HasSubstr("a batch has one image"));
  EXPECT_EQ(refusal(network::build("resnet18", {network::Shape{1, 64, 64}, 2}), 65, 16), "");
  EXPECT_EQ(refusal(network::build("mlp:1024-4-2", {network::Shape{1, 32, 32}, 2}), 65, 16), "");
}

TEST(RequireTrainableBatch, LooksAtThePartsOfABatch) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16, 8), "");
  EXPECT_EQ(refusal(network, 64, 17, 8), "");
  EXPECT_EQ(refusal(network, 67, 16, 8), "") << "the last batch, of 3, is one part";
  EXPECT_THAT(refusal(network, 64, 16, 9),
              AllOf(HasSubstr("--accumulate 9 a part of a batch has one image"), HasSubstr("a smaller --accumulate")));
  EXPECT_THAT(refusal(network, 65, 16, 8), HasSubstr("a part of a batch has one image"));
}

TEST(LeastShare, IsTwoWhereOneImageHasNoVariance) {
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/true), 2);
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/false), 1);
  EXPECT_EQ(least_share(network::build("resnet20", {network::Shape{1, 32, 32}, 2}), true), 1);
}

}  // namespace
}  // namespace evener::task
