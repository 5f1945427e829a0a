// Options of faces, their embeddings in files, and data that networks were trained on, as it is opened again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/test_folder.h"
#include "data/open/pictures.h"
#include "data/video_helpers.h"
#include "job/faces/comparison.h"
#include "job/faces/results.h"
#include "job/infer/infer_sinks.h"
#include "job/inference/images.h"
#include "record/record.h"
#include "weights/safetensors.h"

namespace evener::job {
namespace {

using test::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string faces_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

task::FacesOptions faces_options(const std::vector<std::pair<std::string, std::string>>& given) {
  FacesCommandFlags flags;
  flags.networks.detector_weights.read({"w"});
  for (const auto& [name, word] : given) flags.options().give(name, {word});
  return flags.networks.options();
}

TEST(FacesOptionsTest, EachOptionReachesItsPlace) {
  const task::FacesOptions usual = faces_options({});
  EXPECT_EQ(usual.detector.weights, "w");
  EXPECT_EQ(usual.detector.mtcnn.min_size, 20);
  EXPECT_THAT(usual.detector.mtcnn.thresholds, ElementsAre(0.6F, 0.7F, 0.7F));
  EXPECT_FALSE(usual.turn);
  EXPECT_TRUE(usual.all);
  EXPECT_EQ(usual.embedder.name, "inception_resnet_v1");
  EXPECT_FALSE(usual.embedder.cut);
  const task::FacesOptions given = faces_options({{"--min-size", "33"},
                                                  {"--thresholds", "0,0.5,1"},
                                                  {"--factor", "0.5"},
                                                  {"--margin", "7"},
                                                  {"--largest", "true"},
                                                  {"--rotate", "auto"},
                                                  {"--cut", "upright"},
                                                  {"--weights", "e"},
                                                  {"--embedder", "mobilefacenet"}});
  EXPECT_EQ(given.detector.mtcnn.min_size, 33);
  EXPECT_THAT(given.detector.mtcnn.thresholds, ElementsAre(0, 0.5F, 1));
  EXPECT_EQ(given.detector.mtcnn.factor, 0.5);
  EXPECT_EQ(given.margin, 7);
  EXPECT_FALSE(given.all);
  EXPECT_TRUE(given.turn);
  EXPECT_EQ(given.embedder.cut, task::FaceCut::kUpright);
  EXPECT_EQ(given.embedder.weights, "e");
  EXPECT_EQ(faces_options({{"--cut", "box"}}).embedder.cut, task::FaceCut::kBox);
  for (const char* wrong : {"0.6,0.7", "0.6,0.7,0.7,0.7", "0.6,,0.7", "0.6,0.7,1.1", "-0.1,0.7,0.7", "a,b,c", ","}) {
    EXPECT_THAT(faces_error([&] {
                  faces_options({{"--thresholds", wrong}});
                }),
                HasSubstr("are not three numbers"))
        << wrong;
  }
  EXPECT_THAT(faces_error([] {
                faces_options({{"--size", "112x112"}});
              }),
              HasSubstr("--size is for a network in a file"));
  EXPECT_THAT(faces_error([] { FacesCommandFlags().networks.options(); }), HasSubstr("--detector-weights mtcnn"));
}

TEST(FacesOptionsTest, MemoryHasAUnitAndAPlacementNoStages) {
  const auto bytes = [](const char* text) {
    FacesPlacementFlags flags;
    flags.memory.read({text});
    return flags.memory_bytes();
  };
  EXPECT_EQ(FacesPlacementFlags().memory_bytes(), 0u);
  EXPECT_EQ(bytes("600MB"), 600'000'000u);
  EXPECT_EQ(bytes("600M"), 600'000'000u);
  EXPECT_EQ(bytes("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(bytes("2G"), 2'000'000'000u);
  for (const char* wrong : {"600", "0MB", "-1GB", "5TB", "MB"}) {
    EXPECT_THAT(faces_error([&] { bytes(wrong); }), HasSubstr("is no size")) << wrong;
  }
  FacesPlacementFlags whole;
  whole.on.read({"cpu/t1"});
  EXPECT_EQ(whole.plan().replicas.size(), 1u);
  FacesPlacementFlags divided;
  divided.on.read({"cpu/t1..cpu/t1"});
  EXPECT_THAT(faces_error([&] { divided.plan(); }), HasSubstr("divides layers over devices"));
}

TEST(StoredFacesTest, AreReadAsTheyWereWritten) {
  const TestFolder folder;
  StoredFaces written;
  for (int i = 0; i < 5000; ++i) {  // more than are read at once
    const std::vector<float> row = {static_cast<float>(std::cos(i)), static_cast<float>(std::sin(i))};
    written.embeddings.add(row);
    written.files.push_back("f" + std::to_string(i));
    written.boxes.push_back({1.0F * static_cast<float>(i), 2, 3, 4, 0.5F});
  }
  write_embeddings(folder / "e.safetensors", written);
  const StoredFaces read = read_embeddings(folder / "e.safetensors");
  ASSERT_EQ(read.embeddings.size(), 5000u);
  EXPECT_EQ(read.embeddings.values, written.embeddings.values);
  EXPECT_EQ(read.files, written.files);
  ASSERT_EQ(read.boxes.size(), 5000u);
  EXPECT_EQ(read.boxes[4999].x1, 4999);
  EXPECT_EQ(read.boxes[4999].probability, 0.5F);
}

TEST(StoredFacesTest, OfOtherSoftwareAreTheOnlyRowsOfAFile) {
  const TestFolder folder;
  const fs::path file = folder / "e.safetensors";
  const auto refused = [&](const TensorMap& tensors) {
    weights::write_safetensors(file, tensors, {});
    return faces_error([&] { read_embeddings(file); });
  };
  EXPECT_EQ(refused({{"x", HostTensor::of_floats({2, 2}, {1, 0, 0, 1})}, {"y", HostTensor::of_floats({3}, {1, 2, 3})}}),
            "");
  EXPECT_THAT(read_embeddings(file).files, ElementsAre("row 0", "row 1"));
  EXPECT_THAT(
      refused({{"x", HostTensor::of_floats({2, 2}, {1, 0, 0, 1})}, {"y", HostTensor::of_floats({1, 2}, {1, 2})}}),
      HasSubstr("nor another that is the only one"));
  EXPECT_THAT(refused({{"embeddings", HostTensor::of_floats({2}, {1, 0})}}), HasSubstr("has to be float32 of shape"));
  EXPECT_THAT(refused({{"x", HostTensor::of_floats({2, 2}, {1, 0, 0, 0})}}), HasSubstr("row 1 of 'x'"));
  EXPECT_THAT(refused({{"x", HostTensor::of_floats({2, 2}, {1, NAN, 0, 1})}}),
              AllOf(HasSubstr("row 0 of 'x'"), HasSubstr("that is no number")));
  EXPECT_TRUE(names_embeddings({"a.safetensors"}));
  EXPECT_FALSE(names_embeddings({"a.jpg", "b"}));
  EXPECT_THAT(faces_error([] {
                names_embeddings({"a.safetensors", "b.jpg"});
              }),
              HasSubstr("give one file of embeddings"));
}

TEST(NeighboursTest, AreAsManyAsThereAre) {
  const TestFolder folder;
  Observer silent;
  ComparisonRequest request;
  request.folder = folder.path();
  request.file_of = [](std::size_t) { return "f"; };
  const auto lines = [&](std::size_t faces, std::size_t asked) {
    task::Embeddings embeddings;
    std::vector<task::FaceFacts> facts;
    for (std::size_t i = 0; i < faces; ++i) {
      const auto angle = static_cast<double>(i);
      embeddings.add(std::vector<float>{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      facts.push_back({i, true});
    }
    request.neighbours = asked;
    compare(embeddings, facts, request, silent);
    std::ifstream file(folder / "neighbours.csv");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  EXPECT_EQ(lines(2, 1), 1 + 2);
  EXPECT_EQ(lines(3, 5), 1 + 3 * 2);
  EXPECT_EQ(lines(4, 2), 1 + 4 * 2);
  EXPECT_EQ(lines(1, 2), 0);
  FacesComparisonFlags flags;
  flags.limit.read({"0.75"});
  EXPECT_EQ(comparison_request(flags).limit, 0.75F);
  EXPECT_FALSE(comparison_request(flags).neighbours);
  flags.neighbours.read({"3"});
  EXPECT_EQ(comparison_request(flags).neighbours, 3u);
}

TEST(SortedFolders, LieBesideThePhotosWhereSomethingCanBeWritten) {
  const TestFolder folder;
  const std::string photos = (folder / "photos").string();
  fs::create_directories(photos);
  EXPECT_THAT(faces_error([&] { PhotoSorter(folder / "photos/sorted", SortBy::kLink, {photos}); }),
              HasSubstr("lies within the photos"));
  EXPECT_EQ(faces_error([&] { PhotoSorter(folder / "sorted", SortBy::kLink, {photos}); }), "");
  EXPECT_THAT(faces_error([&] { check_sort_folder("/proc/no-such-process/sorted", {photos}); }),
              HasSubstr("--sort '/proc/no-such-process/sorted'"));
}

/// A face ahead, of this width, at this place.
task::EmbeddedFace made_face(float left, float width, float probability, std::vector<float> embedding) {
  task::EmbeddedFace face;
  face.face.box = {left, 10, left + width, 10 + width, probability};
  face.face.landmarks[0] = {left + width / 4, 20};
  face.face.landmarks[1] = {left + 3 * width / 4, 20};
  face.face.landmarks[2] = {left + width / 2, 25};
  face.embedding = std::move(embedding);
  return face;
}

TEST(VideoTracksTest, APersonIsTheMeanOfAllFramesAndNotTheBestOne) {
  if (!test::has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  const TestFolder folder;
  const std::string film = (folder / "film.mkv").string();
  // It begins at 3 s, with 29.97 frames a second, the last of which is shown after a second more.
  test::write_video(film, 4, {.options = "-vf 'setpts=N+30*gte(N\\,3)' -output_ts_offset 3", .rate = "30000/1001"});
  const data::Pictures pictures({film}, data::FrameChoice());
  ASSERT_EQ(pictures.size(), 4U);
  std::vector<task::PhotoFaces> all(4);
  for (std::size_t i = 0; i < 4; ++i) all[i] = {.photo = i, .content = 70 + i, .faces = {}};
  // One person goes to the right and comes nearer; another one is there once, first on its frame.
  all[0].faces = {made_face(5, 20, 0.9F, {1, 0, 0})};
  all[1].faces = {made_face(40, 12, 0.8F, {0, 0, 1}), made_face(8, 22, 1, {0.8F, 0.6F, 0})};
  all[2].faces = {made_face(11, 24, 0.5F, {0.8F, -0.6F, 0})};
  for (task::PhotoFaces& photo : all) {
    for (task::EmbeddedFace& face : photo.faces) face.thumbnail = {1};  // else the journal's is taken
  }
  const VideoTracks tracks = keep_tracks(all, pictures, folder.path(), folder / "none");
  EXPECT_THAT(all[0].faces, testing::IsEmpty());
  EXPECT_THAT(all[2].faces, testing::IsEmpty());
  ASSERT_EQ(all[1].faces.size(), 2U);
  // Weighted by width times probability: 18, 22 and 12.
  const std::vector<float> mean = {18 + 22 * 0.8F + 12 * 0.8F, 22 * 0.6F - 12 * 0.6F, 0};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(all[1].faces[0].embedding[i], mean[i], 1e-3) << i;
  EXPECT_THAT(all[1].faces[1].embedding, ElementsAre(0, 0, testing::FloatNear(12 * 0.8F, 1e-3F)));
  const TrackSpan first = tracks.spans.at({1, 0}), second = tracks.spans.at({1, 1});
  EXPECT_NEAR(first.first_s, 0, 1e-3);
  EXPECT_NEAR(first.last_s, 2 * 1001 / 30000.0, 1e-3);
  EXPECT_EQ(first.frames, 3U);
  EXPECT_NEAR(second.first_s, 1001 / 30000.0, 1e-3);
  EXPECT_EQ(second.frames, 1U);
  std::ifstream table(folder / "tracks.csv");
  const std::string rows(std::istreambuf_iterator<char>(table), {});
  EXPECT_THAT(rows, AllOf(HasSubstr("film.mkv,1,0.067,11.00,10.00,35.00,34.00,0.500000\n"),
                          HasSubstr("film.mkv,2,0.033,40.00,10.00,52.00,22.00,0.800000\n")));
}

std::string opened_parts(const LabelledDataRequest& request, const RunConfig& run) {
  data::Preprocessing steps;
  steps.shape = {1, 20, 24};
  const data::OpenedData opened = open_labelled_data(request, steps, run);
  const data::ImageShape shape = opened.dataset->shape();
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.width) + " " +
         std::to_string(opened.split.train.size()) + "/" + std::to_string(opened.split.val.size()) + "/" +
         std::to_string(opened.split.test.size());
}

TEST(LabelledData, IsOfTheNetworksSizeAndDividedAsItsTrainingWas) {
  const TestFolder folder;
  record::Record record;
  record.config = {{"seed", "7"}, {"split", "[50.0,20.0,30.0]"}, {"data", "\"synth:digits:100\""}};
  record::write_record(folder.path(), record);
  const RunConfig run(folder.path()), none(fs::path{});
  const auto request = [](const std::string& location, const std::string& split) {
    LabelledDataRequest request;
    request.location = location;
    request.split = split;
    return request;
  };
  EXPECT_EQ(opened_parts(request("synth:digits:100", ""), run), "1x20x24 50/20/30");
  EXPECT_EQ(opened_parts(request("synth:digits:100", "60/40"), run), "1x20x24 60/40/0")
      << "what is asked for comes first";
  EXPECT_EQ(opened_parts(request("synth:digits:200", "50/20/30"), none), "1x20x24 100/40/60");
  EXPECT_NE(opened_parts(request("synth:digits:200", ""), run), "1x20x24 100/40/60") << "other data has its own parts";
  EXPECT_EQ(own_data(run), "synth:digits:100");
  EXPECT_EQ(own_data(none), "");
}

TEST(LabelledData, TellsThatItHasOtherCountsThanItsTrainingHad) {
  const TestFolder folder;
  record::Record record;
  record.config = {{"seed", "7"}, {"split", "[50.0,20.0,30.0]"}, {"data", "\"synth:digits:100\""}};
  data::Preprocessing steps;
  steps.shape = {1, 20, 24};
  const auto notes = [&](std::int64_t train, const std::string& location, const std::string& split) {
    record.data.train = train;
    record.data.val = 20;
    record.data.test = 30;
    record::write_record(folder.path(), record);
    LabelledDataRequest request;
    request.location = location;
    request.split = split;
    return open_labelled_data(request, steps, RunConfig(folder.path())).notes;
  };
  const auto changed =
      HasSubstr("which had 40, 20 and 30 images to train on, to validate on and to test with, now 50, 20 and 30;");
  EXPECT_THAT(notes(40, "synth:digits:100", ""), testing::Contains(changed));
  EXPECT_THAT(notes(50, "synth:digits:100", ""), testing::Not(testing::Contains(HasSubstr("has changed"))));
  EXPECT_THAT(notes(40, "synth:digits:100", "60/40"), testing::Not(testing::Contains(HasSubstr("has changed"))));
  EXPECT_THAT(notes(40, "synth:digits:200", ""), testing::Not(testing::Contains(HasSubstr("has changed"))));
}

TEST(LabelledData, IsStrictWhereThatIsAskedFor) {
  const TestFolder folder;
  for (const char* name : {"ants/0.pgm", "ants/1.pgm", "bees/0.pgm", "bees/1.pgm"}) {
    test::write_text(folder / "data" / name, "P5 2 2 255\n" + std::string(name).substr(0, 4));
  }
  test::write_text(folder / "data/bees/bad.pgm", "P5 2 2");
  LabelledDataRequest request;
  request.location = (folder / "data").string();
  const RunConfig none(fs::path{});
  EXPECT_EQ(faces_error([&] { opened_parts(request, none); }), "");
  request.strict = true;
  EXPECT_THAT(faces_error([&] { opened_parts(request, none); }), HasSubstr("bad.pgm"));
}

}  // namespace
}  // namespace evener::job
