// Options of faces, their embeddings in files, and data that networks were trained on, as it is opened again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "data/open/pictures.h"
#include "data/video_helpers.h"
#include "faces/comparison.h"
#include "faces/results.h"
#include "infer/session/images.h"
#include "infer/sinks.h"
#include "record/record.h"
#include "weights/safetensors.h"

namespace evener::faces {
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

using Given = std::vector<std::pair<std::string, std::string>>;

FacesOptions faces_options(const Given& given) {
  FacesCommandFlags flags;
  flags.networks.detector_weights.read({"w"});
  for (const auto& [name, word] : given) flags.options().give(name, {word});
  return flags.networks.options();
}

TEST(FacesOptionsTest, EachOptionReachesItsPlace) {
  const FacesOptions usual = faces_options({});
  EXPECT_EQ(usual.detector.weights, "w");
  EXPECT_EQ(usual.detector.mtcnn.min_size, 20);
  EXPECT_THAT(usual.detector.mtcnn.thresholds, ElementsAre(0.6F, 0.7F, 0.7F));
  EXPECT_FALSE(usual.turn);
  EXPECT_TRUE(usual.all);
  EXPECT_EQ(usual.embedder.name, "inception_resnet_v1");
  EXPECT_FALSE(usual.embedder.cut);
  const FacesOptions given = faces_options({{"--min-size", "33"},
                                            {"--confidence", "0,0.5,1"},
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
  const FacesOptions sure = faces_options({{"--confidence", "0.9"}});
  EXPECT_THAT(sure.detector.mtcnn.thresholds, ElementsAre(0.6F, 0.7F, 0.9F)) << "one is the last network's";
  EXPECT_EQ(given.margin, 7);
  EXPECT_FALSE(given.all);
  EXPECT_TRUE(given.turn);
  EXPECT_EQ(given.embedder.cut, FaceCut::kUpright);
  EXPECT_EQ(given.embedder.weights, "e");
  EXPECT_EQ(faces_options({{"--cut", "box"}}).embedder.cut, FaceCut::kBox);
  const auto in_file = [](const Given& given) {
    FacesCommandFlags flags;
    flags.options().give("--detector", {"d.onnx"});
    for (const auto& [name, word] : given) flags.options().give(name, {word});
    return flags.networks.options().detector;
  };
  const FaceDetectorFileOptions as_it_says = in_file({}).file;
  EXPECT_FALSE(as_it_says.size);
  EXPECT_FALSE(as_it_says.least_score);
  EXPECT_EQ(as_it_says.min_size, 0);
  const DetectorRequest asked = in_file({{"--detector-size", "64x32"}, {"--confidence", "0.25"}, {"--min-size", "33"}});
  EXPECT_EQ(asked.name, "d.onnx");
  EXPECT_EQ(asked.file.size, (SeenSize{64, 32}));
  EXPECT_EQ(asked.file.least_score, 0.25F);
  EXPECT_EQ(asked.file.min_size, 33);
  for (const char* wrong : {"0.6,0.7", "0.6,0.7,0.7,0.7", "0.6,,0.7", "0.6,0.7,1.1", "-0.1,0.7,0.7", "a,b,c", ","}) {
    EXPECT_THAT(faces_error([&] {
                  faces_options({{"--confidence", wrong}});
                }),
                HasSubstr("nor three of them, as in 0.6,0.7,0.7"))
        << wrong;
  }
  EXPECT_THAT(faces_error([] {
                faces_options({{"--size", "112x112"}});
              }),
              HasSubstr("--size is for a network in a file"));
  EXPECT_THAT(faces_error([] { FacesCommandFlags().networks.options(); }), HasSubstr("--detector-weights mtcnn"));
}

TEST(FacesOptionsTest, TheRecordHasThoseThatChangeWhatIsFound) {
  FacesCommandFlags flags;
  for (const auto& [name, word] : Given{{"DIR", "photos"},
                                        {"--every", "1s"},
                                        {"--embedder", "mobilefacenet"},
                                        {"--limit", "0.75"},
                                        {"--on", "cpu/t1"},
                                        {"--strict", "true"}}) {
    flags.options().give(name, {word});
  }
  const nlohmann::json config = flags.config();
  for (const char* key : {"every", "embedder", "limit", "on", "founder-size", "min-size"}) {
    EXPECT_TRUE(config.contains(key)) << key << " in " << config.dump();
  }
  EXPECT_EQ(config.at("limit"), 0.75);
  EXPECT_FALSE(config.contains("strict"));
  EXPECT_FALSE(config.contains("resume"));
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
  written.sure = 0.7F;
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
  const FaceBox& last = read.boxes[4999];
  EXPECT_THAT((std::vector{last.x1, last.y1, last.x2, last.y2, last.probability}), ElementsAre(4999, 2, 3, 4, 0.5F));
  EXPECT_EQ(read.sure, 0.7F);
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
  EXPECT_EQ(read_embeddings(file).sure, kUsuallySure);
  const HostTensor rows = HostTensor::of_floats({2, 2}, {1, 0, 0, 1}),
                   others = HostTensor::of_floats({2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(refused({{"a", others}, {"embeddings", rows}, {"x", others}}), "");
  EXPECT_THAT(read_embeddings(file).embeddings.values, ElementsAre(1, 0, 0, 1)) << "they are called so";
  EXPECT_EQ(refused({{"embeddings", rows}, {"boxes", HostTensor::of_floats({2, 4}, std::vector<float>(8, 1))}}), "");
  EXPECT_THAT(read_embeddings(file).boxes, testing::IsEmpty()) << "a box without a probability is another thing";
  for (const char* names : {R"(["one"])", R"(["a", "b", "c"])", "one and two", "[1, 2]"}) {
    weights::write_safetensors(file, {{"embeddings", rows}}, {{"files", names}});
    EXPECT_THAT(read_embeddings(file).files, ElementsAre("row 0", "row 1")) << names;
  }
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
  measure::Observer silent;
  ComparisonRequest request;
  request.folder = folder.path();
  request.file_of = [](std::size_t) { return "f"; };
  const auto lines = [&](std::size_t faces, std::size_t asked) {
    Embeddings embeddings;
    std::vector<FaceFacts> facts;
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
  EXPECT_THAT(
      faces_error([&] { inference::PhotoSorter(folder / "photos/sorted", inference::SortBy::kLink, {photos}); }),
      HasSubstr("lies within the photos"));
  EXPECT_EQ(faces_error([&] { inference::PhotoSorter(folder / "sorted", inference::SortBy::kLink, {photos}); }), "");
  EXPECT_THAT(faces_error([&] { check_sort_folder("/proc/no-such-process/sorted", {photos}); }),
              HasSubstr("--sort '/proc/no-such-process/sorted'"));
}

/// A face ahead, of this width, at this place.
EmbeddedFace made_face(float left, float width, float probability, std::vector<float> embedding) {
  EmbeddedFace face;
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
  std::vector<PhotoFaces> all(4);
  for (std::size_t i = 0; i < 4; ++i) all[i] = {.photo = i, .content = 70 + i, .faces = {}};
  // One person goes to the right and comes nearer; another one is there once, first on its frame.
  all[0].faces = {made_face(5, 20, 0.9F, {1, 0, 0})};
  all[1].faces = {made_face(40, 12, 0.8F, {0, 0, 1}), made_face(8, 22, 1, {0.8F, 0.6F, 0})};
  all[2].faces = {made_face(11, 24, 0.5F, {0.8F, -0.6F, 0})};
  for (PhotoFaces& photo : all) {
    for (EmbeddedFace& face : photo.faces) face.thumbnail = {1};  // else the journal's is taken
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

TEST(VideoTracksTest, EachVideoHasItsOwnTracksWithTheThumbnailsOfTheirBestFaces) {
  if (!test::has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  const TestFolder folder;
  const std::string a = (folder / "a.mkv").string(), b = (folder / "b.mkv").string();
  test::write_video(a, 2);
  test::write_video(b, 2);
  test::write_text(folder / "photo.pgm", "P5 2 2 255\n1234");
  const data::Pictures pictures({(folder / "photo.pgm").string(), a, b}, data::FrameChoice());
  ASSERT_EQ(pictures.size(), 5U);
  std::vector<PhotoFaces> all(5);
  for (std::size_t i = 0; i < 5; ++i) all[i] = {.photo = i, .content = 70 + i, .faces = {}};
  // The same person everywhere; on the second frame of a.mkv best of all, and behind somebody else.
  all[0].faces = {made_face(5, 20, 0.9F, {1, 0})};
  all[1].faces = {made_face(5, 20, 0.9F, {1, 0})};
  all[2].faces = {made_face(40, 12, 0.8F, {0, 1}), made_face(6, 22, 1, {1, 0})};
  all[3].faces = {made_face(5, 20, 0.9F, {1, 0})};
  all[4].faces = {made_face(5, 20, 0.8F, {1, 0})};
  {
    FacesJournal journal(folder / "j", nlohmann::json::object());
    for (PhotoFaces photo : all) {
      for (std::size_t i = 0; i < photo.faces.size(); ++i) {
        photo.faces[i].thumbnail = std::to_string(photo.photo) + "/" + std::to_string(i);
      }
      journal.add(photo);
    }
  }
  std::ranges::reverse(all);  // as they may come from several threads
  const VideoTracks tracks = keep_tracks(all, pictures, folder.path(), folder / "j");
  EXPECT_TRUE(tracks.has_videos);
  ASSERT_EQ(all.size(), 5U);
  const auto thumbnails = [](const PhotoFaces& photo) {
    std::vector<std::string> found;
    for (const EmbeddedFace& face : photo.faces) found.push_back(face.thumbnail);
    return found;
  };
  EXPECT_THAT(thumbnails(all[0]), ElementsAre("")) << "a photo stays as it is";
  EXPECT_THAT(thumbnails(all[1]), ElementsAre());
  EXPECT_THAT(thumbnails(all[2]), ElementsAre("2/1", "2/0")) << "in the order of their tracks";
  EXPECT_THAT(thumbnails(all[3]), ElementsAre("3/0"));
  EXPECT_THAT(thumbnails(all[4]), ElementsAre());
  EXPECT_THAT(tracks.summary,
              ElementsAre(a + ": 3 faces on 2 frames make 2 tracks, each of a person for as long as they are in view.",
                          b + ": 2 faces on 2 frames make 1 track, each of a person for as long as they are in view."));
  const TrackSpan span = tracks.spans.at({2, 0});
  EXPECT_NEAR(span.last_s, 0.04, 1e-3);
  EXPECT_EQ(tracks.spans.size(), 3U);
  std::ifstream table(folder / "tracks.csv");
  const std::string rows(std::istreambuf_iterator<char>(table), {});
  EXPECT_EQ(rows, "video,track,time_s,x1,y1,x2,y2,probability\n" + a + ",1,0.000,5.00,10.00,25.00,30.00,0.900000\n" +
                      a + ",1,0.040,6.00,10.00,28.00,32.00,1.000000\n" + a +
                      ",2,0.040,40.00,10.00,52.00,22.00,0.800000\n" + b + ",1,0.000,5.00,10.00,25.00,30.00,0.900000\n" +
                      b + ",1,0.040,5.00,10.00,25.00,30.00,0.800000\n");
  // Two frames of one film are one photo in the folders of all who are on it.
  FoundFaces found;
  for (const std::size_t photo : {1U, 2U, 3U}) {
    found.photos.push_back({photo, 0, 1, found.faces.size()});
    found.faces.emplace_back();
  }
  found.persons = {0, 1, 0};
  EXPECT_THAT(sort_by_person(folder / "sorted", found, pictures),
              AllOf(HasSubstr("2 photos sorted into folders of 2 persons"), HasSubstr("by 3 links")));
  EXPECT_EQ(fs::read_symlink(folder / "sorted/person-2/a.mkv"), a);
}

std::string opened_parts(const inference::LabelledDataRequest& request, const inference::RunConfig& run) {
  data::Preprocessing steps;
  steps.shape = {1, 20, 24};
  const data::OpenedData opened = inference::open_labelled_data(request, steps, run);
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
  const inference::RunConfig run(folder.path()), none(fs::path{});
  const auto request = [](const std::string& location, const std::string& split) {
    inference::LabelledDataRequest request;
    request.location = location;
    request.split = split;
    return request;
  };
  EXPECT_EQ(opened_parts(request("synth:digits:100", ""), run), "1x20x24 50/20/30");
  EXPECT_EQ(opened_parts(request("synth:digits:100", "60/40"), run), "1x20x24 60/40/0")
      << "what is asked for comes first";
  EXPECT_EQ(opened_parts(request("synth:digits:200", "50/20/30"), none), "1x20x24 100/40/60");
  EXPECT_NE(opened_parts(request("synth:digits:200", ""), run), "1x20x24 100/40/60") << "other data has its own parts";
  EXPECT_EQ(inference::own_data(run), "synth:digits:100");
  EXPECT_EQ(inference::own_data(none), "");
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
    inference::LabelledDataRequest request;
    request.location = location;
    request.split = split;
    return inference::open_labelled_data(request, steps, inference::RunConfig(folder.path())).notes;
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
  inference::LabelledDataRequest request;
  request.location = (folder / "data").string();
  const inference::RunConfig none(fs::path{});
  EXPECT_EQ(faces_error([&] { opened_parts(request, none); }), "");
  request.strict = true;
  EXPECT_THAT(faces_error([&] { opened_parts(request, none); }), HasSubstr("bad.pgm"));
}

}  // namespace
}  // namespace evener::faces
