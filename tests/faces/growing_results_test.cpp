// What evener faces keeps of each photo as it comes.
#include "faces/growing_results.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/test_folder.h"
#include "faces/known.h"

namespace evener::faces {
namespace {

using testing::HasSubstr;

PhotoFaces photo_with(std::size_t photo, std::size_t faces) {
  PhotoFaces found{photo, photo, {}};
  for (std::size_t i = 0; i < faces; ++i) {
    EmbeddedFace face;
    face.photo = photo;
    face.thumbnail = "a picture";
    found.faces.push_back(face);
  }
  return found;
}

TEST(GrowingResults, ThumbnailsOfKnownAndNewPhotosTogetherAreBounded) {
  const test::TestFolder folder;
  for (const char* name : {"a.pgm", "b.pgm", "c.pgm"}) {
    test::write_text(folder / "photos" / name, "P5\n1 1\n255\n ");
  }
  const data::Pictures photos({(folder / "photos").string()});
  ASSERT_EQ(photos.size(), 3U);
  std::vector<PhotoFaces> all = {photo_with(0, kMostThumbnails - 1)};
  FacesJournal journal(folder / "j", nlohmann::json::object());
  measure::Observer nobody;
  GrowingResults results(folder.path(), photos, 2, journal, all, nobody);
  results.add(photo_with(1, 2));
  results.add(photo_with(2, 2));
  EXPECT_EQ(results.done(), 2U);
  ASSERT_EQ(all.size(), 3U);
  const auto thumbnails = [](const PhotoFaces& photo) {
    const auto count = std::ranges::count_if(photo.faces, [](const auto& face) { return !face.thumbnail.empty(); });
    return static_cast<std::size_t>(count);
  };
  EXPECT_EQ(thumbnails(all[0]), kMostThumbnails - 1) << "those that are known keep theirs";
  EXPECT_EQ(thumbnails(all[1]), 1U);
  EXPECT_EQ(thumbnails(all[2]), 0U);
  const std::string table = read_file(folder / "faces.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(table, '\n')), 1 + kMostThumbnails - 1 + 4);
  EXPECT_THAT(table, HasSubstr("c.pgm,1,"));
  results.add_chunk({.worker = 1, .number = 2, .photos = 3, .faces = 4});
  results.add_chunk({.worker = 0, .number = 0, .photos = 5, .faces = 6});
  ASSERT_EQ(results.chunks().size(), 2U);
  EXPECT_EQ(results.chunks()[1].photos, 5U);
  const std::string chunks = read_file(folder / "chunks.csv");
  EXPECT_THAT(chunks, testing::StartsWith("worker,chunk,photos,faces,begin_s,"));
  EXPECT_THAT(chunks, HasSubstr("\n1,2,3,4,0.000,")) << "a killed run has left it";
  EXPECT_THAT(chunks, HasSubstr("\n0,0,5,6,0.000,"));
}

}  // namespace

}  // namespace evener::faces
