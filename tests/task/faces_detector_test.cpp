// The detector with made-up weights, its files, and what is kept of photos on the disk.
#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/output_error.h"
#include "base/test_folder.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/faces/faces.h"
#include "task/faces/journal.h"
#include "task/faces/mtcnn.h"
#include "weights/safetensors.h"

namespace evener::task {
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
}

TEST(MtcnnDetector, WeightsOfAnotherNetworkAreRefused) {
  if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  const test::TestFolder folder;
  for (const char* part : {"pnet", "rnet", "onet"}) write_weights(folder.path(), part);
  fs::copy_file(folder / "onet.safetensors", folder / "rnet.safetensors", fs::copy_options::overwrite_existing);
  const auto engine = engine::open_engine("openvino");
  EXPECT_THAT(error_of([&] { Mtcnn::make(*engine, read_detector_weights(folder.path()), {}, {}, 1); }),
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
    const auto detectors = Mtcnn::make(*engine, read_detector_weights(folder_.path()), options, {}, 1);
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

TEST(ContentOf, IsThatOfTheBytesAlone) {
  const test::TestFolder folder;
  test::write_text(folder / "a", "same");
  test::write_text(folder / "b", "same");
  test::write_text(folder / "c", "other");
  EXPECT_EQ(content_of(folder / "a"), content_of(folder / "b"));
  EXPECT_NE(content_of(folder / "a"), content_of(folder / "c"));
  EXPECT_THROW(content_of(folder / "none"), Error);
}

}  // namespace
}  // namespace evener::task
