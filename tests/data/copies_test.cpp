// Images that are in two parts of the data.
#include "data/copies.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/random.h"
#include "base/real_data.h"
#include "data/codecs/decode.h"
#include "data/copies_helpers.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::uint32_t> numbers(std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> all(to - from);
  std::iota(all.begin(), all.end(), static_cast<std::uint32_t>(from));
  return all;
}

/// "7 of 2 mirrored" for each pair, of some images of which the first so many are trained on.
std::vector<std::string> pairs_of(const Dataset& dataset, std::size_t trained, int threads = 2) {
  std::vector<std::string> texts;
  for (const CopiedImage& copy : find_copies(dataset, numbers(0, trained), numbers(trained, dataset.size()), threads)) {
    texts.push_back(std::to_string(copy.judged) + " of " + std::to_string(copy.trained) + " " + copy.relation.text());
  }
  return texts;
}

struct Change {
  std::string told;
  std::function<Scene(const Scene&)> made;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"mirrored", mirrored},
      {"mirrored top to bottom", top_to_bottom},
      {"turned right by 90 degrees", turned_right},
      {"turned left by 90 degrees", turned_left},
      {"turned by 180 degrees", [](const Scene& scene) { return turned_right(turned_right(scene)); }},
      {"turned right by 90 degrees and mirrored", [](const Scene& scene) { return mirrored(turned_right(scene)); }},
      {"turned left by 90 degrees and mirrored", [](const Scene& scene) { return mirrored(turned_left(scene)); }},
      {"brighter", [](const Scene& scene) { return times(scene, 1.15); }},
      {"darker", [](const Scene& scene) { return times(scene, 0.85); }},
      {"nearly the same", [](const Scene& scene) { return times(scene, 1.02); }},
      {"mirrored, brighter", [](const Scene& scene) { return times(mirrored(scene), 1.15); }}};
  return all;
}

/// Each scene with each change among the others, of each of which the original is trained on, or the other way round.
void expect_all_found(const std::vector<Scene>& scenes, const ImageShape& shape) {
  for (const Change& change : changes()) {
    std::vector<Scene> all = scenes;
    for (const Scene& scene : scenes) all.push_back(change.made(scene));
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      expected.push_back(std::to_string(scenes.size() + i) + " of " + std::to_string(i) + " " + change.told);
    }
    EXPECT_EQ(pairs_of(DrawnImages(shape, all), scenes.size()), expected) << shape.width << "x" << shape.height;
  }
}

std::vector<Scene> generated(std::size_t count) {
  std::vector<Scene> scenes;
  for (std::size_t i = 0; i < count; ++i) scenes.push_back(blots(i));
  return scenes;
}

TEST(FindCopies, FindsWhatWasMirroredTurnedOrMadeBrighterOfGeneratedImages) {
  expect_all_found(generated(5), {3, 80, 96});
}

TEST(FindCopies, FindsItOfSmallImages) {
  expect_all_found(generated(5), {1, 32, 32});
  expect_all_found(generated(2), {3, 63, 40});
}

/// Photos at hand, as scenes of 256x256 pixels.
std::vector<Scene> photos(const std::string& name, std::size_t count, std::size_t step) {
  DataOptions options;
  options.location = evener::test::real_data(name).string();
  options.width = options.height = 256;
  options.channels = 3;
  options.threads = 2;
  const OpenedData opened = open_data(options);
  std::vector<Scene> scenes;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint8_t> chw(opened.dataset->shape().bytes());
    opened.dataset->read(i * step, chw);
    scenes.push_back(scene_of(std::move(chw), 256));
  }
  return scenes;
}

TEST(FindCopies, FindsItOfPhotos) {
  if (const std::string why = evener::test::without_real_data({"ants_bees"}); !why.empty()) GTEST_SKIP() << why;
  const std::vector<Scene> scenes = photos("ants_bees", 5, 33);
  expect_all_found(scenes, {3, 64, 72});
  expect_all_found(scenes, {3, 32, 32});
}

TEST(FindCopies, OthersAreNoCopies) {
  const Scene scene = blots(2);
  const Scene another = blots(3);
  const Scene half_of_another = [&](double down, double right, std::size_t c) {
    return right < 0.5 ? scene(down, right, c) : another(down, right, c);
  };
  const DrawnImages images({3, 64, 64}, {scene, blots(4), another, half_of_another, cropped(scene, 0.1),
                                         [&](double d, double r, std::size_t c) { return 255 - scene(d, r, c); }});
  EXPECT_THAT(pairs_of(images, 3), IsEmpty());
}

// As two shots of one place: what is large is the same, and what is small isn't.
TEST(FindCopies, WhoseDetailsDifferAreNoCopies) {
  const ImageShape shape{1, 64, 64};
  const Scene scene = blots(2);
  const auto with_waves = [&](double height) {
    return [&scene, height](double down, double right, std::size_t c) {
      return scene(down, right, c) + height * std::sin(60 * down) * std::sin(60 * right);
    };
  };
  EXPECT_THAT(pairs_of(DrawnImages(shape, {scene, with_waves(24)}), 1), IsEmpty());
  EXPECT_THAT(pairs_of(DrawnImages(shape, {scene, with_waves(3)}), 1), ElementsAre("1 of 0 nearly the same"));
}

TEST(FindCopies, TellsAllPairsNearestFirstAndExactOnesBefore) {
  const Scene scene = blots(5);
  const DrawnImages images({3, 64, 64}, {times(scene, 1.3), mirrored(scene), scene, blots(6), scene, blots(7), scene,
                                         times(scene, 1.1), blots(6)});
  const std::vector<std::string> expected = {
      "6 of 2 the same", "6 of 4 the same", "6 of 1 mirrored", "6 of 0 darker",  "7 of 1 mirrored, brighter",
      "7 of 2 brighter", "7 of 4 brighter", "7 of 0 darker",   "8 of 3 the same"};
  for (const int threads : {1, 3}) {
    EXPECT_THAT(pairs_of(images, 6, threads), testing::UnorderedElementsAreArray(expected));
  }
  const std::vector<CopiedImage> found = find_copies(images, numbers(0, 6), numbers(6, 9), 2);
  EXPECT_EQ(found[0].trained, 2U);
  EXPECT_EQ(found[1].trained, 4U);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_LE(found[i - 1].judged, found[i].judged);
    if (found[i - 1].judged == found[i].judged) {
      EXPECT_LE(found[i - 1].distance, found[i].distance);
    }
    EXPECT_EQ(found[i].relation.is_exact, found[i].relation.text() == "the same");
  }
  EXPECT_EQ(found.front().distance, 0);
  EXPECT_GT(found[3].distance, 0);
  EXPECT_LT(found[3].distance, 0.05);
  EXPECT_THAT(find_copies(images, {}, numbers(6, 9), 1), IsEmpty());
}

TEST(FindCopies, SmallOrDullImagesHaveExactCopiesAlone) {
  EXPECT_TRUE(near_copies_are_sought({3, 32, 32}));
  EXPECT_FALSE(near_copies_are_sought({3, 31, 90}));
  EXPECT_FALSE(near_copies_are_sought({3, 90, 31}));
  const Scene scene = blots(8);
  const DrawnImages small({3, 31, 90}, {scene, mirrored(scene), scene});
  EXPECT_THAT(pairs_of(small, 1), ElementsAre("2 of 0 the same"));
  const auto bars = [](double off) {  // so many grey values brighter and darker than the middle: that is the deviation
    return [off](double down, double right, std::size_t) {
      return 128 + (static_cast<int>(down * 8) + (down > right ? 1 : 0)) % 2 * 2 * off - off;
    };
  };
  for (const double off : {11.5, 12.5}) {
    const DrawnImages dull({1, 64, 64}, {bars(off), mirrored(bars(off)), bars(off)});
    const bool is_seen = off > 12;
    EXPECT_THAT(pairs_of(dull, 1), is_seen ? SizeIs(2) : SizeIs(1)) << off;
  }
}

/// A silhouette as of a mask: an ellipse with a tail, whose sizes, place and tilt vary. `soft`: the width of its edge.
Scene silhouette(std::uint64_t number, double soft) {
  Random random(7, Purpose::kSynthetic, 1000 + number);
  const double down = 0.5 + random.uniform(-0.06, 0.06), right = 0.45 + random.uniform(-0.06, 0.06);
  const double tilt = random.uniform(-0.3, 0.3), length = random.uniform(0.26, 0.34);
  const double height = length * (0.25 + 0.06 * static_cast<double>(number % 9) + random.uniform(-0.05, 0.05));
  const double tail = random.uniform(0.3, 0.5) * length, tail_height = random.uniform(0.5, 1) * height;
  return [=](double y, double x, std::size_t) {
    const double along = (x - right) * std::cos(tilt) + (y - down) * std::sin(tilt);
    const double across = std::abs((y - down) * std::cos(tilt) - (x - right) * std::sin(tilt));
    const double body = (1 - std::hypot(along / length, across / height)) * height;
    const double begin = 0.9 * length, end = length + tail;
    const double fin = std::min(end - along, (along - begin) / (end - begin) * tail_height - across);
    return 30 + 190 * std::clamp(0.5 + std::max(body, fin) / soft, 0.0, 1.0);
  };
}

Scene of_pixels(std::vector<std::uint8_t> pixels, std::int64_t side) {
  return [pixels = std::move(pixels), side](double down, double right, std::size_t) -> double {
    const auto place = [side](double share) {
      return std::min<std::int64_t>(side - 1, std::llround(share * side - 0.5));
    };
    return pixels[static_cast<std::size_t>(place(down) * side + place(right))];
  };
}

/// What becomes of drawn pictures before they are compared.
struct DrawnKind {
  const char* name;
  std::int64_t side;
  double soft, noise;  // of the edges, of the height; of each pixel, a standard deviation of 255
};

Scene drawn_kind(const DrawnKind& kind, std::uint64_t number) {
  const ImageShape shape{1, kind.side, kind.side};
  std::vector<std::uint8_t> pixels = drawn(silhouette(number, kind.soft), shape);
  Random random(8, Purpose::kSynthetic, number);
  for (std::uint8_t& pixel : pixels) {
    pixel = static_cast<std::uint8_t>(std::lround(std::clamp(pixel + kind.noise * random.normal(), 0.0, 255.0)));
  }
  return of_pixels(std::move(pixels), kind.side);
}

Scene encoded(const Scene& scene, std::int64_t side) {
  Picture picture = Picture::unset(1, side, side);
  std::ranges::copy(drawn(scene, {1, side, side}), picture.pixels.get());
  const Picture decoded = decode_picture(encode_jpeg(picture, 85));
  return of_pixels({decoded.pixels.get(), decoded.pixels.get() + side * side}, side);
}

// Outlines of one kind look the same in few pixels. Their true copies still are found.
TEST(FindCopies, DrawnPicturesOfOneKindAreNoCopiesOfEachOther) {
  constexpr std::size_t kTrained = 300, kJudged = 60;
  for (const DrawnKind& kind : std::vector<DrawnKind>{{"smooth", 32, 1.0 / 32, 0},
                                                      {"soft", 32, 0.12, 0},
                                                      {"noisy", 32, 1.0 / 32, 4},
                                                      {"soft and large", 80, 0.12, 0}}) {
    std::vector<Scene> scenes;
    for (std::size_t i = 0; i < kTrained + kJudged; ++i) scenes.push_back(drawn_kind(kind, i));
    const ImageShape shape{1, kind.side, kind.side};
    const std::size_t others = pairs_of(DrawnImages(shape, scenes), kTrained).size();
    scenes.resize(kJudged);
    for (std::size_t i = 0; i < kJudged; ++i) scenes.push_back(times(encoded(mirrored(scenes[i]), kind.side), 0.9));
    const std::vector<std::string> found = pairs_of(DrawnImages(shape, scenes), kJudged);
    std::size_t copies = 0;
    for (std::size_t i = 0; i < kJudged; ++i) {
      copies += std::ranges::count(found, fmt::format("{} of {} mirrored, darker", kJudged + i, i));
    }
    std::printf("%s, %d pixels: of %zu drawn images %zu are called copies of others, and of %zu copies %zu are found\n",
                kind.name, static_cast<int>(kind.side), kJudged, others, kJudged, copies);
    EXPECT_EQ(others, 0U) << kind.name;
    EXPECT_EQ(copies, kJudged) << kind.name;
  }
}

TEST(FindCopies, AHundredPairsOfAnImageAreTold) {
  const DrawnImages images({1, 8, 8}, std::vector<Scene>(105, blots(1)));
  EXPECT_THAT(pairs_of(images, 103), SizeIs(200));
  EXPECT_THAT(pairs_of(images, 99), SizeIs(6 * 99));
}

/// Pairs of images that are none of each other among many photos: nothing is to be found, of any half of them in the
/// other.
std::size_t pairs_in(const std::string& name, const std::function<void(DataOptions&)>& change) {
  DataOptions options;
  options.location = evener::test::real_data(name).string();
  options.threads = 2;
  change(options);
  const OpenedData opened = open_data(options);
  const auto all = static_cast<std::uint32_t>(opened.dataset->size());
  std::vector<std::uint32_t> even, odd;
  for (std::uint32_t i = 0; i < all; ++i) (i % 2 == 0 ? even : odd).push_back(i);
  const std::vector<CopiedImage> found = find_copies(*opened.dataset, even, odd, 2);
  for (const CopiedImage& copy : found) {
    std::printf("%s and %s: %s, %.3f\n", opened.dataset->source(copy.judged).c_str(),
                opened.dataset->source(copy.trained).c_str(), copy.relation.text().c_str(), copy.distance);
  }
  std::printf("%s: %zu pairs of %zu x %zu images\n", name.c_str(), found.size(), even.size(), odd.size());
  return found.size();
}

// Of faces and cells, a few were taken twice in a row.
TEST(FindCopies, OfRealDataAreFew) {
  if (const std::string why = evener::test::without_real_data({"ants_bees", "cifar10", "faces_orl", "mnist", "voc"});
      !why.empty())
    GTEST_SKIP() << why;
  const auto sized = [](std::int64_t side) {
    return [side](DataOptions& options) { options.width = options.height = side; };
  };
  EXPECT_EQ(pairs_in("ants_bees", sized(64)), 0U);
  EXPECT_EQ(pairs_in("cifar10/test", sized(32)), 0U);
  EXPECT_LE(pairs_in("faces_orl", sized(64)), 8U);
  EXPECT_LE(pairs_in("voc/bccd/BCCD", sized(64)), 2U);
  EXPECT_EQ(pairs_in("voc/voc2012_sample", sized(64)), 0U);
}

}  // namespace
}  // namespace evener::data
