// evener faces on a file of embeddings, and what it tells of pairs.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"
#include "cli/faces_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

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
  const std::vector<Row> groups = rows_of(folder_ / "out/groups.csv");
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[1].at("file"), "b.jpg");
  EXPECT_NE(groups[0].at("group"), groups[2].at("group")) << "two faces of one photo";
  EXPECT_EQ(groups[3].at("group"), groups[5].at("group"));
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
  EXPECT_EQ(record_in(folder_ / "out")["metrics"]["persons"]["value"], 2);
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
  expect(compare("six.safetensors", {"--resume"}), 2, "--resume is for photos");
}

}  // namespace
}  // namespace evener
