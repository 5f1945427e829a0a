// Faces from photos to their embeddings, by small networks in files: bright squares are faces, and the vector of a face
// is the mean of each of its channels, so that every one can be told from all others.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/five_points_onnx.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "faces/photos/faces.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Square {
  int x = 0, y = 0, side = 32, red = 255, green = 255, blue = 255;
};

/// A black photo with squares as a PPM file.
void write_squares(const fs::path& path, int width, int height, const std::vector<Square>& squares) {
  std::string pixels(static_cast<std::size_t>(3 * width * height), '\0');
  for (const Square& square : squares) {
    for (int y = square.y; y < square.y + square.side; ++y) {
      for (int x = square.x; x < square.x + square.side; ++x) {
        const auto at = static_cast<std::size_t>(3 * (y * width + x));
        pixels[at] = static_cast<char>(square.red);
        pixels[at + 1] = static_cast<char>(square.green);
        pixels[at + 2] = static_cast<char>(square.blue);
      }
    }
  }
  test::write_text(path, "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" + pixels);
}

/// What the network that tells means says of a value from 0 to 255.
float told(int value) {
  return static_cast<float>(value) / 127.5F - 1;
}

class FacesByFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
    test::write_five_points_onnx(folder_ / "faces.onnx", {});
    write_means({-1, 3, 16, 16});
  }
  void write_means(const std::vector<std::int64_t>& input) const {
    test::write_tiny_onnx(folder_ / "means.onnx", {.input = input, .axes = {2, 3}});
  }
  EmbedderRequest embedder() const { return {.name = (folder_ / "means.onnx").string()}; }
  /// By CPU replicas of so many threads.
  FacesOptions options(const std::vector<int>& threads = {1}) const {
    FacesOptions options;
    for (const int count : threads) {
      placement::PlanStage stage;
      stage.threads = count;
      options.plan.replicas.push_back({.rank = 0, .stages = {stage}, .share = {}});
    }
    options.detector.name = (folder_ / "faces.onnx").string();
    options.embedder = embedder();
    return options;
  }
  /// Photos of 96 x 64 pixels with so many faces each, no two of one colour.
  void write_photos(const std::vector<int>& faces) const {
    for (std::size_t photo = 0; photo < faces.size(); ++photo) {
      std::vector<Square> squares;
      for (int i = 0; i < faces[photo]; ++i) {
        squares.push_back(
            {.x = 32 * (i % 3), .y = 32 * (i / 3), .red = 255 - 10 * i, .green = green_of(photo), .blue = 240});
      }
      write_squares(folder_ / "photos" / ("p" + std::to_string(photo) + ".ppm"), 96, 64, squares);
    }
  }
  static int green_of(std::size_t photo) { return 250 - 8 * static_cast<int>(photo); }
  data::Pictures photos() const { return data::Pictures({(folder_ / "photos").string()}); }

  /// The photos that came, by their numbers.
  static std::map<std::size_t, PhotoFaces> run(FacesJob& job, const data::Pictures& pictures,
                                               const std::vector<std::size_t>& which, FacesResult& result) {
    std::map<std::size_t, PhotoFaces> came;
    result = job.run(pictures, which, [&](PhotoFaces photo) {
      const std::size_t number = photo.photo;
      EXPECT_TRUE(came.emplace(number, std::move(photo)).second) << number << " came twice";
    });
    return came;
  }
  /// The faces of one photo that is written anew.
  std::vector<EmbeddedFace> faces_on(const FacesOptions& asked, int width, int height,
                                     const std::vector<Square>& squares) const {
    write_squares(folder_ / "photos/only.ppm", width, height, squares);
    FacesJob job(asked);
    FacesResult result;
    return run(job, photos(), {0}, result).at(0).faces;
  }

  test::TestFolder folder_;
};

TEST_F(FacesByFiles, EachFaceHasItsOwnVectorHoweverTheyAreEmbeddedTogether) {
  const std::vector<int> counts = {3, 0, 6, 1, 4, 5};  // calls of eight faces have those of several photos
  write_photos(counts);
  const data::Pictures pictures = photos();
  for (const std::vector<int>& threads : {std::vector<int>{1}, {1, 2}}) {
    FacesJob job(options(threads));
    EXPECT_EQ(job.lanes(), threads.size() == 1 ? 1U : 3U);
    EXPECT_EQ(job.done_together(), 8 * job.lanes());
    EXPECT_THAT(job.notes(), AllOf(testing::Contains(HasSubstr("a SCRFD that sees photos fitted into 96x64 pixels")),
                                   testing::Contains(HasSubstr("0.5/0.5 is assumed"))));
    FacesResult result;
    const auto came = run(job, pictures, {0, 1, 2, 3, 4, 5}, result);
    EXPECT_EQ(result.photos, 6U);
    EXPECT_THAT(result.skipped, IsEmpty());
    EXPECT_THAT(result.done_s, SizeIs(6));
    EXPECT_TRUE(std::ranges::is_sorted(result.done_s));
    EXPECT_FALSE(result.was_stopped);
    EXPECT_GT(result.detector_times.main_s, 0);
    ASSERT_THAT(came, SizeIs(6));
    for (const auto& [number, photo] : came) {
      EXPECT_EQ(photo.content, content_of(fs::path(pictures.source(number))));
      ASSERT_THAT(photo.faces, SizeIs(counts[number]));
      std::set<int> places;
      for (const EmbeddedFace& face : photo.faces) {
        const FaceBox& box = face.face.box;
        const int place = static_cast<int>(box.x1) / 32 + 3 * (static_cast<int>(box.y1) / 32);
        EXPECT_TRUE(places.insert(place).second);
        EXPECT_EQ(face.photo, number);
        EXPECT_THAT(face.embedding, testing::Pointwise(testing::FloatNear(1e-5F),
                                                       {told(255 - 10 * place), told(green_of(number)), told(240)}));
        EXPECT_EQ(face.thumbnail.substr(0, 3), "\xff\xd8\xff");
      }
      EXPECT_TRUE(places.empty() || *places.rbegin() == counts[number] - 1);
    }
    const auto some = run(job, pictures, {5, 2}, result);
    EXPECT_THAT(some, ElementsAre(testing::Key(2), testing::Key(5))) << "those that were asked for";
    EXPECT_THAT(run(job, pictures, {}, result), IsEmpty());
    EXPECT_EQ(result.detector_times.main_s + result.detector_times.other_s, 0) << "of this run alone";
  }
}

TEST_F(FacesByFiles, ChunksAreOfTheAskedSizeWithTheirFaces) {
  write_photos({3, 0, 6, 1, 4});
  FacesOptions asked = options();
  asked.chunk = 2;
  std::vector<std::pair<std::size_t, std::size_t>> chunks;
  FacesJob(asked).run(
      photos(), {0, 1, 2, 3, 4}, [](PhotoFaces) {},
      [&](const FacesChunk& chunk) {
        EXPECT_EQ(chunk.number, chunks.size());
        chunks.emplace_back(chunk.photos, chunk.faces);
      });
  using Chunk = std::pair<std::size_t, std::size_t>;
  EXPECT_THAT(chunks, ElementsAre(Chunk(2, 3), Chunk(2, 7), Chunk(1, 4)));
}

TEST_F(FacesByFiles, TheLikeliestOfEquallyLargeFacesIsTheOnly) {
  write_photos({3, 0, 6});
  FacesOptions asked = options();
  asked.all = false;
  FacesJob job(asked);
  FacesResult result;
  for (const auto& [number, photo] : run(job, photos(), {0, 1, 2}, result)) {
    ASSERT_THAT(photo.faces, SizeIs(number == 1 ? 0 : 1));
    for (const EmbeddedFace& face : photo.faces) EXPECT_EQ(face.face.box.x1, 0);
  }
}

// Turned by a quarter this photo is made smaller by a third, and its square is one of 32 pixels in the corner.
TEST_F(FacesByFiles, ATurnedPhotosFacesLieOnThePhotoAsItIs) {
  const std::vector<Square> squares = {{.x = 0, .y = 84, .side = 48, .green = 220, .blue = 240}};
  FacesOptions asked = options();
  EXPECT_THAT(faces_on(asked, 96, 132, squares), IsEmpty());
  asked.turn = true;
  const auto faces = faces_on(asked, 96, 132, squares);
  ASSERT_THAT(faces, SizeIs(1));
  const FaceBox& box = faces[0].face.box;
  EXPECT_THAT((std::vector{box.x1, box.y1, box.x2, box.y2}),
              testing::Pointwise(testing::FloatNear(0.02F), {0.0F, 84.0F, 48.0F, 132.0F}));
  EXPECT_NEAR(faces[0].embedding[1], told(220), 0.03) << "it was cut out of the turned photo";
  EXPECT_NEAR(faces[0].embedding[2], told(240), 0.03);
  // The left eye of the turned face is the lower one of the photo as it is.
  EXPECT_GT(faces[0].face.landmarks[0].y, faces[0].face.landmarks[1].y + 20);
}

TEST_F(FacesByFiles, AMarginIsOfThePhotoAroundTheFace) {
  const std::vector<Square> squares = {{.x = 32, .y = 32}};
  FacesOptions asked = options();
  EXPECT_NEAR(faces_on(asked, 96, 64, squares).at(0).embedding[0], told(255), 1e-5);
  asked.margin = 8;  // of 16 pixels: twice as much is seen to either side, but for what lies below the photo
  EXPECT_NEAR(faces_on(asked, 96, 64, squares).at(0).embedding[0], told(255 / 3), 0.03);
  asked.margin = 16;
  EXPECT_THAT(test::thrown_by<UsageError>([&] { FacesJob job(asked); }),
              HasSubstr("--margin 16 leaves nothing of faces of 16 x 16 pixels"));
}

TEST_F(FacesByFiles, WhatCantBeReadIsSetAsideOrEndsAStrictRun) {
  write_photos({1, 1, 1});
  const std::string whole = read_file(folder_ / "photos/p1.ppm");
  test::write_text(folder_ / "photos/p1.ppm", whole.substr(0, whole.size() / 2));
  const data::Pictures pictures = photos();
  FacesOptions asked = options();
  FacesResult result;
  {
    FacesJob job(asked);
    EXPECT_THAT(run(job, pictures, {0, 1, 2}, result), ElementsAre(testing::Key(0), testing::Key(2)));
    EXPECT_EQ(result.photos, 2U);
    ASSERT_THAT(result.skipped, SizeIs(1));
    EXPECT_EQ(result.skipped[0].file, pictures.source(1));
    EXPECT_NE(result.skipped[0].reason, "");
  }
  asked.strict = true;
  FacesJob strict(asked);
  EXPECT_THAT(test::thrown_by([&] { run(strict, pictures, {0, 1, 2}, result); }), HasSubstr("p1.ppm"));
}

TEST_F(FacesByFiles, WhoCantKeepAPhotoEndsTheRun) {
  write_photos({1, 1, 1});
  FacesJob job(options());
  EXPECT_THROW(job.run(photos(), {0, 1, 2}, [](PhotoFaces) { throw OutputError("the disk is full"); }), OutputError);
}

TEST_F(FacesByFiles, ANetworksFileTellsHowFacesAreCutAndHowManyAreEmbeddedTogether) {
  const auto engine = engine::open_engine("openvino");
  const auto open = [&](const EmbedderRequest& request) { return FaceEmbedder(*engine, request, {}, 1); };
  write_means({4, 3, 112, 96});
  const FaceEmbedder upright = open(embedder());
  EXPECT_EQ(upright.batch(), 4U);
  EXPECT_EQ(upright.cut(), FaceCut::kUpright);
  EXPECT_EQ(upright.face_shape().height, 112);
  EXPECT_EQ(upright.face_shape().width, 96);
  EmbedderRequest boxes = embedder();
  boxes.cut = FaceCut::kBox;
  EXPECT_EQ(open(boxes).cut(), FaceCut::kBox) << "who says so is followed";
  write_means({-1, 3, 96, 112});
  EXPECT_EQ(open(embedder()).cut(), FaceCut::kBox) << "112 pixels wide are no sign";
  EXPECT_EQ(open(embedder()).batch(), 8U);
  EXPECT_EQ(open({.name = "mobilefacenet"}).cut(), FaceCut::kUpright);
  EXPECT_THAT(open({.name = "mobilefacenet"}).notes(), ElementsAre(HasSubstr("random")));
}

TEST_F(FacesByFiles, FewerFacesThanACallTakesEachHaveTheirVector) {
  const auto engine = engine::open_engine("openvino");
  engine::RunnerOptions runner;
  runner.threads = 2;
  FaceEmbedder embedder(*engine, this->embedder(), runner, 2);
  const std::size_t bytes = embedder.face_shape().bytes();
  const std::vector<std::uint8_t> first(bytes, 10), second(bytes, 200), third(bytes, 90);
  for (const int lane : {0, 1}) {
    const auto rows = embedder.embed({first, second, third}, lane);
    ASSERT_THAT(rows, SizeIs(3));
    EXPECT_THAT(rows[0], testing::Each(testing::FloatNear(told(10), 1e-5F)));
    EXPECT_THAT(rows[1], testing::Each(testing::FloatNear(told(200), 1e-5F)));
    EXPECT_THAT(rows[2], testing::Each(testing::FloatNear(told(90), 1e-5F)));
    EXPECT_THAT(rows[2], SizeIs(3));
  }
}

}  // namespace
}  // namespace evener::faces
