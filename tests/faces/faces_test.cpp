// evener faces, as a user runs it, on made-up photos.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"
#include "support/faces_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FacesRun : public test::Faces {};

TEST_F(FacesRun, ARunLeavesItsFilesBehind) {
  write_photo("a.pgm");
  write_photo("b.pgm");
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--json", file("record.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 2 photos; whose they are can't be told: the embedder has random weights"),
                                Not(HasSubstr("seen more than once")), HasSubstr("faces.html")));
  EXPECT_THAT(result.err, HasSubstr("random")) << "the embedder has no weights";
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows.front().at("file"), file("photos/a.pgm"));
  EXPECT_EQ(rows.front().at("face"), "0");
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
  EXPECT_EQ(record["model"]["name"], "mobilefacenet");
  EXPECT_EQ(record["data"]["location"], file("photos"));
  EXPECT_EQ(record["data"]["images"], 2);
  EXPECT_EQ(record["precision"], "fp32");
  EXPECT_EQ(record["engine"], "openvino");
  EXPECT_TRUE(record["metrics"]["persons"]["value"].is_null());
  EXPECT_EQ(record, json::parse(read_file(file("record.json"))));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("a.pgm"));
  const std::vector<Row> chunks = rows_of(folder_ / "out/chunks.csv");
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].at("photos"), "2");
  EXPECT_EQ(chunks[0].at("faces"), std::to_string(rows.size()));
  EXPECT_GT(std::stod(chunks[0].at("seconds")), 0);
}

TEST_F(FacesRun, TheLargestFaceAloneAndLimitsOfLikeness) {
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
  EXPECT_EQ(ones[0].at("group"), "") << "no two are the same";
  EXPECT_TRUE(rows_of(folder_ / "one/pairs.csv").empty());
}

TEST_F(FacesRun, TellsWhatALargerSmallestFaceWouldSave) {
  write_photo("large.pgm", 640, 480);
  const Words words = {file("photos"), "--overwrite", "--out", file("out"), "--confidence", "1,1,1"};
  EXPECT_THAT(faces(words).out, HasSubstr("--min-size 40 would leave out smaller faces, and 75 % of that"));
  EXPECT_THAT(faces(joined(words, {"--min-size", "40"})).out, Not(HasSubstr("would leave out")));
}

TEST_F(FacesRun, PhotosWithoutFacesAreNoError) {
  write_photo("small.pgm", 8, 8);
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("0 faces on 1 photo; 0 persons seen more than once"));
  EXPECT_TRUE(rows_of(folder_ / "out/faces.csv").empty());
  EXPECT_FALSE(fs::exists(folder_ / "out/distances.npy"));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("No two faces are alike"));
}

TEST_F(FacesRun, ItsSpeedIsTheMedianOverBlocksOfPhotos) {
  for (int n = 0; n < 70; ++n) write_photo(std::to_string(n) + ".pgm", 8, 8);
  ASSERT_EQ(faces({file("photos"), "--on", "cpu/t1", "--out", file("out")}).exit_code, 0);
  const json record = record_in(folder_ / "out");
  EXPECT_EQ(record["images_per_s_details"]["over"], "blocks of photos");
  EXPECT_EQ(record["images_per_s_details"]["samples"].size(), 2U)
      << "blocks of four times the eight photos whose faces may be embedded together";
  EXPECT_GT(record["metrics"]["images_per_s_overall"]["value"], 0);
}

TEST_F(FacesRun, WhatIsNoPhotoIsToldAndLeftOut) {
  write_photo("good.pgm");
  test::write_text(folder_ / "photos/cut.pgm", "P5\n44 40\n255\ncut short");
  test::write_text(folder_ / "photos/nothing.jpg", "");
  test::write_text(folder_ / "photos/text.png", "this is text");
  const ProgramResult result = faces({file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 1 photo;"), HasSubstr("3 photos could not be read")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("cut.pgm: "), HasSubstr("nothing.jpg: "), HasSubstr("text.png: ")));
  EXPECT_EQ(record_in(folder_ / "out")["data"]["skipped"], 3);
  const ProgramResult strict = refused({file("photos"), "--out", file("strict"), "--strict"});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.err, HasSubstr("photos/cut.pgm"));
}

TEST_F(FacesRun, TwoNamesOfOneFileAreOnePhoto) {
  write_photo("a.pgm");
  fs::create_symlink(folder_ / "photos/a.pgm", folder_ / "photos/b.pgm");
  fs::create_directory_symlink(folder_ / "photos", folder_ / "photos/loop");
  const ProgramResult result = faces({file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("on 1 photo;"));
  EXPECT_THAT(result.err, HasSubstr("note: "));
}

TEST_F(FacesRun, WhatIsMissingIsNamedWithWhatToDo) {
  write_photo("a.pgm");
  fs::create_directories(folder_ / "empty");
  const auto expect = [&](const ProgramResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << part;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "out")) << "a run that didn't begin leaves no folder: " << part;
  };
  const Words photos = {file("photos"), "--out", file("out")};
  expect(run_here(photos), 2, "evener data fetch mtcnn");
  expect(run_here(joined(photos, {"--detector-weights", file("empty")})), 1, "no pnet.pt");
  expect(refused({file("empty"), "--out", file("out")}), 1, "no image files");
  expect(refused({file("nowhere"), "--out", file("out")}), 1, "nowhere");
  expect(refused(joined(photos, {"--confidence", "0.6,0.7"})), 2, "as in 0.6,0.7,0.7");
  expect(refused(joined(photos, {"--confidence", "0.6,0.7,2"})), 2, "as in 0.6,0.7,0.7");
  expect(refused(joined(photos, {"--min-size", "5"})), 2, "--min-size");
  expect(refused(joined(photos, {"--limit", "3"})), 2, "--limit");
  expect(refused(joined(photos, {"--embedder", "mobilefacenett"})), 2, "mobilefacenet");
  expect(refused(joined(photos, {"--weights", file("none.pt")})), 1, "none.pt");
  expect(refused(joined(photos, {"--weights", (weights() / "rnet.safetensors").string()})), 1, "rnet.safetensors");
  expect(refused(joined(photos, {"--resume", "--overwrite"})), 2, "give one of them");
  expect(refused({file("photos"), "--resume"}), 2, "--resume needs --out");
}

TEST_F(FacesRun, PairsAreJudged) {
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
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), AllOf(HasSubstr("class=\"curve\""), HasSubstr("pairs of one")));
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"photos/a.pgm photos/b.pgm 2\n", "line 1 of"},
           {"photos/a.pgm photos/a2.pgm 1\nphotos/a.pgm photos/b.pgm 0\n", "there are 1 and 1"},
           {"photos/a.pgm\tphotos/none.pgm\t1\n", "'photos/none.pgm', which is not among the photos"}}) {
    test::write_text(folder_ / "bad.txt", text);
    const ProgramResult bad = refused({file("photos"), "--out", file("bad"), "--pairs", file("bad.txt")});
    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_THAT(bad.err, HasSubstr(part));
  }
}

TEST_F(FacesRun, PairsWithoutFacesTakeNothingAway) {
  for (const char* name : {"a.pgm", "b.pgm"}) write_photo(name);
  write_photo("small.pgm", 8, 8);
  test::write_text(folder_ / "pairs.csv",
                   "photos/a.pgm,photos/small.pgm,1\nphotos/b.pgm,photos/small.pgm,1\n"
                   "photos/a.pgm,photos/b.pgm,0\nphotos/b.pgm,photos/a.pgm,0\n");
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--pairs", file("pairs.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--pairs tells nothing: at least 2 of one person"));
  EXPECT_THAT(record_in(folder_ / "out")["notes"].dump(), HasSubstr("there are 0 and 2"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/faces.html"));
}

// evener faces on a file of embeddings, and what it tells of pairs.

class FacesComparison : public test::Faces {
 protected:
  /// Two persons of three faces each, along two axes; the last face of the first is on the photo of its first one.
  void write_six(const std::string& name = "six.safetensors") {
    std::vector<float> values;
    for (int i = 0; i < 6; ++i) {
      const auto off = 0.1F * static_cast<float>(i % 3 + 1);
      for (const float value : {i < 3 ? 1.0F : off, i < 3 ? off : 1.0F, 0.0F}) values.push_back(value);
    }
    weights::write_safetensors(folder_ / name, {{"embeddings", HostTensor::of_floats({6, 3}, values)}},
                               {{"files", R"(["a.jpg","b.jpg","a.jpg","c.jpg","d.jpg","e.jpg"])"}});
  }

  ProgramResult compare(const std::string& name, const Words& more = {}) const {
    return run_here(joined({file(name), "--out", file("out"), "--overwrite", "--on", "cpu/t2"}, more));
  }
};

TEST_F(FacesComparison, OfAFileTellsGroupsPairsAndNeighbours) {
  write_six();
  const ProgramResult result = compare("six.safetensors", {"--limit", "0.5", "--neighbours", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("6 faces; 2 persons seen more than once"));
  EXPECT_EQ(read_file(folder_ / "out/groups.csv"),
            "face,file,group\n0,a.jpg,\n1,b.jpg,1\n2,a.jpg,1\n3,c.jpg,2\n4,d.jpg,2\n5,e.jpg,2\n")
      << "of the two faces of one photo the nearer one is the person";
  EXPECT_EQ(rows_of(folder_ / "out/pairs.csv").size(), 6U);
  const std::vector<Row> neighbours = rows_of(folder_ / "out/neighbours.csv");
  ASSERT_EQ(neighbours.size(), 12U);
  EXPECT_EQ(neighbours[0].at("neighbour"), "1");
  EXPECT_EQ(neighbours[1].at("rank"), "2");
  EXPECT_EQ(neighbours[1].at("neighbour_file"), "a.jpg");
  const double distance = std::stod(neighbours[1].at("distance")), cosine = std::stod(neighbours[1].at("cosine"));
  EXPECT_NEAR(cosine, (1 + 0.03) / std::sqrt(1.01 * 1.09), 1e-5);
  EXPECT_NEAR(distance, std::sqrt(2 - 2 * cosine), 1e-5);
  EXPECT_TRUE(fs::exists(folder_ / "out/distances.npy"));
  EXPECT_FALSE(fs::exists(folder_ / "out/all_pairs.csv"));
  const json record = record_in(folder_ / "out");
  EXPECT_EQ(record["metrics"]["persons"]["value"], 2);
  EXPECT_EQ(record["metrics"]["faces"]["value"], 6);
  EXPECT_EQ(record["model"]["name"], "embeddings");
  EXPECT_EQ(record["data"]["location"], file("six.safetensors"));
  EXPECT_EQ(record["config"]["limit"], 0.5);
  ASSERT_EQ(compare("six.safetensors").exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/neighbours.csv")) << "of another comparison";
}

TEST_F(FacesComparison, EqualDirectionsLieAtNoDistance) {
  // Rows of one direction differ by the last digits alone once they have length 1.
  Random random(5, Purpose::kInit);
  std::vector<float> values, row(64);
  for (float& value : row) value = static_cast<float>(random.normal());
  for (const float scale : {1.0F, 3.0F, 0.7F}) {
    for (const float value : row) values.push_back(scale * value);
  }
  weights::write_safetensors(folder_ / "equal.safetensors", {{"embeddings", HostTensor::of_floats({3, 64}, values)}});
  ASSERT_EQ(compare("equal.safetensors", {"--limit", "0.00001", "--neighbours", "2"}).exit_code, 0);
  const std::string matrix = read_file(folder_ / "out/distances.npy");
  std::vector<float> distances(9);
  ASSERT_GT(matrix.size(), 36U);
  std::memcpy(distances.data(), matrix.data() + matrix.size() - 36, 36);
  EXPECT_THAT(distances, testing::Each(testing::Lt(1e-6F)));
  for (const char* table : {"pairs.csv", "neighbours.csv"}) {
    const std::vector<Row> rows = rows_of(folder_ / "out" / table);
    EXPECT_GE(rows.size(), 3U) << table;
    for (const Row& pair : rows) EXPECT_EQ(pair.at("distance"), "0.000000") << table;
  }
  for (const Row& face : rows_of(folder_ / "out/groups.csv")) EXPECT_EQ(face.at("group"), "1");
}

TEST_F(FacesComparison, MorePairsThanAMillionAreStreamed) {
  constexpr std::int64_t kFaces = 1500;  // that are all alike: 1,124,250 pairs
  Random random(1, Purpose::kInit);
  std::vector<float> values;
  for (std::int64_t i = 0; i < 2 * kFaces; ++i) values.push_back(1 + 0.01F * static_cast<float>(random.uniform()));
  weights::write_safetensors(folder_ / "many.safetensors", {{"x", HostTensor::of_floats({kFaces, 2}, values)}});
  const ProgramResult result = compare("many.safetensors");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("the nearest 1000000 of 1124250 pairs"), HasSubstr("all_pairs.csv has all")));
  const auto lines = [&](const char* name) { return std::ranges::count(read_file(folder_ / "out" / name), '\n'); };
  EXPECT_EQ(lines("all_pairs.csv"), 1 + 1124250);
  EXPECT_EQ(lines("pairs.csv"), 1 + 1000000);
  EXPECT_THAT(read_file(folder_ / "out/all_pairs.csv").substr(0, 100), HasSubstr("\n0,row 0,1,row 1,0.0"));
  EXPECT_FALSE(fs::exists(folder_ / "out/all_pairs.csv.part"));
}

TEST_F(FacesComparison, WhatPhotosLeftIsGroupedAgainAlike) {
  for (const char* name : {"a.pgm", "b.pgm", "c.pgm"}) write_photo(name);
  test::write_text(folder_ / "photos/a2.pgm", read_file(folder_ / "photos/a.pgm"));
  ASSERT_EQ(faces({file("photos"), "--out", file("seen"), "--neighbours", "1"}).exit_code, 0);
  ASSERT_EQ(compare("seen/embeddings.safetensors", {"--neighbours", "1"}).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "out/pairs.csv"), read_file(folder_ / "seen/pairs.csv"));
  EXPECT_EQ(read_file(folder_ / "out/neighbours.csv"), read_file(folder_ / "seen/neighbours.csv"));
  const std::vector<Row> seen = rows_of(folder_ / "seen/faces.csv"), again = rows_of(folder_ / "out/groups.csv");
  ASSERT_EQ(seen.size(), again.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].at("group"), again[i].at("group"));
}

TEST_F(FacesComparison, WhatIsNoFileOfEmbeddingsIsRefused) {
  write_six();
  write_photo("a.pgm");
  weights::write_safetensors(folder_ / "other.safetensors", {{"bias", HostTensor::of_floats({3}, {1, 2, 3})}});
  weights::write_safetensors(
      folder_ / "broken.safetensors",
      {{"embeddings", HostTensor::of_floats({2, 2}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 1})}});
  weights::write_safetensors(folder_ / "zeros.safetensors",
                             {{"embeddings", HostTensor::of_floats({2, 2}, {1, 2, 0, 0})}});
  test::write_text(folder_ / "text.safetensors", "this is text");
  const auto expect = [&](const ProgramResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << part;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "out")) << part;
  };
  expect(compare("other.safetensors"), 1, "it is no file of embeddings");
  expect(compare("broken.safetensors"), 1, "row 1 of 'embeddings'");
  expect(compare("zeros.safetensors"), 1, "is all zeros: it has no direction");
  expect(compare("text.safetensors"), 1, "text.safetensors");
  expect(compare("none.safetensors"), 1, "none.safetensors");
  expect(compare("six.safetensors", {file("photos")}), 2, "one file of embeddings");
  expect(compare("six.safetensors", {"--embedder", "mobilefacenet"}), 2, "--embedder is for photos");
  for (const Words& option : std::vector<Words>{{"--resume"},
                                                {"--strict"},
                                                {"--pairs", "p"},
                                                {"--sort", "s"},
                                                {"--chunk", "5"},
                                                {"--memory", "1GB"},
                                                {"--precision", "bf16"},
                                                {"--every", "2"},
                                                {"--frames", "2"},
                                                {"--min-size", "30"}}) {
    expect(compare("six.safetensors", option), 2, option.front() + " is for photos");
  }
}

}  // namespace
}  // namespace evener
