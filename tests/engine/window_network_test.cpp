// Networks of windows, computed row by row, against plain loops over whole images; and the kernels behind them on every
// instruction set of this machine.
#include "engine/window_network.h"

#include <gmock/gmock.h>

#include <map>

#include "base/error.h"
#include "base/random.h"
#include "base/simd_level.h"
#include "engine/kernels/levels.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener::engine {
namespace {

using network::Conv2d;
using network::MaxPool;
using network::Network;
using network::PRelu;

/// Planes of an image.
struct Image {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<float> values = {};

  static Image of(std::int64_t channels, std::int64_t height, std::int64_t width) {
    return {channels, height, width, std::vector<float>(static_cast<std::size_t>(channels * height * width))};
  }
  float& at(std::int64_t c, std::int64_t y, std::int64_t x) {
    return values[static_cast<std::size_t>((c * height + y) * width + x)];
  }
  float at(std::int64_t c, std::int64_t y, std::int64_t x) const { return const_cast<Image*>(this)->at(c, y, x); }
};

std::vector<float> noise(std::int64_t count, std::uint64_t key) {
  Random random(1, Purpose::kSynthetic, key);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.uniform()) * 2 - 1);
  return values;
}

Image convolved(const Image& in, std::int64_t out_channels, std::int64_t kernel, const float* weight,
                const float* bias) {
  Image out = Image::of(out_channels, in.height - kernel + 1, in.width - kernel + 1);
  for (std::int64_t o = 0; o < out_channels; ++o) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.width; ++x) {
        double sum = bias[o];
        const float* w = weight + o * in.channels * kernel * kernel;
        for (std::int64_t c = 0; c < in.channels; ++c) {
          for (std::int64_t ky = 0; ky < kernel; ++ky) {
            for (std::int64_t kx = 0; kx < kernel; ++kx) sum += static_cast<double>(in.at(c, y + ky, x + kx)) * *w++;
          }
        }
        out.at(o, y, x) = static_cast<float>(sum);
      }
    }
  }
  return out;
}

Image pooled(const Image& in, std::int64_t kernel) {
  const auto extent = [&](std::int64_t n) { return (n - kernel + 1) / 2 + 1; };
  Image out = Image::of(in.channels, extent(in.height), extent(in.width));
  for (std::int64_t c = 0; c < out.channels; ++c) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.width; ++x) {
        float most = -1e30F;
        for (std::int64_t ky = 2 * y; ky < std::min(2 * y + kernel, in.height); ++ky) {
          for (std::int64_t kx = 2 * x; kx < std::min(2 * x + kernel, in.width); ++kx) {
            most = std::max(most, in.at(c, ky, kx));
          }
        }
        out.at(c, y, x) = most;
      }
    }
  }
  return out;
}

/// What plain loops make of a network of one branch up to `layer`.
Image plain(const Network& network, const TensorMap& state, int layer, const Image& image) {
  const network::Layer& now = network.layers()[static_cast<std::size_t>(layer)];
  if (now.inputs.empty()) return image;
  Image in = plain(network, state, now.inputs.front(), image);
  if (const auto* conv = std::get_if<Conv2d>(&now.op)) {
    const std::vector<float> none(static_cast<std::size_t>(conv->out_channels));
    return convolved(in, conv->out_channels, conv->kernel.height, state.at(now.name + ".weight").floats(),
                     conv->bias ? state.at(now.name + ".bias").floats() : none.data());
  }
  if (const auto* pool = std::get_if<MaxPool>(&now.op)) return pooled(in, pool->kernel.height);
  if (std::holds_alternative<network::Flatten>(now.op)) {
    return {static_cast<std::int64_t>(in.values.size()), 1, 1, std::move(in.values)};
  }
  if (const auto* linear = std::get_if<network::Linear>(&now.op)) {
    return convolved(in, linear->out_features, 1, state.at(now.name + ".weight").floats(),
                     state.at(now.name + ".bias").floats());
  }
  const float* slope = state.at(now.name + ".weight").floats();
  for (std::int64_t c = 0; c < in.channels; ++c) {
    for (std::int64_t i = 0; i < in.height * in.width; ++i) {
      float& value = in.values[static_cast<std::size_t>(c * in.height * in.width + i)];
      if (value < 0) value *= slope[c];
    }
  }
  return in;
}

WindowNetwork::ReadRow rows_of(const Image& image) {
  return [&image](std::int64_t y, std::span<float* const> planes) {
    for (std::int64_t c = 0; c < image.channels; ++c) {
      for (std::int64_t x = 0; x < image.width; ++x) planes[static_cast<std::size_t>(c)][x] = image.at(c, y, x);
    }
  };
}

/// Sums of 288 products at most, each rounded: some 1e-5 of values around 1.
constexpr double kTolerance = 2e-5;

void expect_plain(const Network& network, const TensorMap& state, WindowNetwork& windows, const Image& image) {
  const auto& outputs = windows.run({image.height, image.width}, rows_of(image));
  ASSERT_EQ(outputs.size(), network.outputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Image expected = plain(network, state, network.outputs()[i].layer, image);
    EXPECT_EQ(outputs[i].name, network.outputs()[i].name);
    ASSERT_EQ(outputs[i].rows, expected.height) << image.height << "x" << image.width;
    ASSERT_EQ(outputs[i].columns, expected.width) << image.height << "x" << image.width;
    ASSERT_EQ(outputs[i].values.size(), expected.values.size());
    for (std::size_t k = 0; k < expected.values.size(); ++k) {
      ASSERT_NEAR(outputs[i].values[k], expected.values[k], kTolerance)
          << outputs[i].name << " of " << image.height << "x" << image.width << " at " << k;
    }
  }
}

/// A slope of its own for each filter, which networks that are new don't have.
TensorMap with_slopes(const Network& network) {
  TensorMap state = network::initial_state(network, 1);
  for (const auto& layer : network.layers()) {
    if (!std::holds_alternative<PRelu>(layer.op)) continue;
    HostTensor& slopes = state.at(layer.name + ".weight");
    const std::int64_t count = element_count(slopes.shape);
    for (std::int64_t c = 0; c < count; ++c) slopes.floats()[c] = static_cast<float>(c + 1) / static_cast<float>(count);
  }
  return state;
}

TEST(WindowNetwork, ComputesTheProposalNetworkForImagesOfAnySize) {
  const Network network = network::build("mtcnn_pnet", {});
  const TensorMap state = with_slopes(network);
  WindowNetwork windows(network, state);
  // Odd and even extents: the last window of the pool is whole, or half.
  for (const auto& [height, width] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {12, 12}, {13, 12}, {12, 45}, {47, 13}, {30, 131}, {33, 212}, {12, 12}}) {
    Image image = Image::of(3, height, width);
    image.values = noise(3 * height * width, static_cast<std::uint64_t>(height * 1000 + width));
    expect_plain(network, state, windows, image);
  }
}

TEST(WindowNetwork, ComputesSeveralImagesTogetherAndLinearLayers) {
  for (const auto& [model, counts] :
       std::map<const char*, std::vector<std::int64_t>>{{"mtcnn_rnet", {1, 17}}, {"mtcnn_onet", {3}}}) {
    const Network network = network::build(model, {});
    const TensorMap state = with_slopes(network);
    const std::int64_t side = network.input_shape()[1];
    WindowNetwork windows(network, state);
    for (const std::int64_t count : counts) {
      std::vector<Image> images;
      for (std::int64_t i = 0; i < count; ++i) {
        images.push_back(Image::of(3, side, side));
        images.back().values = noise(3 * side * side, static_cast<std::uint64_t>(100 * count + i));
      }
      const auto& outputs = windows.run({side, side, count}, [&](std::int64_t y, std::span<float* const> planes) {
        for (std::int64_t c = 0; c < 3; ++c) {
          for (std::int64_t at = 0; at < side * count; ++at) {
            planes[static_cast<std::size_t>(c)][at] = images[static_cast<std::size_t>(at % count)].at(c, y, at / count);
          }
        }
      });
      ASSERT_EQ(outputs.size(), network.outputs().size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (std::int64_t image = 0; image < count; ++image) {
          const Image expected =
              plain(network, state, network.outputs()[i].layer, images[static_cast<std::size_t>(image)]);
          ASSERT_EQ(outputs[i].values.size(), expected.values.size() * static_cast<std::size_t>(count));
          for (std::size_t k = 0; k < expected.values.size(); ++k) {
            ASSERT_NEAR(outputs[i].values[k * static_cast<std::size_t>(count) + static_cast<std::size_t>(image)],
                        expected.values[k], kTolerance)
                << model << ", image " << image << " of " << count << ", " << outputs[i].name;
          }
        }
      }
    }
    EXPECT_THROW(windows.run({side + 1, side}, [](std::int64_t, std::span<float* const>) {}), Error);
  }
}

TEST(WindowNetwork, OtherWindowsAndNumbersOfFilters) {
  Network network("other", {2, 20, 20});
  network.add("a", Conv2d{.out_channels = 7, .kernel = 5, .bias = true});
  network.add("slope", PRelu{});
  network.add("pool", MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true});
  network.add("b", Conv2d{.out_channels = 11, .kernel = 2});
  const int trunk = network.add("c", Conv2d{.out_channels = 3, .kernel = 1, .bias = true});
  network.set_output("trunk", trunk);
  network.set_output("head", network.add("d", Conv2d{.out_channels = 24, .bias = true}, {trunk}));
  const TensorMap state = network::initial_state(network, 3);
  WindowNetwork windows(network, state);
  for (const std::int64_t width : {8, 9, 10, 67}) {
    Image image = Image::of(2, 11, width);
    image.values = noise(2 * 11 * width, static_cast<std::uint64_t>(width));
    expect_plain(network, state, windows, image);
  }
}

TEST(WindowNetwork, AnImageSmallerThanAWindowHasNoPlaces) {
  const Network network = network::build("mtcnn_pnet", {});
  WindowNetwork windows(network, network::initial_state(network, 1));
  for (const auto& [height, width] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 50}, {9, 9}}) {
    const Image image = Image::of(3, height, width);
    const auto& outputs = windows.run({height, width}, rows_of(image));
    EXPECT_EQ(outputs.front().rows * outputs.front().columns, 0) << height << "x" << width;
    EXPECT_TRUE(outputs.front().values.empty());
  }
}

TEST(WindowNetwork, RefusesWhatItCannotComputeByName) {
  EXPECT_THAT(WindowNetwork::refusal(network::build("resnet18", {})), testing::HasSubstr("'conv1' of resnet18"));
  Network padded("padded", {3, 8, 8});
  padded.add("edge", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1});
  EXPECT_THAT(WindowNetwork::refusal(padded), testing::HasSubstr("'edge' of padded is a convolution with padding"));
  const Network network = network::build("mtcnn_pnet", {});
  TensorMap state = network::initial_state(network, 1);
  state.erase("conv2.bias");
  EXPECT_THROW(WindowNetwork(network, state), Error);
  EXPECT_THROW(WindowNetwork(network, network::initial_state(network::build("mtcnn_onet", {}), 1)), Error);
}

std::vector<const kernels::RowKernels*> levels() {
  std::vector<const kernels::RowKernels*> levels = {&kernels::baseline::level.rows};
  if (simd_level() != SimdLevel::kBaseline) levels.push_back(&kernels::avx2::level.rows);
  if (simd_level() == SimdLevel::kAvx512) levels.push_back(&kernels::avx512::level.rows);
  return levels;
}

/// What a level's kernels make of rows of so many images, one after the other: a convolution, then a max-pool.
std::vector<float> seen_by(const kernels::RowKernels& level, std::int64_t filters, std::int64_t images) {
  constexpr std::int64_t kIn = 3, kKernel = 3, kStride = 256;
  const std::int64_t in_columns = 101 / images, columns = in_columns - kKernel + 1, pooled = in_columns / 2;
  const std::vector<float> image = noise(kKernel * kIn * kStride, 5);
  const float* rows[kKernel];
  for (std::int64_t y = 0; y < kKernel; ++y) rows[y] = image.data() + y * kIn * kStride;
  const std::vector<float> weight = noise(filters * kIn * kKernel * kKernel, 6), bias = noise(filters, 7),
                           slope = noise(filters, 8);
  std::vector<float> sums(static_cast<std::size_t>(filters * kStride)), pool(kIn * kStride);
  std::vector<float> scratch(kStride + kernels::kRowSlack);
  level.convolve({rows, kIn, kStride, kKernel, weight.data(), bias.data(), slope.data(), filters,
                  kernels::filter_block(filters), sums.data(), kStride, columns, images});
  level.max_pool(
      {rows, kKernel, kIn, kStride, in_columns, kKernel, scratch.data(), pool.data(), kStride, pooled, images});
  std::vector<float> seen;
  const auto take = [&](const std::vector<float>& from, std::int64_t planes, std::int64_t values) {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const auto first = from.begin() + plane * kStride;
      seen.insert(seen.end(), first, first + values);
    }
  };
  take(sums, filters, columns * images);
  take(pool, kIn, pooled * images);
  return seen;
}

TEST(RowKernels, AllInstructionSetsComputeTheSame) {
  for (const std::int64_t images : {1, 17}) {
    for (std::int64_t filters = 1; filters <= 16; ++filters) {
      const std::vector<float> expected = seen_by(*levels().front(), filters, images);
      for (const kernels::RowKernels* level : levels()) {
        EXPECT_THAT(seen_by(*level, filters, images), testing::Pointwise(testing::FloatNear(1e-5F), expected))
            << filters << " filters, " << images << " images";
      }
    }
  }
}

TEST(RowKernels, FourRowsTogetherAreThoseOneByOne) {
  constexpr std::int64_t kIn = 3, kStride = 512, kUnder = kernels::kRowsUnderFour;
  for (const std::int64_t images : {1, 17}) {
    const std::int64_t columns = 403 / images;  // of several parts, the last of them not full
    const std::vector<float> image = noise(kUnder * kIn * kStride, 5);
    const float* rows[kUnder];
    for (std::int64_t y = 0; y < kUnder; ++y) rows[y] = image.data() + y * kIn * kStride;
    for (std::int64_t filters = 1; filters <= 16; ++filters) {
      const std::int64_t block = kernels::filter_block(filters);
      const std::vector<float> weight = noise(filters * kIn * 9, 6), bias = noise(filters, 7),
                               slope = noise(filters, 8);
      for (const kernels::RowKernels* level : levels()) {
        for (const float* slopes : {slope.data(), static_cast<const float*>(nullptr)}) {
          std::vector<float> transformed(2 * weight.size()), alone(static_cast<std::size_t>(filters * kStride));
          level->transform_weights(weight.data(), filters, kIn, block, transformed.data());
          kernels::ConvolveRow row = {rows,    kIn,   kStride,      3,       weight.data(), bias.data(), slopes,
                                      filters, block, alone.data(), kStride, columns,       images};
          std::vector<std::vector<float>> together(kernels::kFourRows, alone);
          std::vector<float> scratch(static_cast<std::size_t>(kernels::four_rows_scratch(kIn, images)));
          kernels::ConvolveFour four = {row, {}, scratch.data()};
          four.row.weight = transformed.data();
          for (std::size_t y = 0; y < together.size(); ++y) four.out[y] = together[y].data();
          level->convolve_four(four);
          for (std::int64_t y = 0; y < kernels::kFourRows; ++y) {
            row.rows = rows + y;
            level->convolve(row);
            for (std::int64_t at = 0; at < filters * kStride; ++at) {
              if (at % kStride >= columns * images) continue;
              const auto i = static_cast<std::size_t>(at);
              ASSERT_NEAR(together[static_cast<std::size_t>(y)][i], alone[i], kTolerance)
                  << filters << " filters, " << images << " images, row " << y << " at " << at;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace evener::engine
