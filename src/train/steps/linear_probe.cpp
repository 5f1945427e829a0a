#include "train/steps/linear_probe.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/forked.h"
#include "base/message.h"
#include "engine/engine.h"
#include "infer/run/probe.h"
#include "infer/run/softmax_regression.h"

namespace evener::training {
namespace {

/// Chosen on 112 photos of ants and bees by cross-validation, where 0.0001 to 0.01 were equal and more was worse.
constexpr double kDecay = 0.01;
/// Where images are augmented: one as it is, and so many changed ones.
constexpr std::size_t kChangedCopies = 3;

class CopiedSamples : public data::Samples {
 public:
  CopiedSamples(const data::OpenedData& data, const LinearProbeOptions& options, std::size_t copies)
      : data_(data), options_(options), copies_(copies) {
    const data::ImageShape shape = data.dataset->shape();
    shape_ = {shape.channels, shape.height, shape.width};
  }

  std::size_t size() const override { return data_.split.train.size() * copies_; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return data_.dataset->source(sample(index)); }
  std::optional<std::int32_t> label(std::size_t index) const override {
    return data::label_of(*data_.dataset, sample(index));
  }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    data_.dataset->read(sample(index), values);
    const std::size_t copy = index % copies_;
    if (copy == 0) return;
    data::augment_image(options_.augment, data_.dataset->shape(), options_.seed, copy, sample(index), values);
  }

 private:
  std::uint32_t sample(std::size_t index) const { return data_.split.train[index / copies_]; }

  const data::OpenedData& data_;
  const LinearProbeOptions& options_;
  const std::size_t copies_;
  std::vector<std::int64_t> shape_;
};

/// As many samples as there is room for the features of.
std::size_t most_samples(std::int64_t values) {
  constexpr double kShare = 0.25;  // of what is free
  const double bytes = kShare * static_cast<double>(memory_limits().available_bytes);
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes / (static_cast<double>(values) * sizeof(float))));
}

inference::FeatureTable features_of(const network::Network& network, const inference::LinearHead& head,
                                    const TensorMap& state, const data::Samples& samples,
                                    const LinearProbeOptions& options) {
  inference::FeatureTable table;
  table.values = static_cast<std::size_t>(head.values);
  const std::size_t images = std::min(samples.size(), most_samples(head.values));
  table.features.reserve(images * table.values);
  const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
  inference::observe_results({*engine, options.normalization, options.threads}, network, state, {head.features},
                             samples, images, [&](const TensorMap& results, std::span<const std::size_t> indices) {
                               for (std::size_t i = 0; i < indices.size(); ++i) {
                                 const auto values = inference::values_of(results.at(head.features), i);
                                 table.features.insert(table.features.end(), values.begin(), values.end());
                                 table.labels.push_back(samples.label(indices[i]).value());
                               }
                             });
  return table;
}

void copy_to(const std::vector<double>& values, HostTensor& tensor) {
  std::ranges::transform(values, tensor.floats(), [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::unique_ptr<data::Samples> copied_samples(const data::OpenedData& data, const LinearProbeOptions& options,
                                              std::size_t copies) {
  return std::make_unique<CopiedSamples>(data, options, copies);
}

LinearProbe fit_linear_probe(const network::Network& network, const inference::LinearHead& head, TensorMap& state,
                             const data::OpenedData& data, const LinearProbeOptions& options) {
  const double begin_s = now_s();
  const std::size_t copies = options.augment.any() ? 1 + kChangedCopies : 1;
  const auto samples = copied_samples(data, options, copies);
  using Found = std::tuple<std::vector<double>, std::vector<double>, double, double, std::uint64_t>;
  const auto [weight, bias, loss, accuracy, seen] = answer_in_child([&] {
    inference::FeatureTable table = features_of(network, head, state, *samples, options);
    const std::uint64_t seen = table.samples();
    const inference::LinearFit fit =
        inference::fit_softmax(std::move(table), static_cast<std::size_t>(head.classes), kDecay, options.threads);
    return Found(std::vector<double>(fit.weight.begin(), fit.weight.end()),
                 std::vector<double>(fit.bias.begin(), fit.bias.end()), fit.loss, fit.accuracy, seen);
  });
  copy_to(weight, state.at(head.layer + ".weight"));
  if (head.has_bias) copy_to(bias, state.at(head.layer + ".bias"));
  return {head.layer, static_cast<std::size_t>(seen) / copies, copies, loss, accuracy, begin_s, now_s() - begin_s};
}

}  // namespace evener::training
