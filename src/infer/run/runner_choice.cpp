#include "infer/run/runner_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "network/cost.h"
#include "network/passes/quantize.h"

namespace evener::inference {
namespace {

// As measured on a Xeon (Sapphire Rapids), with AVX-512 and with AVX2, for the networks of docs/inference.md.
constexpr double kClearly = 1.05;
/// LibTorch's speed without Winograd's convolutions, as a share of OpenVINO's.
constexpr double kOtherSpeed = 0.85;
/// The share of the saved multiplications that is saved time, as the transforms take some of it.
constexpr double kReached = 0.6;
/// What LibTorch's start takes longer than OpenVINO's, with the trials of each convolution.
constexpr double kStart_s = 1.0;
constexpr std::int64_t kFewestChannels = 32;
constexpr std::int64_t kFewestTiles = 48;  // for each thread

/// Multiply-adds of a thread in a second, to estimate what a call takes.
double multiply_adds_per_s(SimdLevel level) {
  return level == SimdLevel::kAvx512 ? 70e9 : 35e9;
}

/// How many times as fast Winograd's convolution is as a direct one; 1 where it isn't, or can't compute the layer.
double layer_gain(const network::Layer& layer, const network::Shape& input, std::int64_t batch, int threads) {
  constexpr std::int64_t kTile = 4, kChannelBlock = 16;
  constexpr double kMultiplications = 36, kDirect = 9;  // for a tile, for a pixel
  const auto* op = std::get_if<network::Conv2d>(&layer.op);
  if (op == nullptr || op->groups != 1 || op->weight_bits != 0) return 1;
  if (op->kernel != network::Extent2d{3, 3} || op->stride != network::Extent2d{1, 1}) return 1;
  const std::int64_t in = input.front(), out = op->out_channels;
  if (in % kChannelBlock != 0 || out % kChannelBlock != 0 || std::min(in, out) < kFewestChannels) return 1;
  const std::int64_t height = layer.shape[1], width = layer.shape[2];
  const std::int64_t tiles = ((height + kTile - 1) / kTile) * ((width + kTile - 1) / kTile);
  if (batch * tiles < threads * kFewestTiles) return 1;
  const double saved = kDirect * static_cast<double>(height * width) / (kMultiplications * static_cast<double>(tiles));
  return std::max(1.0, kReached * saved);
}

/// The fewest images whose saved time makes up for LibTorch's start.
std::int64_t images_worth_torch(const RunnerQuestion& question, const WinogradUse& use) {
  const double image_s = static_cast<double>(network::forward_macs(*question.network)) /
                         (multiply_adds_per_s(question.level) * std::max(1, question.threads));
  return static_cast<std::int64_t>(std::ceil(kStart_s / (image_s * (1 - 1 / use.gain))));
}

}  // namespace

WinogradUse winograd_use(const network::Network& network, std::int64_t batch, int threads) {
  const std::vector<network::LayerCost> costs = network::layer_costs(network);
  double all = 0, shortened = 0, time = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const network::Layer& layer = network.layers()[i];
    const auto operations = static_cast<double>(costs[i].forward_flops);
    const double gain =
        layer.inputs.empty()
            ? 1
            : layer_gain(layer, network.layers()[static_cast<std::size_t>(layer.inputs.front())].shape, batch, threads);
    all += operations;
    if (gain > 1) shortened += operations;
    time += operations / (gain > 1 ? gain : kOtherSpeed);
  }
  return all == 0 ? WinogradUse{} : WinogradUse{shortened / all, all / time};
}

RunnerChoice choose_runner_engine(const RunnerQuestion& question) {
  if (question.network == nullptr) return {"openvino", "it reads files of other programs"};
  if (network::is_quantized(*question.network)) return {"openvino", "it computes in int8"};
  if (computed_precision(question.precision, DeviceKind::kCpu) != Precision::kFp32) {
    return {"openvino", fmt::format("the faster one in {} on CPUs", precision_name(question.precision))};
  }
  const RunnerChoice usual = {"openvino", "the faster one for this network on CPUs"};
  if (question.level == SimdLevel::kBaseline) return usual;
  const int streams = std::max(1, question.streams);
  const WinogradUse use =
      winograd_use(*question.network, question.batch, std::max(1, (question.threads + streams - 1) / streams));
  if (use.gain < kClearly) return usual;
  if (const std::int64_t fewest = images_worth_torch(question, use); question.images < fewest) {
    return {"openvino", fmt::format("the sooner one for so few images; by rule torch is for {} and more", fewest)};
  }
  if (!question.has_torch()) return {"openvino", "torch would be faster, and can't be used here"};
  return {"torch",
          fmt::format("by rule {:.1f} times as fast as openvino, as Winograd's convolutions do {:.0f} % of the "
                      "operations",
                      use.gain, 100 * use.share)};
}

}  // namespace evener::inference
