// Random changes of images: what they do, what decides them, and how they are written.
#include "data/augment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/data_helpers.h"
#include "data/loader.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::Each;
using ::testing::HasSubstr;

using Pixels = std::vector<std::uint8_t>;

const ImageShape kShape{3, 12, 16};

Pixels noise(const ImageShape& shape, std::uint64_t seed) {
  Random random(seed, Purpose::kSynthetic);
  Pixels pixels(shape.bytes());
  for (auto& value : pixels) value = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

Pixels changed(const std::string& text, std::uint64_t epoch, std::uint32_t sample, Pixels pixels = noise(kShape, 1)) {
  augment_image(parse_augment(text), kShape, 1, epoch, sample, pixels);
  return pixels;
}

TEST(AugmentText, IsReadAndWritten) {
  AugmentOptions expected;
  expected.flip = true;
  expected.crop_padding = 4;
  expected.colour = 0.2;
  expected.mixup = 0.4;
  expected.least_area = 0.5;
  const AugmentOptions read = parse_augment("flip,crop:4,colour:0.2,mixup:0.4,resized-crop:0.5");
  EXPECT_EQ(read, expected);
  EXPECT_EQ(parse_augment(augment_text(read)), expected);
  EXPECT_EQ(augment_text(parse_augment("mixup:0.2,flip")), "flip,mixup:0.2");
  EXPECT_FALSE(parse_augment("").any());
  EXPECT_EQ(parse_augment("crop").crop_padding, 4);
}

TEST(AugmentText, NamesWhatIsWrong) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_augment(text); }); };
  EXPECT_THAT(error("flop"), HasSubstr("did you mean 'flip'"));
  EXPECT_THAT(error("color:0.2"), HasSubstr("did you mean 'colour'"));
  EXPECT_THAT(error("flip,"), HasSubstr("unknown change of images ''"));
  EXPECT_THAT(error("crop:0"), HasSubstr("more than 0"));
  EXPECT_THAT(error("crop:1.5"), HasSubstr("whole number"));
  EXPECT_THAT(error("colour:x"), HasSubstr("'x' in 'colour:x' is not a number"));
  EXPECT_THAT(error("colour:nan"), HasSubstr("more than 0"));
  EXPECT_THAT(error("mixup:100"), HasSubstr("at most 4"));
  EXPECT_THAT(error("flip:1"), HasSubstr("no value"));
  EXPECT_THAT(error("flip,flip"), HasSubstr("twice"));
}

TEST(Augment, DependsOnSeedEpochAndSampleAlone) {
  const std::string all = "flip,crop:4,colour:0.3,resized-crop:0.3";
  EXPECT_EQ(changed(all, 1, 7), changed(all, 1, 7));
  EXPECT_NE(changed(all, 1, 7), changed(all, 2, 7));
  EXPECT_NE(changed(all, 1, 7), changed(all, 1, 8));
}

TEST(Augment, FlipsHalfOfTheImages) {
  const Pixels before = noise(kShape, 1);
  Pixels mirrored = before;
  for (std::size_t row = 0; row < 36; ++row)
    std::reverse(mirrored.begin() + row * 16, mirrored.begin() + row * 16 + 16);
  int flipped = 0;
  for (std::uint32_t sample = 0; sample < 2000; ++sample) {
    const Pixels after = changed("flip", 1, sample);
    ASSERT_TRUE(after == before || after == mirrored);
    flipped += after == mirrored;
  }
  EXPECT_NEAR(flipped, 1000, 4 * 22.4);  // four standard deviations of 2000 throws of a coin
}

TEST(Augment, ShiftsByUpToThePadding) {
  const Pixels before = noise(kShape, 1);
  std::vector<int> seen(81);
  for (std::uint32_t sample = 0; sample < 2000; ++sample) {
    const Pixels after = changed("crop:4", 1, sample);
    int found = -1;
    for (int down = -4; down <= 4 && found < 0; ++down) {
      for (int right = -4; right <= 4 && found < 0; ++right) {
        bool is_same = true;
        for (int c = 0; c < 3 && is_same; ++c) {
          for (int i = 0; i < 12 * 16 && is_same; ++i) {
            const int y = i / 16 - down, x = i % 16 - right;
            const bool inside = y >= 0 && y < 12 && x >= 0 && x < 16;
            is_same = after[c * 192 + i] == (inside ? before[c * 192 + y * 16 + x] : 0);
          }
        }
        if (is_same) found = (down + 4) * 9 + right + 4;
      }
    }
    ASSERT_GE(found, 0) << sample;
    ++seen[static_cast<std::size_t>(found)];
  }
  EXPECT_THAT(seen, Each(::testing::Gt(5)));  // 25 of each on average
}

TEST(Augment, AShiftLargerThanTheImageLeavesBlackOnly) {
  const ImageShape tiny{1, 2, 2};
  for (std::uint32_t sample = 0; sample < 50; ++sample) {
    Pixels pixels(4, 200);
    augment_image(parse_augment("crop:1000"), tiny, 1, 1, sample, pixels);
    for (const std::uint8_t value : pixels) EXPECT_TRUE(value == 0 || value == 200);
  }
}

TEST(Augment, JitterKeepsBlackAndChangesGreyByItsStrength) {
  EXPECT_THAT(changed("colour:0.5", 1, 3, Pixels(kShape.bytes(), 0)), Each(0));
  int lowest = 255, highest = 0;
  for (std::uint32_t sample = 0; sample < 500; ++sample) {
    const Pixels after = changed("colour:0.2", 1, sample, Pixels(kShape.bytes(), 100));
    EXPECT_THAT(after, Each(after[0]));  // an even picture has neither contrast nor colour
    lowest = std::min<int>(lowest, after[0]);
    highest = std::max<int>(highest, after[0]);
  }
  EXPECT_NEAR(lowest, 80, 1);
  EXPECT_NEAR(highest, 120, 1);
}

// Contrast and saturation of an even picture turn about its own luma (ITU-R BT.601), which brightness alone changes: by
// as much as a grey picture's value.
TEST(Augment, JitterChangesTheLumaByTheBrightnessAlone) {
  const auto luma = [](double red, double green, double blue) { return 0.299 * red + 0.587 * green + 0.114 * blue; };
  const std::uint8_t colours[][3] = {{150, 60, 20}, {20, 150, 60}, {60, 20, 150}};
  for (const auto& [red, green, blue] : colours) {
    Pixels even(kShape.bytes());
    std::fill_n(even.begin(), 192, red);
    std::fill_n(even.begin() + 192, 192, green);
    std::fill_n(even.begin() + 384, 192, blue);
    int judged = 0;
    for (std::uint32_t sample = 0; sample < 100; ++sample) {
      const Pixels after = changed("colour:0.4", 1, sample, even);
      const std::array<int, 3> now = {after[0], after[192], after[384]};
      if (std::ranges::any_of(now, [](int value) { return value == 0 || value == 255; })) continue;  // was cut off
      const double brightness = changed("colour:0.4", 1, sample, Pixels(kShape.bytes(), 100))[0] / 100.0;
      // Roundings: of the three values, and of the grey one.
      EXPECT_NEAR(luma(now[0], now[1], now[2]), brightness * luma(red, green, blue), 1.2) << sample;
      ++judged;
    }
    EXPECT_GT(judged, 40);
  }
}

TEST(Augment, AResizedCropOfTheWholeAreaShowsNearlyTheWhole) {
  // A ramp from left to right: a crop shows a part of its range.
  Pixels ramp(kShape.bytes());
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<std::uint8_t>(i % 16 * 16);
  for (std::uint32_t sample = 0; sample < 100; ++sample) {
    const Pixels small = changed("resized-crop:0.1", 1, sample, ramp),
                 large = changed("resized-crop:1", 1, sample, ramp);
    const auto range = [](const Pixels& pixels) {
      const auto [least, most] = std::minmax_element(pixels.begin(), pixels.end());
      return *most - *least;
    };
    EXPECT_GE(range(large), 180);
    EXPECT_LE(range(small), range(large) + 16);
  }
}

TEST(Augment, ResizedCropsHaveAreasAndProportionsOfTheWholeRange) {
  const ImageShape shape{1, 96, 128};
  const AugmentOptions options = parse_augment("resized-crop:0.2");
  constexpr std::uint32_t kSamples = 2000;
  int small = 0;
  double least = 1, narrowest = 1, widest = 1;
  for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
    std::vector<LabelledBox> boxes;  // of one pixel; those that stay whole are enlarged as the crop is
    for (float y = 0; y < 96; y += 8) {
      for (float x = 0; x < 128; x += 8) boxes.push_back({x, y, x + 1, y + 1, 0, false});
    }
    augment_boxes(options, shape, 1, 1, sample, boxes);
    float wider = 0, higher = 0;
    for (const LabelledBox& box : boxes) {
      wider = std::max(wider, box.x2 - box.x1);
      higher = std::max(higher, box.y2 - box.y1);
    }
    const double area = 1 / (wider * higher);
    least = std::min(least, area);
    if (area >= 0.4) continue;  // larger crops are cut at the image's edges
    ++small;
    narrowest = std::min<double>(narrowest, higher / wider);
    widest = std::max<double>(widest, higher / wider);
  }
  // Areas are equally probable from 0.2 to 1, so a quarter is below 0.4; three standard deviations are 0.03.
  EXPECT_NEAR(small / double{kSamples}, 0.25, 0.03);
  EXPECT_NEAR(least, 0.2, 0.01);
  EXPECT_NEAR(narrowest, 0.75, 0.04);
  EXPECT_NEAR(widest, 1.33, 0.04);
}

TEST(Mixup, DrawsWeightsOfTheBetaDistribution) {
  const std::vector<std::uint32_t> partners{5, 6, 7};
  double sum = 0;
  std::vector<int> seen(3);
  for (std::uint32_t sample = 0; sample < 4000; ++sample) {
    const Mixture mixture = draw_mixture(1, partners, 1, 1, sample);
    EXPECT_GE(mixture.weight, 0.5F);
    EXPECT_LE(mixture.weight, 1.0F);
    sum += mixture.weight;
    ++seen[mixture.partner - 5];
  }
  EXPECT_NEAR(sum / 4000, 0.75, 0.01);  // Beta(1, 1) is uniform, so the larger share is uniform from 1/2 to 1
  EXPECT_THAT(seen, Each(::testing::Gt(1100)));
  EXPECT_GT(draw_mixture(0.01, partners, 1, 1, 3).weight, 0.5F);
}

std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0U);
  return samples;
}

/// Sample i is noise of its own.
class NoiseDataset : public CountingDataset {
 public:
  NoiseDataset() : CountingDataset(60, kShape, 5) {}
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    const Pixels pixels = noise(kShape, index);
    std::copy(pixels.begin(), pixels.end(), chw.begin());
  }
};

struct Served {
  Pixels pixels;
  std::int32_t label = 0, second_label = -1;
  float weight = -1;
  bool operator==(const Served&) const = default;
};

std::vector<Served> serve(const LoaderOptions& options, std::uint64_t epoch, std::int64_t first_batch = 0,
                          std::uint32_t count = 60) {
  Loader loader(std::make_shared<NoiseDataset>(), options);
  loader.start(first(count), epoch, first_batch);
  std::vector<Served> served(count);
  while (const Batch* batch = loader.next()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch->count); ++i) {
      Served& entry = served[batch->samples[i]];
      const auto image = batch->images.subspan(i * kShape.bytes(), kShape.bytes());
      entry.pixels.assign(image.begin(), image.end());
      entry.label = class_labels(batch->targets)[i];
      const auto* mixed = std::get_if<MixedClassTargets>(&batch->targets);
      if (mixed == nullptr) continue;
      entry.second_label = mixed->second_labels[i];
      entry.weight = mixed->label_weights[i];
    }
  }
  return served;
}

LoaderOptions augmenting(const std::string& text, int threads, std::int64_t batch) {
  return {.batch = batch, .threads = threads, .prefetch = 2, .augmentation = {parse_augment(text), 1, first(60)}};
}

TEST(AugmentingLoader, ServesTheSamePixelsWhateverThreadsAndBatch) {
  const std::string all = "flip,crop:4,colour:0.2,mixup:0.2";
  const auto expected = serve(augmenting(all, 1, 7), 3);
  for (const int threads : {0, 2, 4}) EXPECT_EQ(serve(augmenting(all, threads, 7), 3), expected);
  EXPECT_EQ(serve(augmenting(all, 1, 16), 3), expected);
  EXPECT_NE(serve(augmenting(all, 1, 7), 4), expected);
  // What a resumed epoch serves from its middle on.
  const auto rest = serve(augmenting(all, 2, 20), 3, 1);
  EXPECT_TRUE(std::equal(rest.begin() + 20, rest.end(), expected.begin() + 20));
}

TEST(AugmentingLoader, AServedPartSeesTheSamePixels) {
  const auto whole = serve(augmenting("crop:2,mixup:1", 1, 8), 1);
  const auto part = serve(augmenting("crop:2,mixup:1", 1, 8), 1, 0, 20);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

TEST(AugmentingLoader, MixesPixelsAndLabelsAlike) {
  const auto served = serve(augmenting("mixup:1", 1, 10), 1);
  bool has_other_label = false;
  for (std::uint32_t sample = 0; sample < 60; ++sample) {
    const Served& entry = served[sample];
    const Mixture mixture = draw_mixture(1, first(60), 1, 1, sample);
    EXPECT_EQ(entry.label, static_cast<std::int32_t>(sample % 5));
    EXPECT_EQ(entry.second_label, static_cast<std::int32_t>(mixture.partner % 5));
    EXPECT_EQ(entry.weight, mixture.weight);
    const Pixels own = noise(kShape, sample), other = noise(kShape, mixture.partner);
    for (std::size_t i = 0; i < own.size(); i += 37) {
      EXPECT_NEAR(entry.pixels[i], entry.weight * own[i] + (1 - entry.weight) * other[i], 0.51);
    }
    has_other_label = has_other_label || entry.second_label != entry.label;
  }
  EXPECT_TRUE(has_other_label);
}

TEST(AugmentingLoader, LeavesImagesAloneUnasked) {
  const auto served = serve({.batch = 10}, 1);
  for (std::uint32_t sample = 0; sample < 60; ++sample) {
    EXPECT_EQ(served[sample].pixels, noise(kShape, sample));
    EXPECT_EQ(served[sample].weight, -1);
  }
}

TEST(AugmentingLoader, SaysWhatIsToBecomeOfImagesThatItDoesNotRead) {
  const std::string text = "flip,crop:4,colour:0.2,mixup:0.2";
  const AugmentOptions changes = parse_augment(text);
  LoaderOptions options = augmenting(text, 3, 16);
  options.pixels = false;
  const auto expected = serve(augmenting(text, 0, 16), 3);
  Loader loader(std::make_shared<NoiseDataset>(), options);
  loader.start(first(60), 3);
  while (const Batch* whole = loader.next()) {
    const Batch batch = part_of(*whole, 1, whole->count);
    EXPECT_TRUE(batch.images.empty());
    const auto& mixed = std::get<MixedClassTargets>(batch.targets);
    ASSERT_EQ(std::ssize(batch.changes.moves), batch.count);
    ASSERT_EQ(std::ssize(batch.changes.colours), batch.count);
    ASSERT_EQ(std::ssize(batch.partners), batch.count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
      const std::uint32_t sample = batch.samples[i], partner = batch.partners[i];
      const Mixture mixture = draw_mixture(0.2, first(60), 1, 3, sample);
      EXPECT_EQ(partner, mixture.partner);
      EXPECT_EQ(mixed.labels[i], expected[sample].label);
      EXPECT_EQ(mixed.second_labels[i], expected[sample].second_label);
      EXPECT_EQ(mixed.label_weights[i], expected[sample].weight);
      EXPECT_EQ(batch.changes.moves[i], draw_move(changes, 1, 3, sample));
      EXPECT_EQ(batch.changes.colours[i], draw_colours(changes, kShape, 1, 3, sample));
      EXPECT_EQ(batch.partner_changes.moves[i], draw_move(changes, 1, 3, partner));
      EXPECT_EQ(batch.partner_changes.colours[i], draw_colours(changes, kShape, 1, 3, partner));
    }
  }
}

TEST(AugmentText, NamesWhatTakesPixelsOnTheHost) {
  EXPECT_EQ(done_on_host(parse_augment("flip,crop:4,colour:0.2,mixup:0.2")), "");
  EXPECT_EQ(done_on_host(parse_augment("flip,resized-crop:0.5")), "resized-crop");
  EXPECT_EQ(done_on_host(parse_augment("iou-crop,mosaic:0.5")), "mosaic, iou-crop");
}

TEST(AugmentingLoader, RefusesPartnersThatDontExist) {
  LoaderOptions options = augmenting("mixup:1", 1, 10);
  options.augmentation.partners = {60};
  EXPECT_THROW(Loader(std::make_shared<NoiseDataset>(), options), Error);
  options.augmentation.partners.clear();
  EXPECT_THROW(Loader(std::make_shared<NoiseDataset>(), options), Error);
}

}  // namespace
}  // namespace evener::data
