#include "task/training/training_profile.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "network/init.h"

namespace evener::task {
namespace {

/// A batch of noise with targets of the network's kind.
class NoiseBatch {
 public:
  NoiseBatch(const TrainSetup& setup, std::int64_t images)
      : shape_(setup.image), pixels_(static_cast<std::size_t>(images) * setup.image.bytes()) {
    Random random(1, Purpose::kSynthetic);
    for (std::uint8_t& pixel : pixels_) pixel = static_cast<std::uint8_t>(random.below(256));
    const std::size_t classes = std::max<std::size_t>(1, setup.classes.size());
    const auto width = static_cast<float>(shape_.width), height = static_cast<float>(shape_.height);
    for (std::int64_t i = 0; i < images; ++i) {
      samples_.push_back(static_cast<std::uint32_t>(i));
      labels_.push_back(static_cast<std::int32_t>(random.below(classes)));
      boxes_.push_back(
          {{.x1 = width / 4, .y1 = height / 4, .x2 = width * 3 / 4, .y2 = height * 3 / 4, .label = labels_.back()}});
    }
    batch_ = {images, shape_, pixels_, data::ClassTargets{labels_}, samples_, 1};
    if (!setup.network.anchors().empty()) batch_.targets = data::BoxTargets{boxes_};
  }
  NoiseBatch(const NoiseBatch&) = delete;
  NoiseBatch& operator=(const NoiseBatch&) = delete;

  const data::Batch& batch() const { return batch_; }

 private:
  data::ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint32_t> samples_;
  std::vector<std::int32_t> labels_;
  std::vector<std::vector<data::LabelledBox>> boxes_;
  data::Batch batch_;
};

}  // namespace

NetworkProfile profile_training(const TrainSetup& setup, const TrainOptions& options) {
  const auto& stage = options.plan.replicas.front().stages.front();
  engine::TrainerOptions trainer = options.trainer;
  trainer.device = stage.device;
  trainer.threads = stage.threads;
  trainer.cpus = stage.cpus;
  trainer.mean = setup.normalization.mean;
  trainer.standard_deviation = setup.normalization.standard_deviation;
  trainer.sum_over_replicas = nullptr;
  trainer.shared = {};
  trainer.resident = nullptr;
  NetworkProfile profile;
  profile.engine = setup.engine;
  const auto replicas = static_cast<std::int64_t>(options.plan.replicas.size());
  profile.batch = std::max<std::int64_t>(1, options.batch / replicas / std::max(1, options.accumulate));
  profile.precision = trainer.precision;
  if (stage.device.kind == DeviceKind::kCpu) profile.threads = stage.threads;
  const auto engine = engine::open_engine(setup.engine);
  const auto made = engine->make_trainer(setup.network, trainer);
  engine::TimesLayers* layers = made->capabilities().layers;
  if (layers == nullptr) {
    profile.reason = "the engine '" + setup.engine +
                     "' computes all layers as one and doesn't tell what each takes; --engine torch does";
    return profile;
  }
  made->load_state(network::initial_state(setup.network, trainer.seed));
  const NoiseBatch noise(setup, profile.batch);
  fill_profile(repeated_passes([&] { return layers->time_layers(noise.batch()); }), &setup.network, stage.device,
               profile);
  return profile;
}

}  // namespace evener::task
