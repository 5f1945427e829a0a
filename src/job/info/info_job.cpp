#include "job/info/info_job.h"

#include "base/error.h"
#include "job/info/file_info.h"
#include "job/info/network_info.h"
#include "job/options/image_size.h"
#include "network/zoo.h"
#include "placement/machine.h"
#include "task/training/training_memory.h"

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

/// What train would do with the network if nothing else was asked for, with data of enough images.
task::TrainingWork usual_training(const network::Network& net, std::optional<std::int64_t> batch) {
  const bool is_detector = !net.anchors().empty();
  const bool is_perceptron = net.model().starts_with("mlp:");
  const task::TrainOptions usual;
  constexpr std::int64_t kDetectorBatch = 16;
  task::TrainingWork work;
  work.engine = is_perceptron ? "native" : "torch";
  if (is_detector) work.trainer.optimizer.kind = engine::OptimizerKind::kAdamW;
  work.batch = batch.value_or(is_detector ? kDetectorBatch : usual.batch);
  work.threads = placement::machine().cores;
  work.loads_batches = !is_perceptron;
  const network::Shape& input = net.input_shape();
  work.image = input.size() == 3 ? data::ImageShape{input[0], input[1], input[2]} : data::ImageShape{1, 1, input[0]};
  work.train_images = static_cast<std::size_t>(3 * work.batch);
  work.images = 2 * work.train_images;
  return work;
}

Description describe_file(const InfoFlags& flags) {
  if (*flags.classes) throw UsageError("--classes is for networks by name; '" + *flags.model + "' has its own");
  if (*flags.batch) throw UsageError("--batch is for networks by name, whose training's memory is estimated");
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
  const task::TrainingWork work = usual_training(net, *flags.batch);
  return {network_text(net, work), network_json(net, work)};
}

}  // namespace evener::job
