// evener faces, as a user runs it: with made-up weights, which find faces everywhere, and with real ones where they are
// at hand.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/module.h"
#include "base/random.h"
#include "cli/run_helpers.h"
#include "cli/run_program.h"
#include "data/data_helpers.h"
#include "network/init.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;
using Row = std::map<std::string, std::string>;

/// The rows of a CSV file without quotes, by their headings.
std::vector<Row> rows_of(const fs::path& path) {
  std::ifstream file(path);
  const auto fields_of = [](const std::string& line) {
    Words fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    return fields;
  };
  std::string line;
  std::getline(file, line);
  const Words headings = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const Words fields = fields_of(line);
    Row row;
    for (std::size_t i = 0; i < headings.size() && i < fields.size(); ++i) row[headings[i]] = fields[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

class Faces : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state != ModuleState::kUsable) GTEST_SKIP() << "the engine is not built";
    fs::create_directories(weights());
    for (const char* part : {"pnet", "rnet", "onet"}) {
      const network::Network network = network::build(std::string("mtcnn_") + part, {});
      weights::write_safetensors(weights() / (std::string(part) + ".safetensors"), network::initial_state(network, 1));
    }
  }

  ProgramResult run(const Words& words) const {
    return run_program(joined({"faces"}, words), {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  }
  /// With weights that find something on every photo.
  ProgramResult faces(const Words& words) const {
    return run(joined({"--detector-weights", weights().string(), "--thresholds", "0,0,0", "--embedder", "mobilefacenet",
                       "--on", "cpu/t1"},
                      words));
  }
  fs::path weights() const { return folder_ / "weights"; }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  /// A grey picture of noise, another one for each name.
  void write_photo(const std::string& name, int width = 44, int height = 40) const {
    Random random(1, Purpose::kSynthetic, hash_text(name));
    std::string pixels;
    for (int i = 0; i < width * height; ++i) pixels += static_cast<char>(random.below(256));
    test::write_text(folder_ / "photos" / name,
                     "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" + pixels);
  }

  test::TemporaryFolder folder_;
};

TEST_F(Faces, ARunLeavesItsFilesBehind) {
  write_photo("a.pgm");
  write_photo("b.pgm");
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--json", file("record.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 2 photos"), HasSubstr("faces.html")));
  EXPECT_THAT(result.err, HasSubstr("random")) << "the embedder has no weights";
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows.front().at("file"), file("photos/a.pgm"));
  EXPECT_EQ(rows.back().at("file"), file("photos/b.pgm"));
  EXPECT_LT(std::stod(rows[0].at("x1")), std::stod(rows[0].at("x2")));
  EXPECT_FALSE(rows[0].at("mouth_right_y").empty());
  const auto embeddings = weights::read_safetensors(folder_ / "out/embeddings.safetensors");
  EXPECT_EQ(embeddings.tensors.at("embeddings").shape,
            (std::vector<std::int64_t>{static_cast<std::int64_t>(rows.size()), 128}));
  const std::string matrix = read_file(folder_ / "out/distances.npy");
  EXPECT_EQ(matrix.substr(1, 5), "NUMPY");
  EXPECT_EQ((matrix.size() - rows.size() * rows.size() * 4) % 64, 0U);
  const json record = record_in(folder_ / "out");
  EXPECT_EQ(record["kind"], "faces");
  EXPECT_EQ(record["metrics"]["faces"]["value"], rows.size());
  EXPECT_EQ(record, json::parse(read_file(file("record.json"))));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("a.pgm"));
}

TEST_F(Faces, TheLargestFaceAloneAndLimitsOfLikeness) {
  write_photo("a.pgm", 80, 70);
  write_photo("b.pgm", 80, 70);
  ASSERT_EQ(faces({file("photos"), "--out", file("all")}).exit_code, 0);
  ASSERT_EQ(faces({file("photos"), "--out", file("one"), "--largest", "--limit", "0", "--founder-size", "0"}).exit_code,
            0);
  double largest = 0;
  const auto area = [](const Row& row) {
    return (std::stod(row.at("x2")) - std::stod(row.at("x1"))) * (std::stod(row.at("y2")) - std::stod(row.at("y1")));
  };
  for (const Row& row : rows_of(folder_ / "all/faces.csv")) {
    if (row.at("file") == file("photos/a.pgm")) largest = std::max(largest, area(row));
  }
  const std::vector<Row> ones = rows_of(folder_ / "one/faces.csv");
  ASSERT_EQ(ones.size(), 2U);
  EXPECT_EQ(area(ones[0]), largest);
  EXPECT_EQ(ones[0].at("person"), "") << "no two are the same";
  EXPECT_TRUE(rows_of(folder_ / "one/pairs.csv").empty());
}

TEST_F(Faces, TellsWhatALargerSmallestFaceWouldSave) {
  write_photo("large.pgm", 640, 480);
  const Words words = {file("photos"), "--overwrite", "--out", file("out"), "--thresholds", "1,1,1"};
  EXPECT_THAT(faces(words).out, HasSubstr("--min-size 40 would leave out smaller faces, and 75 % of that"));
  EXPECT_THAT(faces(joined(words, {"--min-size", "40"})).out, Not(HasSubstr("would leave out")));
}

TEST_F(Faces, PhotosWithoutFacesAreNoError) {
  write_photo("small.pgm", 8, 8);
  const ProgramResult result = faces({file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 faces on 1 photo; 0 persons seen more than once"));
  EXPECT_TRUE(rows_of(folder_ / "out/faces.csv").empty());
  EXPECT_FALSE(fs::exists(folder_ / "out/distances.npy"));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("No two faces are alike"));
}

TEST_F(Faces, WhatIsNoPhotoIsToldAndLeftOut) {
  write_photo("good.pgm");
  test::write_text(folder_ / "photos/cut.pgm", "P5\n44 40\n255\ncut short");
  test::write_text(folder_ / "photos/nothing.jpg", "");
  test::write_text(folder_ / "photos/text.png", "this is text");
  const ProgramResult result = faces({file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 1 photo;"), HasSubstr("3 photos could not be read")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("cut.pgm: "), HasSubstr("nothing.jpg: "), HasSubstr("text.png: ")));
  EXPECT_EQ(record_in(folder_ / "out")["data"]["skipped"], 3);
  const ProgramResult strict = faces({file("photos"), "--out", file("strict"), "--strict"});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.err, HasSubstr("photos/cut.pgm"));
}

TEST_F(Faces, TwoNamesOfOneFileAreOnePhoto) {
  write_photo("a.pgm");
  fs::create_symlink(folder_ / "photos/a.pgm", folder_ / "photos/b.pgm");
  fs::create_directory_symlink(folder_ / "photos", folder_ / "photos/loop");
  const ProgramResult result = faces({file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("on 1 photo;"));
  EXPECT_THAT(result.err, HasSubstr("note: "));
}

TEST_F(Faces, WhatIsMissingIsNamedWithWhatToDo) {
  write_photo("a.pgm");
  fs::create_directories(folder_ / "empty");
  const auto expect = [&](const ProgramResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << part;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "out")) << "a run that didn't begin leaves no folder: " << part;
  };
  const Words photos = {file("photos"), "--out", file("out")};
  expect(run(photos), 2, "evener data fetch mtcnn");
  expect(run(joined(photos, {"--detector-weights", file("empty")})), 1, "no pnet.pt");
  expect(faces({file("empty"), "--out", file("out")}), 1, "no image files");
  expect(faces({file("nowhere"), "--out", file("out")}), 1, "nowhere");
  expect(faces(joined(photos, {"--thresholds", "0.6,0.7"})), 2, "three numbers from 0 to 1");
  expect(faces(joined(photos, {"--thresholds", "0.6,0.7,2"})), 2, "three numbers from 0 to 1");
  expect(faces(joined(photos, {"--min-size", "5"})), 2, "--min-size");
  expect(faces(joined(photos, {"--limit", "3"})), 2, "--limit");
  expect(faces(joined(photos, {"--embedder", "mobilefacenett"})), 2, "mobilefacenet");
  expect(faces(joined(photos, {"--weights", file("none.pt")})), 1, "none.pt");
  expect(faces(joined(photos, {"--weights", (weights() / "rnet.safetensors").string()})), 1, "rnet.safetensors");
  expect(faces(joined(photos, {"--resume", "--overwrite"})), 2, "give one of them");
  expect(faces({file("photos"), "--resume"}), 2, "--resume needs --out");
}

TEST_F(Faces, AnotherRunLooksAtNewPhotosOnly) {
  write_photo("a.pgm");
  write_photo("gone.pgm");
  write_photo("small.pgm", 8, 8);
  const Words first = {file("photos"), "--out", file("out")};
  const Words again = joined(first, {"--resume"});
  ASSERT_EQ(faces(again).exit_code, 0) << "nothing there yet: it begins";
  const std::vector<Row> before = rows_of(folder_ / "out/faces.csv");
  const ProgramResult refused = faces(first);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("holds faces already"), HasSubstr("--resume"), HasSubstr("--overwrite")));
  const ProgramResult other = faces(joined(again, {"--min-size", "24"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--min-size 20, not with 24"));
  const fs::path part = weights() / "pnet.safetensors";
  fs::rename(part, weights() / "kept");
  weights::write_safetensors(part, network::initial_state(network::build("mtcnn_pnet", {}), 2));
  EXPECT_THAT(faces(again).err, HasSubstr("were found with --detector-weights files of content"));
  fs::rename(weights() / "kept", part);
  EXPECT_EQ(rows_of(folder_ / "out/faces.csv"), before) << "a refused run leaves what was there";

  fs::rename(folder_ / "photos/a.pgm", folder_ / "photos/renamed.pgm");
  fs::remove(folder_ / "photos/gone.pgm");
  write_photo("new.pgm");
  const ProgramResult more = faces(joined(again, {"--limit", "0.5"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("2 known from before, 1 new, 1 no longer there."));
  EXPECT_THAT(more.err, AllOf(HasSubstr("no longer there: " + file("photos/gone.pgm")), HasSubstr("1 new photo on")));
  const auto boxes_on = [](const std::vector<Row>& rows, const std::string& name) {
    Words boxes;
    for (const Row& row : rows) {
      if (row.at("file") == name) boxes.push_back(row.at("x1") + " " + row.at("y2") + " " + row.at("probability"));
    }
    return boxes;
  };
  const std::vector<Row> after = rows_of(folder_ / "out/faces.csv");
  EXPECT_EQ(boxes_on(after, file("photos/renamed.pgm")), boxes_on(before, file("photos/a.pgm")));
  EXPECT_FALSE(boxes_on(after, file("photos/new.pgm")).empty());
  EXPECT_TRUE(boxes_on(after, file("photos/gone.pgm")).empty());
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("renamed.pgm")) << "with its thumbnails";
  // Nothing has changed since.
  EXPECT_THAT(faces(again).out, HasSubstr("3 known from before, 0 new, 0 no longer there."));
  // A whole run over the same photos gives the same.
  ASSERT_EQ(faces({file("photos"), "--out", file("whole")}).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "out/faces.csv"), read_file(folder_ / "whole/faces.csv"));
}

TEST_F(Faces, PairsAreJudged) {
  for (const char* name : {"a.pgm", "b.pgm", "c.pgm"}) write_photo(name);
  test::write_text(folder_ / "photos/a2.pgm", read_file(folder_ / "photos/a.pgm"));
  test::write_text(folder_ / "photos/b2.pgm", read_file(folder_ / "photos/b.pgm"));
  write_photo("small.pgm", 8, 8);
  test::write_text(
      folder_ / "pairs.csv",
      "file_a,file_b,same\nphotos/a.pgm,photos/a2.pgm,1\nphotos/b.pgm,photos/b2.pgm,1\n"
      "photos/a.pgm,photos/c.pgm,0\n\n# more\nphotos/b.pgm,photos/c.pgm,0\nphotos/a.pgm,photos/small.pgm,0\n");
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--pairs", file("pairs.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 pairs of one person and 2 of two: 100.00 % told rightly"),
                                HasSubstr("1 left out, a photo without a face")));
  EXPECT_EQ(record_in(folder_ / "out")["metrics"]["equal_error_rate"]["value"], 0);
  EXPECT_EQ(rows_of(folder_ / "out/judged_pairs.csv").size(), 4U);
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"photos/a.pgm photos/b.pgm 2\n", "line 1 of"},
           {"photos/a.pgm\tphotos/none.pgm\t1\n", "'photos/none.pgm', which is not among the photos"}}) {
    test::write_text(folder_ / "bad.txt", text);
    const ProgramResult bad = faces({file("photos"), "--out", file("bad"), "--pairs", file("bad.txt")});
    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_THAT(bad.err, HasSubstr(part));
  }
}

TEST_F(Faces, AnInterruptedRunSaysHowToGoOn) {
  for (int i = 0; i < 60; ++i) write_photo("p" + std::to_string(i) + ".pgm", 60, 50);
  test::RunningProgram program(EVENER_PROGRAM,
                               {"faces", file("photos"), "--detector-weights", weights().string(), "--thresholds",
                                "0,0,0", "--embedder", "mobilefacenet", "--on", "cpu/t1", "--out", file("out")},
                               {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  ASSERT_TRUE(program.wait_for("60 photos on cpu"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, AllOf(HasSubstr("of 60 photos"), HasSubstr("--resume goes on")));
}

TEST_F(Faces, AKilledRunGoesOn) {
  for (int i = 0; i < 30; ++i) write_photo("p" + std::to_string(i) + ".pgm", 60, 50);
  const Words words = {"faces",
                       file("photos"),
                       "--detector-weights",
                       weights().string(),
                       "--thresholds",
                       "0,0,0",
                       "--embedder",
                       "mobilefacenet",
                       "--on",
                       "cpu/t1",
                       "--out",
                       file("out")};
  {
    test::RunningProgram killed(EVENER_PROGRAM, words, {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
    // Some photos long: one that is half written doesn't count.
    constexpr std::uintmax_t kSomePhotosBytes = 600'000;
    const fs::path journal = folder_ / "out/faces.journal";
    for (int i = 0; i < 20000 && (!fs::exists(journal) || fs::file_size(journal) < kSomePhotosBytes); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    killed.send(SIGKILL);
    killed.finish();
  }
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 30 photos"), HasSubstr("known from before"), Not(HasSubstr("\n0 known")),
                                Not(HasSubstr(" 30 new"))));
}

// ---- Real photos and weights ----

fs::path shared(const std::string& name) {
  return fs::path(EVENER_SOURCE_DIR) / "../shared/data" / name;
}

struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

double shared_part(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double both = std::max(0.0, width) * std::max(0.0, height);
  return both / ((a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both);
}

Box box_of(const Row& row) {
  return {std::stod(row.at("x1")), std::stod(row.at("y1")), std::stod(row.at("x2")), std::stod(row.at("y2"))};
}

constexpr const char* kLandmarks[] = {"left_eye", "right_eye", "nose", "mouth_left", "mouth_right"};

/// The faces of facenet_pytorch_boxes.json and no others, each as near as float32 computations of two programs are.
void expect_reference(const std::string& set, const std::vector<Row>& rows) {
  const json reference = json::parse(read_file(shared(set) / "facenet_pytorch_boxes.json"));
  std::size_t expected = 0;
  for (const auto& [name, photo] : reference.items()) {
    const std::string path = (shared(set) / name).string();
    for (std::size_t i = 0; i < photo["boxes"].size(); ++i, ++expected) {
      const auto corners = photo["boxes"][i].get<std::vector<double>>();
      const Box box{corners[0], corners[1], corners[2], corners[3]};
      const auto row = std::ranges::find_if(
          rows, [&](const Row& row) { return row.at("file") == path && shared_part(box_of(row), box) > 0.99; });
      ASSERT_NE(row, rows.end()) << path << " face " << i;
      EXPECT_NEAR(std::stod(row->at("probability")), photo["probs"][i].get<double>(), 1e-4) << path;
      for (std::size_t k = 0; k < 5; ++k) {
        const auto point = photo["landmarks"][i][k].get<std::vector<double>>();
        EXPECT_NEAR(std::stod(row->at(std::string(kLandmarks[k]) + "_x")), point[0], 0.1) << path;
        EXPECT_NEAR(std::stod(row->at(std::string(kLandmarks[k]) + "_y")), point[1], 0.1) << path;
      }
    }
  }
  EXPECT_EQ(
      std::ranges::count_if(rows, [&](const Row& row) { return row.at("file").starts_with(shared(set).string()); }),
      expected)
      << set;
}

TEST_F(Faces, RealPhotosHaveTheFacesAndTheLikenessOfTheReferences) {
  for (const char* needed : {"faces", "mtcnn", "mobilefacenet"}) {
    if (!fs::exists(shared(needed))) GTEST_SKIP() << "needs ../shared/data/" << needed;
  }
  const ProgramResult result = run({shared("faces").string(), shared("mtcnn").string(), "--detector-weights",
                                    shared("mtcnn").string(), "--embedder", "mobilefacenet", "--weights",
                                    (shared("mobilefacenet") / "068.ckpt").string(), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  expect_reference("faces", rows);
  expect_reference("mtcnn", rows);
  // The likeliest face of each photo, as the reference took it.
  const HostTensor embeddings =
      weights::read_safetensors(folder_ / "out/embeddings.safetensors").tensors.at("embeddings");
  const auto dimensions = static_cast<std::size_t>(embeddings.shape[1]);
  std::map<std::string, const float*> likeliest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    likeliest.emplace(rows[i].at("file"), embeddings.floats() + i * dimensions);
  }
  // The reference found its landmarks with a cascade of its own, so crops differ by a pixel or two; on random pairs
  // that moves a cosine by up to 0.12. One photo shows half a face only, and nobody says what its other half was filled
  // with.
  int same_found = 0, same_expected = 0;
  double difference = 0, pairs = 0;
  for (const Row& pair : rows_of(shared("faces") / "reference_scores.csv")) {
    const std::string name = pair.at("file_a") + " " + pair.at("file_b");
    if (name.find("partial_face.jpg") != std::string::npos) continue;
    const float* a = likeliest.at((shared("faces") / pair.at("file_a")).string());
    const float* b = likeliest.at((shared("faces") / pair.at("file_b")).string());
    double cosine = 0;
    for (std::size_t i = 0; i < dimensions; ++i) cosine += static_cast<double>(a[i]) * b[i];
    const double expected = std::stod(pair.at("cosine_068ckpt_112x96_numpy"));
    EXPECT_NEAR(cosine, expected, 0.13) << name;
    difference += std::abs(cosine - expected);
    ++pairs;
    constexpr double kSame = 0.3;  // no two persons are as alike in the reference
    same_found += pair.at("same_person") == "1" && cosine > kSame ? 1 : 0;
    same_expected += pair.at("same_person") == "1" && expected > kSame ? 1 : 0;
    EXPECT_TRUE(pair.at("same_person") == "1" || cosine < kSame) << name;
  }
  ASSERT_GT(pairs, 200);
  EXPECT_LT(difference / pairs, 0.05);
  EXPECT_GE(same_found, same_expected);
}

}  // namespace
}  // namespace evener
