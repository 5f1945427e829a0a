// Faces found by a network in a file: small networks that take bright squares for faces.
#include "faces/find/face_detector_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/five_points_onnx.h"
#include "base/module.h"
#include "base/real_data.h"
#include "base/test_folder.h"
#include "data/image_files.h"
#include "faces/find/face_detector.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};
constexpr Colour kWhite = {255, 255, 255}, kRed = {255, 0, 0}, kBlue = {0, 0, 255};

/// A black photo with a square of a colour.
data::Picture photo_with(std::int64_t width, std::int64_t height, const data::PictureArea& square, Colour colour,
                         std::int64_t channels = 3) {
  data::Picture photo = data::Picture::unset(channels, height, width);
  std::fill_n(photo.pixels.get(), photo.bytes(), std::uint8_t{0});
  const std::uint8_t values[] = {colour.red, colour.green, colour.blue};
  for (std::int64_t y = square.y; y < square.y + square.height; ++y) {
    for (std::int64_t x = square.x; x < square.x + square.width; ++x) {
      std::copy_n(values, channels, photo.row(y) + x * channels);
    }
  }
  return photo;
}

void expect_face(const Face& face, float x1, float y1, float side) {
  constexpr float kRounding = 1e-3F;
  EXPECT_NEAR(face.box.x1, x1, kRounding);
  EXPECT_NEAR(face.box.y1, y1, kRounding);
  EXPECT_NEAR(face.box.x2, x1 + side, kRounding);
  EXPECT_NEAR(face.box.y2, y1 + side, kRounding);
  const float shares[][2] = {{0.25F, 0.25F}, {0.75F, 0.25F}, {0.5F, 0.5F}, {0.25F, 0.75F}, {0.75F, 0.75F}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(face.landmarks[i].x, x1 + side * shares[i][0], kRounding) << i;
    EXPECT_NEAR(face.landmarks[i].y, y1 + side * shares[i][1], kRounding) << i;
  }
}

class DetectorInFile : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
    engine_ = engine::open_engine("openvino");
  }

  std::string write(const test::FivePointsOnnx& network) const {
    test::write_five_points_onnx(folder_ / "faces.onnx", network);
    return (folder_ / "faces.onnx").string();
  }
  FaceDetectors open(const test::FivePointsOnnx& network, const FaceDetectorFileOptions& options = {},
                     int count = 1) const {
    engine::RunnerOptions runner;
    runner.threads = count;
    return make_face_detectors(*engine_, {.name = write(network), .file = options}, runner, count);
  }
  std::string error_of_file(const std::string& name, const FaceDetectorFileOptions& options = {}) const {
    try {
      make_face_detectors(*engine_, {.name = name, .file = options}, {}, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string error_of(const test::FivePointsOnnx& network, const FaceDetectorFileOptions& options = {}) const {
    return error_of_file(write(network), options);
  }

  test::TestFolder folder_;
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(DetectorInFile, AFaceIsFoundWhereItIs) {
  const FaceDetectors detectors = open({});
  EXPECT_THAT(detectors.notes.front(), AllOf(HasSubstr("a SCRFD"), HasSubstr("96x64 pixels")));
  FaceDetector& detector = *detectors.lanes.front();
  detector.look_at_nothing();
  const auto faces = detector.find(photo_with(96, 64, {32, 32, 32, 32}, kWhite));
  ASSERT_THAT(faces, SizeIs(1));
  expect_face(faces[0], 32, 32, 32);
  EXPECT_NEAR(faces[0].box.probability, 127.5 / 128, 1e-5);
  EXPECT_THAT(detector.find(photo_with(96, 64, {}, kWhite)), IsEmpty()) << "what an earlier photo left is not seen";
  EXPECT_THAT(detector.find(photo_with(96, 64, {0, 0, 32, 32}, kWhite, 1)), SizeIs(1)) << "grey";
  EXPECT_GT(detector.times().main_s, 0);
  EXPECT_EQ(detector.main_part(), "SCRFD's network");
}

TEST_F(DetectorInFile, PhotosOfAllSizesAreFittedIntoTheUpperLeftCorner) {
  const FaceDetectors detectors = open({}, {}, 2);
  ASSERT_THAT(detectors.lanes, SizeIs(2));
  // Twice as large, and so tall that half of the image stays black.
  const auto large = detectors.lanes[0]->find(photo_with(192, 128, {64, 0, 64, 64}, kWhite));
  ASSERT_THAT(large, SizeIs(1));
  expect_face(large[0], 64, 0, 64);
  const auto tall = detectors.lanes[1]->find(photo_with(96, 192, {0, 96, 96, 96}, kWhite));
  ASSERT_THAT(tall, SizeIs(1));
  expect_face(tall[0], 0, 96, 96);
  const auto small = detectors.lanes[0]->find(photo_with(24, 16, {0, 0, 8, 8}, kWhite));
  ASSERT_THAT(small, SizeIs(1)) << "made larger";
  EXPECT_NEAR(small[0].box.x2, 8, 1e-3);
  EXPECT_THAT(detectors.lanes[0]->find(photo_with(1000, 1, {}, kWhite)), IsEmpty());
  // Of 100 x 130 pixels 49 x 64 are seen: both sides are divided by the height's scale, 64 / 130, as InsightFace does.
  const auto narrow = detectors.lanes[0]->find(photo_with(100, 130, {0, 0, 65, 65}, kWhite));
  ASSERT_THAT(narrow, SizeIs(1));
  expect_face(narrow[0], 0, 0, 65);
}

TEST_F(DetectorInFile, BesideThePhotoTheImageIsBlackWhateverWasThereBefore) {
  const FaceDetectors bright = open({});
  FaceDetector& detector = *bright.lanes.front();
  const auto white_one = photo_with(96, 64, {0, 0, 96, 64}, kWhite);
  ASSERT_THAT(detector.find(white_one), SizeIs(6));
  EXPECT_THAT(detector.find(photo_with(96, 192, {}, kWhite)), IsEmpty()) << "right of it";
  ASSERT_THAT(detector.find(white_one), SizeIs(6));
  EXPECT_THAT(detector.find(photo_with(192, 64, {}, kWhite)), IsEmpty()) << "below it";
  // A network that takes black squares for faces sees four of them beside a white photo of 32 x 64 pixels of the image.
  const FaceDetectors dark = open({.channels = {-1, -1, -1}});
  EXPECT_THAT(dark.lanes.front()->find(photo_with(96, 192, {0, 0, 96, 192}, kWhite)), SizeIs(4));
  EXPECT_THAT(dark.lanes.front()->find(photo_with(192, 64, {0, 0, 192, 64}, kWhite)), SizeIs(3));
}

TEST_F(DetectorInFile, ChannelsMayStandLast) {
  const FaceDetectors detectors = open({.input = {1, 64, 96, 3}, .channels = {3, 0, 0}, .takes_last = true});
  EXPECT_THAT(detectors.notes.front(), HasSubstr("96x64 pixels"));
  const auto faces = detectors.lanes.front()->find(photo_with(96, 64, {64, 32, 32, 32}, kRed));
  ASSERT_THAT(faces, SizeIs(1));
  expect_face(faces[0], 64, 32, 32);
  EXPECT_THAT(detectors.lanes.front()->find(photo_with(96, 64, {64, 32, 32, 32}, kBlue)), IsEmpty());
}

TEST_F(DetectorInFile, ScrfdTakesRedFirstAndYunetBlueFirst) {
  const data::PictureArea square = {0, 0, 32, 32};
  const auto found = [&](const FaceDetectors& detectors, Colour colour) {
    return detectors.lanes.front()->find(photo_with(96, 64, square, colour)).size();
  };
  const FaceDetectors scrfd = open({.channels = {3, 0, 0}});
  EXPECT_EQ(found(scrfd, kRed), 1U);
  EXPECT_EQ(found(scrfd, kBlue), 0U);
  const FaceDetectors yunet = open({.channels = {3 / 255.0F, 0, 0}, .is_yunet = true});
  EXPECT_EQ(found(yunet, kBlue), 1U);
  EXPECT_EQ(found(yunet, kRed), 0U);
}

TEST_F(DetectorInFile, YunetSeesPhotosAtTheirOwnSize) {
  const test::FivePointsOnnx network = {.channels = {1 / 255.0F, 1 / 255.0F, 1 / 255.0F}, .is_yunet = true};
  const FaceDetectors detectors = open(network);
  EXPECT_THAT(detectors.notes.front(), AllOf(HasSubstr("a YuNet"), HasSubstr("own size")));
  for (const auto& [width, height] : {std::pair{200, 170}, std::pair{70, 40}, std::pair{200, 170}}) {
    const auto faces = detectors.lanes.front()->find(photo_with(width, height, {32, 0, 32, 32}, kWhite));
    ASSERT_THAT(faces, SizeIs(1)) << width;
    expect_face(faces[0], 32, 0, 32);
    EXPECT_FLOAT_EQ(faces[0].box.probability, 1);
  }
  const FaceDetectors fixed = open(network, {.size = SeenSize{64, 64}});
  const auto faces = fixed.lanes.front()->find(photo_with(128, 128, {64, 64, 64, 64}, kWhite));
  ASSERT_THAT(faces, SizeIs(1));
  expect_face(faces[0], 64, 64, 64);
}

TEST_F(DetectorInFile, FilesThatLeaveTheSizeOpenOrGiveNoBatch) {
  const FaceDetectors open_size = open({.input = {1, 3, -1, -1}, .has_batch = false});
  EXPECT_THAT(open_size.notes.front(), HasSubstr("640x640"));
  ASSERT_THAT(open_size.lanes.front()->find(photo_with(640, 640, {320, 0, 32, 32}, kWhite)), SizeIs(1));
  const FaceDetectors asked = open({.input = {-1, 3, -1, -1}}, {.size = SeenSize{96, 32}});
  EXPECT_THAT(asked.lanes.front()->find(photo_with(96, 32, {64, 0, 32, 32}, kWhite)), SizeIs(1));
  EXPECT_THAT(open({.input = {1, 3, 64, -1}}).notes.front(), HasSubstr("640x64 pixels")) << "the width alone is open";
}

TEST_F(DetectorInFile, ScoresAndSizesBelowTheLeastAreLeftOut) {
  const data::Picture grey = photo_with(96, 64, {32, 0, 32, 32}, {200, 200, 200});  // a score of 0.566
  const auto faces = [&](const FaceDetectorFileOptions& options) {
    return open({}, options).lanes.front()->find(grey).size();
  };
  EXPECT_EQ(faces({}), 1U);
  EXPECT_EQ(faces({.least_score = 0.6F}), 0U);
  EXPECT_EQ(faces({.min_size = 32}), 1U);
  EXPECT_EQ(faces({.min_size = 33}), 0U);
  // Sizes are pixels of the photo, not of the image, and those of the shorter side.
  const auto on_large = [&](const test::FivePointsOnnx& network, int min_size) {
    return open(network, {.min_size = min_size})
        .lanes.front()
        ->find(photo_with(192, 128, {64, 0, 64, 64}, kWhite))
        .size();
  };
  EXPECT_EQ(on_large({}, 64), 1U);
  EXPECT_EQ(on_large({}, 65), 0U);
  EXPECT_EQ(on_large({.height = 0.5F}, 32), 1U);
  EXPECT_EQ(on_large({.height = 0.5F}, 33), 0U);
}

TEST_F(DetectorInFile, APhotoIsTurnedUntilAFaceIsSure) {
  // Bright squares are found from any side, so that an unsure one decides nothing.
  const FaceDetectors detectors = open({});
  FaceDetector& detector = *detectors.lanes.front();
  EXPECT_EQ(detector.sure_probability(), 0.7F);
  EXPECT_EQ(find_turned(detector, photo_with(96, 64, {32, 0, 32, 32}, {200, 200, 200})).quarters, 0);
  // Turned by a quarter, the photo is made smaller by a third, and its square is one of 32 pixels in the corner.
  const TurnedPhoto turned = find_turned(detector, photo_with(96, 132, {0, 84, 48, 48}, kWhite));
  EXPECT_EQ(turned.faces.size(), 1U);
  EXPECT_EQ(turned.quarters, 1);
}

TEST_F(DetectorInFile, WhatIsNoFaceDetectorIsRefused) {
  EXPECT_THAT(error_of({.has_points = false}), HasSubstr("without the five points"));
  EXPECT_THAT(error_of({.input = {1, 3, 60, 96}}), AllOf(HasSubstr("no face detector"), HasSubstr("score_32")));
  EXPECT_THAT(error_of({.input = {1, 3, -1, -1}}, {.size = SeenSize{100, 64}}),
              AllOf(HasSubstr("multiples of 32, not 100x64"), HasSubstr("--detector-size")));
  EXPECT_THAT(error_of({.input = {1, 3, -1, -1}}, {.size = SeenSize{64, 100}}), HasSubstr("not 64x100"));
  test::write_tiny_onnx(folder_ / "means.onnx", {.input = {1, 3, 64, 64}, .axes = {2, 3}});
  EXPECT_THAT(error_of_file((folder_ / "means.onnx").string()),
              AllOf(HasSubstr("means.onnx"), HasSubstr("'output' of shape (1, 3)"), HasSubstr("SCRFD"),
                    HasSubstr("evener detect")));
  test::write_tiny_onnx(folder_ / "grey.onnx", {.input = {1, 1, 64, 64}, .axes = {2, 3}});
  EXPECT_THAT(error_of_file((folder_ / "grey.onnx").string()), HasSubstr("not colour images"));
  test::write_text(folder_ / "text.onnx", "this is text");
  EXPECT_THAT(error_of_file((folder_ / "text.onnx").string()), HasSubstr("text.onnx"));
  EXPECT_THAT(error_of_file((folder_ / "none.onnx").string()), HasSubstr("doesn't exist"));
  EXPECT_THAT(error_of_file("mtcn"), HasSubstr("mtcnn"));
}

TEST(PhotoOnImage, SizesAreRoundedAsTheFamiliesDo) {
  const auto expect = [](const PhotoOnImage& placed, SeenSize image, std::int64_t width, std::int64_t height) {
    EXPECT_EQ(placed.image, image);
    EXPECT_EQ(placed.width, width);
    EXPECT_EQ(placed.height, height);
  };
  expect(fitted_into({640, 640}, 1280, 720), {640, 640}, 640, 360);
  expect(fitted_into({640, 640}, 600, 1001), {640, 640}, 383, 640);  // 383.6
  expect(fitted_into({640, 640}, 2000, 1), {640, 640}, 640, 1);
  expect(at_own_size(321, 320, 2048, 32), {352, 320}, 321, 320);
  expect(at_own_size(4096, 3000, 2048, 32), {2048, 1504}, 2048, 1500);
}

// What the package states that the file is from. It resizes photos by taking the nearest pixels, and rounds.
TEST_F(DetectorInFile, FindsWhatItsPackageStates) {
  if (const std::string why = test::without_real_data({"models"}); !why.empty()) GTEST_SKIP() << why;
  const fs::path folder = test::real_data("models");
  const FaceDetectors detectors =
      make_face_detectors(*engine_, {.name = (folder / "scrfd_2.5g_kps.onnx").string()}, {}, 1);
  const auto find = [&](const std::string& name) {
    return detectors.lanes.front()->find(data::decode_image_file(read_file(folder / "photos" / name)));
  };
  const auto truth = nlohmann::json::parse(read_file(folder / "scrfd_truth.json"));
  const char* const points[] = {"left_eye", "right_eye", "nose", "left_mouth", "right_mouth"};
  for (const auto& [name, expected] : truth.items()) {
    const auto faces = find(name);
    ASSERT_EQ(faces.size(), expected.size()) << name;
    const auto& box = expected[0]["box"];
    // A pixel of the network's image is one or two of the photo.
    constexpr double kRounding = 2.5;
    EXPECT_NEAR(faces[0].box.x1, box[0].get<double>(), kRounding) << name;
    EXPECT_NEAR(faces[0].box.y1, box[1].get<double>(), kRounding) << name;
    EXPECT_NEAR(faces[0].box.x2, box[2].get<double>(), kRounding) << name;
    EXPECT_NEAR(faces[0].box.y2, box[3].get<double>(), kRounding) << name;
    EXPECT_NEAR(faces[0].box.probability, expected[0]["probability"].get<double>(), 0.02) << name;
    for (std::size_t i = 0; i < 5; ++i) {
      const auto& point = expected[0]["points"][points[i]];
      EXPECT_NEAR(faces[0].landmarks[i].x, point[0].get<double>(), kRounding) << name << points[i];
      EXPECT_NEAR(faces[0].landmarks[i].y, point[1].get<double>(), kRounding) << name << points[i];
    }
  }
  EXPECT_THAT(find("solvay_conference_1927.jpg"), SizeIs(29));
}

}  // namespace
}  // namespace evener::faces
