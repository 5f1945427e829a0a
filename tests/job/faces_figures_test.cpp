// What a record and a page say of faces: persons and costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "job/faces/apart.h"
#include "job/faces/costs.h"
#include "job/faces/pairs.h"
#include "job/faces/results.h"
#include "job/faces/sort.h"

namespace evener::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
namespace fs = std::filesystem;

TEST(FacesRecord, PersonsAreNoneOfRandomWeights) {
  record::Record record, random;
  record.kind = random.kind = "faces";
  add_comparison(record, 7, 3);
  EXPECT_EQ(record.metrics.at("faces").value, 7);
  EXPECT_EQ(record.metrics.at("persons").value, 3);
  add_comparison(random, 7, std::nullopt);
  EXPECT_FALSE(random.metrics.at("persons").value);
  EXPECT_THAT(random.metrics.at("persons").reason, HasSubstr("weights are random"));
}

TEST(FacesCosts, ChunksAreToldByPhotoAndByTheirOwnTime) {
  const task::FacesChunk first{.worker = 1,
                               .number = 0,
                               .photos = 4,
                               .faces = 9,
                               .begin_s = 0.5,
                               .seconds = 2,
                               .cpu_s = 1,
                               .process_cpu_s = 3,
                               .rss_bytes = 100};
  task::FacesChunk second = first, none = first;
  second.photos = 5;
  second.seconds = 4;
  second.cpu_s = 3;
  second.rss_bytes = 300;
  none.seconds = 0;
  record::Record record, empty;
  record.kind = empty.kind = "faces";
  add_chunks(record, {first, second});
  EXPECT_THAT(record.metrics.at("chunk_s_per_photo").samples, ElementsAre(0.5, 0.8));
  EXPECT_THAT(record.metrics.at("chunk_cpu_percent").samples, ElementsAre(50, 75));
  EXPECT_THAT(record.metrics.at("chunk_rss_bytes").samples, ElementsAre(100, 300));
  EXPECT_EQ(record.metrics.at("chunk_rss_bytes").value, 200);
  add_chunks(empty, {});
  EXPECT_THAT(empty.metrics, IsEmpty());
  const auto page = chunks_on_page({second, none});
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].cpu_percent, 75);
  EXPECT_EQ(page[1].cpu_percent, 0) << "it took no time";
  EXPECT_EQ(page[0].seconds, 4);
}

}  // namespace
}  // namespace evener::job
