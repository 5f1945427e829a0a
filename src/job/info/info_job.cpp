#include "job/info/info_job.h"

#include "base/error.h"
#include "job/info/file_info.h"
#include "job/info/network_info.h"
#include "job/options/image_size.h"
#include "network/zoo.h"

namespace evener::job {
namespace {

/// The image shape asked for; nothing if neither a size nor channels are given.
std::optional<network::Shape> asked_input(const InfoFlags& options) {
  if (options.size->empty() && !*options.channels) return std::nullopt;
  const network::Shape usual = network::build(*options.model, {}).input_shape();
  const bool image = usual.size() == 3;
  if (options.size->empty() && !image) {
    throw UsageError("--channels " + std::to_string(**options.channels) + " says too little for " + *options.model +
                     ", which takes images of any size: give --size WIDTHxHEIGHT as well");
  }
  const ImageSize size = options.size->empty() ? ImageSize{usual[2], usual[1]} : parse_image_size(*options.size);
  const std::int64_t pixels = size.width * size.height;
  // A perceptron's number of inputs tells the channels: 784 is one of 28x28, 3072 is three of 32x32.
  const std::int64_t likely = image ? usual[0] : usual[0] % pixels == 0 ? usual[0] / pixels : 1;
  return network::Shape{options.channels->value_or(likely), size.height, size.width};
}

Description describe_file(const InfoFlags& flags) {
  if (*flags.classes) throw UsageError("--classes is for networks by name; '" + *flags.model + "' has its own");
  FileInfoRequest request{.path = *flags.model, .width = {}, .height = {}, .channels = *flags.channels};
  if (!flags.size->empty()) {
    const ImageSize size = parse_image_size(*flags.size);
    request.width = size.width;
    request.height = size.height;
  }
  return file_info(request);
}

}  // namespace

Description describe(const InfoFlags& flags) {
  if (is_info_of_file(*flags.model)) return describe_file(flags);
  const network::Network net = network::build(*flags.model, {.input = asked_input(flags), .classes = *flags.classes});
  return {network_text(net), network_json(net)};
}

}  // namespace evener::job
