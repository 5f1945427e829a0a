// The detector with made-up weights, its files, and what is kept of photos on the disk.
// What happens to boxes between the detector's networks, and where faces of turned photos lie on the photos as they
// are.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "data/codecs/exif.h"
#include "faces/find/face_detector.h"
#include "faces/find/mtcnn.h"
#include "faces/photos/faces.h"
#include "faces/photos/journal.h"
#include "network/init.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void write_weights(const fs::path& folder, const std::string& part, std::uint64_t seed = 1) {
  const network::Network network = network::build("mtcnn_" + part, {});
  weights::write_safetensors(folder / (part + ".safetensors"), network::initial_state(network, seed));
}

TEST(DetectorWeights, WhatIsMissingIsNamedWithHowToGetIt) {
  const test::TestFolder folder;
  write_weights(folder.path(), "pnet");
  write_weights(folder.path(), "onet");
  EXPECT_THAT(error_of([&] { read_detector_weights(folder.path()); }),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("no rnet.pt"), HasSubstr("evener data fetch mtcnn")));
  EXPECT_THAT(error_of([&] { read_detector_weights(folder / "none"); }), HasSubstr("no pnet.pt"));
}

TEST(DetectorWeights, FilesThatAreNoneAreNamed) {
  const test::TestFolder folder;
  for (const char* part : {"pnet", "rnet", "onet"}) write_weights(folder.path(), part);
  test::write_text(folder / "rnet.pt", "this is text");
  EXPECT_THAT(error_of([&] { read_detector_weights(folder.path()); }), HasSubstr("rnet.pt"));
}

// PyTorch's networks flatten columns, then rows, then channels.
TEST(DetectorWeights, ColumnsOfTheDenseLayersAreBroughtIntoOurOrder) {
  const test::TestFolder folder;
  for (const char* part : {"pnet", "rnet", "onet"}) write_weights(folder.path(), part);
  const TensorMap given = weights::read_safetensors(folder / "rnet.safetensors").tensors;
  const DetectorWeights read = read_detector_weights(folder.path());
  const HostTensor &before = given.at("dense4.weight"), &after = read.refinement.at("dense4.weight");
  ASSERT_EQ(before.shape, (std::vector<std::int64_t>{128, 576}));
  constexpr int kRow = 5, kChannel = 7, kY = 2, kX = 1;
  EXPECT_EQ(after.floats()[kRow * 576 + (kChannel * 3 + kY) * 3 + kX],
            before.floats()[kRow * 576 + (kX * 3 + kY) * 64 + kChannel]);
  EXPECT_EQ(read.refinement.at("conv1.weight"), given.at("conv1.weight"));
  const TensorMap last = weights::read_safetensors(folder / "onet.safetensors").tensors;
  EXPECT_EQ(read.output.at("dense5.weight").floats()[kRow * 1152 + (kChannel * 3 + kY) * 3 + kX],
            last.at("dense5.weight").floats()[kRow * 1152 + (kX * 3 + kY) * 128 + kChannel]);
}

TEST(MtcnnDetector, WeightsOfAnotherNetworkAreRefused) {
  if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  const test::TestFolder folder;
  for (const char* part : {"pnet", "rnet", "onet"}) write_weights(folder.path(), part);
  fs::copy_file(folder / "onet.safetensors", folder / "rnet.safetensors", fs::copy_options::overwrite_existing);
  const auto engine = engine::open_engine("openvino");
  EXPECT_THAT(error_of([&] { make_mtcnn(*engine, read_detector_weights(folder.path()), {}, {}, 1); }),
              AllOf(HasSubstr("face detector"), testing::Not(HasSubstr("no error"))));
}

TEST(PartNetwork, AnEngineSaysInBatchesWhatOurKernelsSay) {
  if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  const auto engine = engine::open_engine("openvino");
  network::NetworkWithState network = {network::build("mtcnn_rnet", {}), {}};
  network.state = network::initial_state(network.network, 1);
  constexpr std::array<std::int64_t, 2> kBatches = {2, 8};
  const auto in_windows = part_networks_in_windows(network, 1);
  const auto in_batches = part_networks_in_batches(*engine, network, {}, kBatches, 1);
  EXPECT_EQ(in_windows.front()->room(5), 5U);
  EXPECT_EQ(in_windows.front()->room(64), 32U);
  EXPECT_EQ(in_windows.front()->room(33), 17U) << "two calls that are about as large";
  EXPECT_EQ(in_batches.front()->room(1), 2U);
  EXPECT_EQ(in_batches.front()->room(7), 8U);
  EXPECT_EQ(in_batches.front()->room(6), 2U) << "a quarter of the largest would stay empty";
  EXPECT_EQ(in_batches.front()->room(50), 8U);
  constexpr std::size_t kEach = 3 * 24 * 24;
  for (const std::size_t count : {2, 8}) {
    std::vector<float> parts;
    for (std::size_t i = 0; i < count * kEach; ++i) parts.push_back(static_cast<float>(i * i % 251));
    in_windows.front()->run(parts);
    in_batches.front()->run(parts);
    for (const auto& [name, values] : std::map<const char*, std::size_t>{{"scores", 2}, {"shifts", 4}}) {
      const PartValues ours = in_windows.front()->output(name), theirs = in_batches.front()->output(name);
      for (std::size_t part = 0; part < count; ++part) {
        for (std::size_t i = 0; i < values; ++i) EXPECT_NEAR(ours(part, i), theirs(part, i), 1e-4) << name << part;
      }
    }
  }
}

class AnyDetector : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
    for (const char* part : {"pnet", "rnet", "onet"}) write_weights(folder_.path(), part);
  }
  /// Faces on a photo of one colour, where everything is likely enough.
  std::vector<Face> find(std::int64_t channels, std::int64_t height, std::int64_t width) const {
    const auto engine = engine::open_engine("openvino");
    MtcnnOptions options;
    options.thresholds = {0, 0, 0};
    const auto detectors = make_mtcnn(*engine, read_detector_weights(folder_.path()), options, {}, 1);
    data::Picture photo = data::Picture::unset(channels, height, width);
    std::fill_n(photo.pixels.get(), photo.bytes(), std::uint8_t{100});
    return detectors.front()->find(photo);
  }

  test::TestFolder folder_;
};

TEST_F(AnyDetector, PhotosSmallerThanAFaceHaveNone) {
  EXPECT_TRUE(find(3, 1, 1).empty());
  EXPECT_TRUE(find(3, 19, 400).empty());
  EXPECT_TRUE(find(3, 3, 2000).empty());
}

TEST_F(AnyDetector, GreyPhotosAndColouredOnesOfGreyAreTheSame) {
  const std::vector<Face> grey = find(1, 40, 52), coloured = find(3, 40, 52);
  ASSERT_FALSE(grey.empty()) << "these weights find faces everywhere";
  ASSERT_EQ(grey.size(), coloured.size());
  EXPECT_EQ(grey.front().box.x1, coloured.front().box.x1);
  EXPECT_EQ(grey.front().box.probability, coloured.front().box.probability);
  EXPECT_TRUE(
      std::ranges::is_sorted(grey, std::ranges::greater{}, [](const Face& face) { return face.box.probability; }));
}

/// Networks that say the same of whatever they see.
class SameEverywhere : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  }
  /// `likely`: by how much the score of a face is above the other one, of each network.
  std::vector<Face> find(const MtcnnOptions& options, const std::array<float, 3>& likely = {1, 1.5F, 2}) const {
    write("pnet", {{"conv4_1.bias", {3, 3 + likely[0]}}, {"conv4_2.bias", {0.05F, -0.1F, 0.1F, 0.2F}}});
    write("rnet", {{"dense5_1.bias", {-1, -1 + likely[1]}}, {"dense5_2.bias", {0.1F, 0.05F, -0.05F, 0.15F}}});
    write("onet", {{"dense6_1.bias", {0, likely[2]}},
                   {"dense6_2.bias", {0.2F, 0.1F, -0.1F, -0.25F}},
                   {"dense6_3.bias", {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.55F, 0.65F, 0.75F, 0.85F, 0.95F}}});
    const auto engine = engine::open_engine("openvino");
    const auto detectors = make_mtcnn(*engine, read_detector_weights(folder_.path()), options, {}, 1);
    data::Picture photo = data::Picture::unset(3, 30, 33);
    std::fill_n(photo.pixels.get(), photo.bytes(), std::uint8_t{100});
    return detectors.front()->find(photo);
  }

 private:
  void write(const std::string& part, const std::map<std::string, std::vector<float>>& biases) const {
    TensorMap state = network::initial_state(network::build("mtcnn_" + part, {}), 1);
    for (auto& [name, values] : state) std::fill_n(values.floats(), element_count(values.shape), 0.0F);
    for (const auto& [name, values] : biases) std::ranges::copy(values, state.at(name).floats());
    weights::write_safetensors(folder_ / (part + ".safetensors"), state);
  }

  test::TestFolder folder_;
};

// What facenet-pytorch's arithmetic makes of these networks, computed without them: 5 x 5 and 2 x 2 places at two sizes
// of the photo, of which suppression leaves 9 and 2, and of these 3 in the end.
TEST_F(SameEverywhere, BoxesAndLandmarksAreShiftedFromThePlacesOfAllSizes) {
  const std::vector<Face> faces = find({.factor = 0.7});
  const float boxes[][4] = {
      {11.836F, 9.968F, 37.632F, 33.85F}, {6.836F, 4.968F, 32.632F, 28.85F}, {4.5865F, 16.212F, 23.3755F, 33.5875F}};
  const float eyes_and_mouth[][4] = {
      {7.008F, 26.194F, 22.32F, 41.506F}, {2.008F, 21.194F, 17.32F, 36.506F}, {0.76F, 27.933F, 12.068F, 39.241F}};
  ASSERT_EQ(faces.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const FaceBox& box = faces[i].box;
    const Point &first = faces[i].landmarks[0], &last = faces[i].landmarks[4];
    const float found[] = {box.x1, box.y1, box.x2, box.y2, first.x, first.y, last.x, last.y};
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_NEAR(found[k], k < 4 ? boxes[i][k] : eyes_and_mouth[i][k - 4], 2e-3) << i;
    EXPECT_NEAR(box.probability, 1 / (1 + std::exp(-2)), 1e-6) << "the last network's";
  }
}

TEST_F(SameEverywhere, EachNetworkHasItsOwnThreshold) {
  // 0.7311, 0.8176 and 0.8808 are the three probabilities.
  EXPECT_EQ(find({.thresholds = {0.731F, 0.8175F, 0.8807F}, .factor = 0.7}).size(), 3U);
  EXPECT_TRUE(find({.thresholds = {0.7311F, 0.1F, 0.1F}}).empty());
  EXPECT_TRUE(find({.thresholds = {0.1F, 0.8176F, 0.1F}}).empty());
  EXPECT_TRUE(find({.thresholds = {0.1F, 0.1F, 0.8809F}}).empty());
  EXPECT_EQ(find({.thresholds = {1, 0.7F, 0.7F}, .factor = 0.7}, {20, 1.5F, 2}).size(), 3U) << "as sure as can be";
}

TEST_F(SameEverywhere, TheSmallestFaceMayBeAsLargeAsThePhoto) {
  EXPECT_FALSE(find({.min_size = 30}).empty());
  EXPECT_TRUE(find({.min_size = 31}).empty());
}

TEST(EmbeddedFace, AThumbnailThatIsDroppedTakesNoMemory) {
  EmbeddedFace face;
  face.thumbnail.assign(20'000, 'x');
  face.drop_thumbnail();
  EXPECT_TRUE(face.thumbnail.empty());
  EXPECT_LT(face.thumbnail.capacity(), 100U);
}

// ---- What is kept on the disk ----

PhotoFaces photo(std::uint64_t content, std::size_t faces) {
  PhotoFaces result{0, content, {}};
  for (std::size_t i = 0; i < faces; ++i) {
    EmbeddedFace face;
    face.face.box = {1, 2, 3.5F, static_cast<float>(i), 0.75F};
    for (std::size_t point = 0; point < face.face.landmarks.size(); ++point) {
      const auto number = static_cast<float>(2 * point);
      face.face.landmarks[point] = {number + 0.25F, number + 1};
    }
    face.embedding = {0.25F, -1, static_cast<float>(content)};
    face.thumbnail = std::string("\xff\xd8\xff\0\n", 5);
    result.faces.push_back(face);
  }
  return result;
}

struct Journal {
  json settings;
  std::vector<PhotoFaces> photos;
  std::uint64_t whole_bytes = 0;
};

Journal read(const fs::path& path) {
  Journal journal;
  journal.whole_bytes = read_journal(
      path, [&](const json& settings) { journal.settings = settings; },
      [&](PhotoFaces found) { journal.photos.push_back(std::move(found)); });
  return journal;
}

TEST(FacesJournal, WhatWasFoundComesBack) {
  const test::TestFolder folder;
  FacesJournal journal(folder / "j", json{{"--min-size", 20}});
  journal.add(photo(~std::uint64_t{0}, 2));
  journal.add(photo(3, 0));
  const Journal found = read(folder / "j");
  EXPECT_EQ(found.settings, (json{{"--min-size", 20}}));
  ASSERT_EQ(found.photos.size(), 2U);
  EXPECT_EQ(found.photos[0].content, ~std::uint64_t{0});
  ASSERT_EQ(found.photos[0].faces.size(), 2U);
  const EmbeddedFace& face = found.photos[0].faces[1];
  const FaceBox& box = face.face.box;
  EXPECT_THAT((std::vector{box.x1, box.y1, box.x2, box.y2, box.probability}), ElementsAre(1, 2, 3.5F, 1, 0.75F));
  for (std::size_t point = 0; point < face.face.landmarks.size(); ++point) {
    EXPECT_EQ(face.face.landmarks[point].x, 2 * point + 0.25) << point;
    EXPECT_EQ(face.face.landmarks[point].y, 2 * point + 1) << point;
  }
  EXPECT_EQ(face.thumbnail, std::string("\xff\xd8\xff\0\n", 5));
  EXPECT_EQ(face.embedding.size(), 3U);
  EXPECT_TRUE(found.photos[1].faces.empty());
  EXPECT_EQ(found.whole_bytes, fs::file_size(folder / "j"));
}

// As kill -9 leaves it.
TEST(FacesJournal, WhereverItIsCutTheRestComesBackAndItGoesOn) {
  const test::TestFolder folder;
  std::uint64_t first_bytes = 0;
  {
    FacesJournal journal(folder / "whole", json::object());
    journal.add(photo(1, 1));
    first_bytes = fs::file_size(folder / "whole");
    journal.add(photo(2, 1));
  }
  const std::uint64_t all = fs::file_size(folder / "whole");
  for (const std::uint64_t cut : {first_bytes, first_bytes + 1, first_bytes + 15, first_bytes + 20, all - 1}) {
    fs::copy_file(folder / "whole", folder / "cut", fs::copy_options::overwrite_existing);
    fs::resize_file(folder / "cut", cut);
    const Journal found = read(folder / "cut");
    ASSERT_EQ(found.photos.size(), 1U) << cut;
    ASSERT_EQ(found.whole_bytes, first_bytes) << cut;
    FacesJournal(folder / "cut", found.whole_bytes).add(photo(5, 0));
    const Journal more = read(folder / "cut");
    ASSERT_EQ(more.photos.size(), 2U) << cut;
    EXPECT_EQ(more.photos[1].content, 5U);
  }
}

TEST(FacesJournal, DamageEndsItAndOtherFilesAreRefused) {
  const test::TestFolder folder;
  {
    FacesJournal journal(folder / "j", json::object());
    for (const std::uint64_t content : {1, 2, 3}) journal.add(photo(content, 1));
  }
  std::string bytes = read_file(folder / "j");
  bytes[bytes.size() / 2] ^= 1;
  test::write_text(folder / "damaged", bytes);
  EXPECT_LT(read(folder / "damaged").photos.size(), 3U);
  test::write_text(folder / "other", "file,x1,y1\n");
  EXPECT_THAT(error_of([&] { read(folder / "other"); }), AllOf(HasSubstr("other"), HasSubstr("--overwrite")));
  test::write_text(folder / "older", "evener faces journal 1\n");
  EXPECT_THAT(error_of([&] { read(folder / "older"); }), HasSubstr("another version"));
  test::write_text(folder / "empty", "");
  EXPECT_THAT(error_of([&] { read(folder / "empty"); }), HasSubstr("is no journal"));
  EXPECT_THAT(error_of([] { FacesJournal("/nowhere/j", json::object()); }), HasSubstr("/nowhere/j"));
}

TEST(FacesJournal, AFullDiskIsToldAsSuch) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  EXPECT_THROW(FacesJournal("/dev/full", nlohmann::json::object()), OutputError);
}

TEST(FacesJournal, AFaceThatIsIncompleteIsNoEndOfTheJournal) {
  const test::TestFolder folder;
  const std::size_t heading = std::string("evener faces journal 2\n").size();
  // Settings are an entry as any other: it becomes a photo in the journal that it is put behind.
  const auto reason = [&](const json& entry) {
    FacesJournal(folder / "entry", entry);
    FacesJournal(folder / "j", json::object());
    test::write_text(folder / "damaged", read_file(folder / "j") + read_file(folder / "entry").substr(heading));
    return error_of([&] { read(folder / "damaged"); });
  };
  const json none = json::binary({});
  const json whole = {{"face", json::binary(std::vector<std::uint8_t>(60))}, {"embedding", none}, {"thumbnail", none}};
  json cut = whole;
  cut["face"] = json::binary(std::vector<std::uint8_t>(59));
  EXPECT_EQ(reason({{"content", 1}, {"faces", json::array({whole})}}), "no error");
  EXPECT_THAT(reason({{"content", 1}, {"faces", json::array({cut})}}),
              AllOf(HasSubstr("damaged"), HasSubstr("too few numbers"), HasSubstr("--overwrite")));
  EXPECT_THAT(reason({{"content", "one"}, {"faces", json::array()}}), HasSubstr("is no journal of evener faces"));
  // A length that no entry has: what was written there is the part of one.
  const std::string journal = read_file(folder / "j");
  test::write_text(folder / "long", journal + std::string(7, '\0') + "\x40" + std::string(40, 'x'));
  EXPECT_EQ(read(folder / "long").whole_bytes, journal.size());
}

TEST(ContentOf, IsThatOfTheBytesAlone) {
  const test::TestFolder folder;
  test::write_text(folder / "a", "same");
  test::write_text(folder / "b", "same");
  test::write_text(folder / "c", "other");
  EXPECT_EQ(content_of(folder / "a"), content_of(folder / "b"));
  EXPECT_NE(content_of(folder / "a"), content_of(folder / "c"));
  EXPECT_THROW(content_of(folder / "none"), Error);
}

TEST(FaceBoxes, OfBoxesThatShareMuchTheLikeliestStays) {
  // The second shares 50 of 150 with the first; the third lies inside the first, a quarter of it; the fourth is alone.
  const std::vector<FaceBox> boxes = {
      {0, 0, 10, 10, 0.8F}, {5, 0, 15, 10, 0.9F}, {0, 0, 5, 5, 0.7F}, {50, 50, 60, 60, 0.1F}};
  EXPECT_THAT(nms(boxes, 0.3F, Overlap::kUnion), ElementsAre(1, 2, 3));
  EXPECT_THAT(nms(boxes, 0.34F, Overlap::kUnion), ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(nms(boxes, 0.24F, Overlap::kUnion), ElementsAre(1, 2, 3)) << "the third shares with who is gone";
  // Of the smaller one's area, with sides a pixel longer: 6 of 11 columns, and all of the third.
  EXPECT_THAT(nms(boxes, 0.54F, Overlap::kSmaller), ElementsAre(1, 2, 3));
  EXPECT_THAT(nms(boxes, 0.55F, Overlap::kSmaller), ElementsAre(1, 0, 3));
  EXPECT_THAT(nms({}, 0.5F, Overlap::kUnion), ElementsAre());
}

TEST(FaceBoxes, BoxesThatTouchShareNothing) {
  const std::vector<FaceBox> boxes = {{0, 0, 10, 10, 0.9F}, {10, 0, 20, 10, 0.8F}};
  EXPECT_THAT(nms(boxes, 0, Overlap::kUnion), ElementsAre(0, 1));
  EXPECT_THAT(nms(boxes, 0, Overlap::kSmaller), ElementsAre(0)) << "they share the column of pixels at 10";
}

// Boxes around a whole photo are cut to the same pixels, so their probabilities are equal to the last bit.
TEST(FaceBoxes, OfEquallyLikelyOnesTheFirstOrTheLastStays) {
  const std::vector<FaceBox> boxes = {{0, 0, 10, 10, 0.9F}, {0, 0, 10, 11, 0.9F}, {0, 0, 10, 12, 0.9F}};
  EXPECT_THAT(nms(boxes, 0.5F, Overlap::kUnion), ElementsAre(0));
  EXPECT_THAT(nms(boxes, 0.5F, Overlap::kSmaller), ElementsAre(2));
}

TEST(FaceBoxes, SidesAreShiftedBySharesOfTheExtents) {
  const FaceBox box{10, 20, 30, 60, 0.5F};
  const FaceBox first = shifted(box, {0.1F, 0.5F, -0.1F, 0.25F}, /*one_more=*/false);
  EXPECT_THAT((std::vector{first.x1, first.y1, first.x2, first.y2}), ElementsAre(12, 40, 28, 70));
  EXPECT_EQ(first.probability, 0.5F);
  const FaceBox second = shifted(box, {1, 1, 0, 0}, /*one_more=*/true);
  EXPECT_THAT((std::vector{second.x1, second.y1, second.x2, second.y2}), ElementsAre(31, 61, 30, 60));
}

TEST(FaceBoxes, ASquareKeepsTheMiddle) {
  const FaceBox tall = squared({10, 20, 30, 60, 0.5F}), wide = squared({0, 0, 5, 2, 0.5F});
  EXPECT_THAT((std::vector{tall.x1, tall.y1, tall.x2, tall.y2}), ElementsAre(0, 20, 40, 60));
  EXPECT_THAT((std::vector{wide.x1, wide.y1, wide.x2, wide.y2}), ElementsAre(0, -1.5F, 5, 3.5F));
}

TEST(FaceBoxes, PixelsAreCountedFromOneAndCutAtTheBorders) {
  const auto pixels = [](const FaceBox& box) {
    const data::PictureArea area = pixels_of(box, 100, 50);
    return std::vector<std::int64_t>{area.x, area.y, area.width, area.height};
  };
  EXPECT_THAT(pixels({10.9F, 20.1F, 30.9F, 40, 0}), ElementsAre(9, 19, 21, 21)) << "10..30 and 20..40, both included";
  EXPECT_THAT(pixels({-5, -0.5F, 30, 40, 0}), ElementsAre(0, 0, 30, 40));
  EXPECT_THAT(pixels({90, 40, 130.5F, 70, 0}), ElementsAre(89, 39, 11, 11));
  EXPECT_EQ(pixels({-30, 5, -10, 40, 0})[2], 0) << "left of the photo";
  EXPECT_EQ(pixels({10, 60, 40, 90, 0})[3], 0) << "below it";
  EXPECT_EQ(pixels({40, 10, 20, 30, 0})[2], 0) << "inside out";
}

/// The only white pixel of a picture.
Point white_pixel(const data::Picture& photo) {
  for (std::int64_t y = 0; y < photo.height; ++y) {
    for (std::int64_t x = 0; x < photo.width; ++x) {
      if (photo.row(y)[x] == 255) return {static_cast<float>(x), static_cast<float>(y)};
    }
  }
  return {-1, -1};
}

data::Picture with_white_pixel(std::int64_t x, std::int64_t y) {
  data::Picture photo = data::Picture::unset(1, 5, 8);
  std::fill_n(photo.pixels.get(), photo.bytes(), std::uint8_t{0});
  photo.row(y)[x] = 255;
  return photo;
}

// The pixels themselves are turned by what turns photos with EXIF.
TEST(TurnedPhoto, LandmarksAndBoxesGoBackToTheirPixels) {
  const int orientations[] = {1, 6, 3, 8};
  for (int quarters = 0; quarters < 4; ++quarters) {
    const data::Picture turned = data::turn_upright(with_white_pixel(6, 1), orientations[quarters]);
    const Point there = white_pixel(turned);
    Face face;
    face.box = {there.x, there.y, there.x + 1, there.y + 1, 0.5F};  // the edges of the pixel
    face.landmarks.fill(there);
    const Face before = turned_back(face, quarters, turned.width, turned.height);
    EXPECT_EQ(before.landmarks[2].x, 6) << quarters;
    EXPECT_EQ(before.landmarks[2].y, 1) << quarters;
    EXPECT_EQ(before.box.x1, 6) << quarters;
    EXPECT_EQ(before.box.y1, 1) << quarters;
    EXPECT_EQ(before.box.x2, 7) << quarters;
    EXPECT_EQ(before.box.y2, 2) << quarters;
    EXPECT_EQ(before.box.probability, 0.5F);
  }
}

/// Finds faces of these probabilities on the photos that it is shown, one after the other.
class Scripted : public FaceDetector {
 public:
  explicit Scripted(std::vector<std::vector<float>> answers) : answers_(std::move(answers)) {}

  std::vector<Face> find(const data::Picture& photo) override {
    std::vector<Face> faces;
    for (const float probability : answers_.at(shown.size())) {
      faces.emplace_back();
      faces.back().box.probability = probability;
    }
    const Point white = white_pixel(photo);
    shown.emplace_back(white.x, white.y);
    return faces;
  }
  void look_at_nothing() override {}
  float sure_probability() const override { return 0.7F; }
  std::string main_part() const override { return "a test"; }

  std::vector<std::pair<float, float>> shown;  // where the white pixel was

 private:
  const std::vector<std::vector<float>> answers_;
};

TEST(FindTurned, TheTurnWithTheSurestFacesIsTaken) {
  using Place = std::pair<float, float>;
  Scripted detector({{0.6F}, {0.8F}, {0.75F, 0.76F}, {0.9F, 0.69F, 0.69F}});
  const TurnedPhoto turned = find_turned(detector, with_white_pixel(6, 1));
  EXPECT_THAT(detector.shown, ElementsAre(Place(6, 1), Place(3, 6), Place(1, 3), Place(1, 1)));
  EXPECT_EQ(turned.quarters, 2) << "0.69 is not sure, and 0.9 alone is less than two of 0.75";
  EXPECT_EQ(turned.faces.size(), 2U);
  EXPECT_EQ(white_pixel(turned.photo).x, 1);
  EXPECT_EQ(white_pixel(turned.photo).y, 3);
  Scripted alike({{}, {0.8F}, {0.8F}, {}});
  EXPECT_EQ(find_turned(alike, with_white_pixel(6, 1)).quarters, 1) << "the first of equals";
}

TEST(FindTurned, APhotoWithASureFaceOrWithoutAnyStaysAsItIs) {
  Scripted sure(std::vector<std::vector<float>>(1, {0.7F}));
  EXPECT_EQ(find_turned(sure, with_white_pixel(6, 1)).quarters, 0);
  EXPECT_EQ(sure.shown.size(), 1U) << "nobody looks at it turned";
  Scripted unsure({{0.6F, 0.5F}, {}, {0.69F}, {0.1F, 0.1F, 0.1F}});
  const TurnedPhoto photo = find_turned(unsure, with_white_pixel(6, 1));
  EXPECT_EQ(unsure.shown.size(), 4U);
  EXPECT_EQ(photo.quarters, 0);
  EXPECT_EQ(photo.faces.size(), 2U);
  EXPECT_EQ(white_pixel(photo.photo).x, 6);
}

}  // namespace

}  // namespace evener::faces
