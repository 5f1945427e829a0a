// Which networks weights are of, and what a network becomes with them.
#include <gmock/gmock.h>

#include "base/error.h"
#include "network/init.h"
#include "task/inference/trained_model.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;

network::Network small_resnet20(std::int64_t channels, std::int64_t classes) {
  return network::build("resnet20", {network::Shape{channels, 32, 32}, classes});
}

weights::SafetensorsFile file_of(const network::Network& network) {
  weights::SafetensorsFile file;
  file.tensors = network::initial_state(network, 3);
  return file;
}

WeightedNetwork with_file(std::int64_t asked_classes, bool keeps_classes, weights::SafetensorsFile file) {
  const NetworkBuilder build = [](const network::ModelOptions& options) { return network::build("resnet20", options); };
  network::ModelOptions options;
  options.input = network::Shape{3, 32, 32};
  options.classes = asked_classes;
  return with_weights(build, options, keeps_classes, std::move(file), "'it.safetensors'", 1);
}

std::int64_t outputs_of(const network::Network& network) {
  return network.output_shape(network.outputs().front()).front();
}

TEST(WeightedNetworks, HaveAsManyOutputsAsTheirFile) {
  const network::Network seven = small_resnet20(3, 7);
  const WeightedNetwork found = with_file(10, false, file_of(seven));
  EXPECT_EQ(outputs_of(found.network), 7);
  EXPECT_EQ(found.state.at("conv1.weight"), network::initial_state(seven, 3).at("conv1.weight"));
  EXPECT_EQ(outputs_of(with_file(7, true, file_of(seven)).network), 7);
  try {
    with_file(5, true, file_of(seven));
    ADD_FAILURE() << "a file of seven classes made five";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'it.safetensors' has 7 outputs, not 5"), HasSubstr("--classes")));
  }
}

TEST(FittingNetworks, AreThoseOfTheZooWithTheirOutputsAndChannels) {
  for (const std::int64_t channels : {3, 1}) {
    const auto fitting = fitting_networks(file_of(small_resnet20(channels, 7)));
    ASSERT_EQ(fitting.size(), 1U) << channels;
    EXPECT_EQ(fitting[0].model, "resnet20");
    EXPECT_EQ(fitting[0].outputs, 7);
    EXPECT_EQ(fitting[0].channels, channels == 1 ? 1 : 0);
  }
  weights::SafetensorsFile part = file_of(small_resnet20(3, 7));
  part.tensors.erase("conv1.weight");
  EXPECT_TRUE(fitting_networks(part).empty());
}

TEST(FittingNetworks, AreToldWithTheCommandThatTakesThem) {
  const FittingNetwork usual{.model = "resnet20", .outputs = 7, .notes = {}};
  const FittingNetwork grey{.model = "vgg16", .channels = 1, .notes = {}};
  EXPECT_EQ(usual.usage("a b.pt"), "resnet20 --weights a b.pt");
  EXPECT_EQ(grey.usage("w.pt"), "vgg16 --weights w.pt --channels 1");
  EXPECT_EQ(fitting_text({usual, grey}, "w.pt"), "they fit resnet20: name it, as in 'resnet20 --weights w.pt'");
  EXPECT_THAT(fitting_text({}, "w.pt"), AllOf(HasSubstr("no network of the zoo"), HasSubstr("'evener info w.pt'")));
}

}  // namespace
}  // namespace evener::task
