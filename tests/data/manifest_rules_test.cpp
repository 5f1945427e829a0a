// Rules of a run's list of images that need more than one image each: copies, images that were left out, generations.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "data/boxes_helpers.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/open/split_manifest.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class ManifestRules : public testing::Test {
 protected:
  static std::string shade(int number) { return plain_png(4, 4, {static_cast<std::uint8_t>(number)}); }

  static OpenedData open(const fs::path& location) {
    DataOptions options;
    options.location = location.string();
    options.split = {100, 0, 0};
    return open_data(options);
  }
  /// With the parts that its files' names begin with: "t" training, "v" validation, "e" test, others in none.
  static OpenedData open_by_names(const fs::path& location) {
    OpenedData opened = open(location);
    opened.split = {};
    for (std::uint32_t i = 0; i < opened.dataset->size(); ++i) {
      const char first = fs::path(opened.dataset->source(i)).filename().string().front();
      if (first == 't') opened.split.train.push_back(i);
      if (first == 'v') opened.split.val.push_back(i);
      if (first == 'e') opened.split.test.push_back(i);
    }
    return opened;
  }
  SplitManifest manifest_of(const fs::path& location) const {
    return SplitManifest(open_by_names(location), location.string(), 1);
  }
  static std::vector<std::string> names(const OpenedData& opened, const std::vector<std::uint32_t>& samples) {
    std::vector<std::string> names;
    for (const std::uint32_t sample : samples) names.push_back(fs::path(opened.dataset->source(sample)).filename());
    return names;
  }

  TemporaryFolder folder_;
  fs::path data_ = folder_ / "data";
};

// Which entry of two equal ones is found first depends on the hash of their names: eight pairs, so that some are wrong
// where one of both is taken.
TEST_F(ManifestRules, OfTwoEqualFilesOneOfWhichWasTrainedOnACopyIsNoTest) {
  for (int i = 0; i < 8; ++i) {
    write_bytes(data_ / "a" / ("t" + std::to_string(i) + ".png"), shade(i));
    write_bytes(data_ / "b" / ("e" + std::to_string(i) + ".png"), shade(i));
  }
  const SplitManifest manifest = manifest_of(data_);
  const fs::path other = folder_ / "other";
  for (int i = 0; i < 8; ++i)
    write_bytes(other / (i % 2 ? "a" : "b") / ("copy" + std::to_string(i) + ".png"), shade(i));
  const RecalledSplit recalled = manifest.recall(open(other), other.string(), 1);
  EXPECT_THAT(recalled.split.train, SizeIs(8));
  EXPECT_THAT(recalled.split.test, IsEmpty());
  EXPECT_EQ(recalled.gone[0] + recalled.gone[2], 8u) << "one of each two is gone";
}

TEST_F(ManifestRules, EqualFilesThatAreThereKeepTheirOwnParts) {
  for (int i = 0; i < 4; ++i) {
    write_bytes(data_ / "a" / ("t" + std::to_string(i) + ".png"), shade(i));
    write_bytes(data_ / "b" / ("e" + std::to_string(i) + ".png"), shade(i));
  }
  const OpenedData opened = open_by_names(data_);
  const RecalledSplit recalled = SplitManifest(opened, data_.string(), 1).recall(opened, data_.string(), 1);
  EXPECT_EQ(recalled.split.train, opened.split.train);
  EXPECT_EQ(recalled.split.test, opened.split.test);
  EXPECT_EQ(recalled.changes(), "");
}

TEST_F(ManifestRules, ImagesThatWereLeftOutBelongToNoPartAndAreNotNew) {
  for (const char* name : {"a/t1.png", "a/x1.png", "b/t2.png", "b/x2.png", "b/x3.png"}) {
    write_bytes(data_ / name, shade(name[0] + 3 * name[3]));
  }
  const SplitManifest manifest = manifest_of(data_);
  fs::remove(data_ / "b/x3.png");
  write_bytes(data_ / "b/x2.png", shade(250));
  const OpenedData now = open(data_);
  const RecalledSplit recalled = manifest.recall(now, data_.string(), 1);
  EXPECT_THAT(names(now, recalled.split.train), ElementsAre("t1.png", "t2.png"));
  EXPECT_THAT(recalled.split.added, IsEmpty());
  EXPECT_THAT(names(now, recalled.split.changed), ElementsAre("x2.png"));
  EXPECT_THAT(recalled.known, ElementsAre(2, 0, 0));
  EXPECT_THAT(recalled.gone, ElementsAre(0, 0, 0)) << "what was left out may go";
  EXPECT_THAT(recalled.changed, ElementsAre(0, 0, 0));
  EXPECT_EQ(recalled.found(), 2u);
}

TEST_F(ManifestRules, EachPartCountsItsOwn) {
  int number = 0;
  for (const char* name :
       {"a/t1.png", "a/t2.png", "a/t3.png", "a/t4.png", "b/v1.png", "b/v2.png", "b/v3.png", "b/e1.png", "b/e2.png"}) {
    write_bytes(data_ / name, shade(++number));
  }
  const SplitManifest manifest = manifest_of(data_);
  for (const char* gone : {"a/t1.png", "a/t2.png", "b/v1.png"}) fs::remove(data_ / gone);
  for (const char* other : {"a/t3.png", "b/v2.png", "b/v3.png", "b/e1.png"})
    write_bytes(data_ / other, shade(100 + ++number));
  const RecalledSplit recalled = manifest.recall(open(data_), data_.string(), 1);
  EXPECT_THAT(recalled.known, ElementsAre(4, 3, 2));
  EXPECT_THAT(recalled.gone, ElementsAre(2, 1, 0));
  EXPECT_THAT(recalled.changed, ElementsAre(1, 2, 1));
  EXPECT_EQ(recalled.found(), 2u);
  EXPECT_EQ(
      recalled.changes(),
      "2 of 4 training images are gone, 1 of 4 training images has other content, 1 of 3 validation images is gone, "
      "2 of 3 validation images have other content, 1 of 2 test images has other content");
}

TEST_F(ManifestRules, AnImageOfBothGenerationsStandsThereOnce) {
  const fs::path other = folder_ / "other";
  for (const char* name : {"a/t1.png", "b/t2.png"}) write_bytes(data_ / name, shade(name[3]));
  for (const char* name : {"a/e1.png", "b/t3.png"}) write_bytes(other / name, shade(name[3]));
  SplitManifest manifest = manifest_of(other);
  manifest.add_trained(manifest_of(data_));
  const OpenedData opened = open(other);
  const RecalledSplit recalled = manifest.recall(opened, other.string(), 1);
  EXPECT_THAT(names(opened, recalled.split.test), ElementsAre("e1.png")) << "its own part counts, not the older one";
  EXPECT_THAT(recalled.were_trained, IsEmpty());
  EXPECT_EQ(recalled.changes(), "");
}

TEST_F(ManifestRules, UnreadImagesOfAMovedFolderAreKnownByTheirNamesBelowIt) {
  for (const char* name : {"a/t1.png", "a/e1.png", "b/e2.png"})
    write_bytes(data_ / name, shade(name[0] + name[2] + name[3]));
  const SplitManifest manifest = manifest_of(data_);
  const fs::path moved = folder_ / "deep/er";
  fs::create_directories(moved.parent_path());
  fs::rename(data_, moved);
  write_bytes(moved / "b/t9.png", shade(99));
  DataOptions options;
  options.location = moved.string();
  options.look_only = true;
  const OpenedData looked_at = open_data(options);
  const RecalledSplit recalled = manifest.recall(looked_at, moved.string(), 1);
  EXPECT_THAT(names(looked_at, recalled.split.train), ElementsAre("t1.png"));
  EXPECT_THAT(names(looked_at, recalled.split.test), ElementsAre("e1.png", "e2.png"));
  EXPECT_THAT(names(looked_at, recalled.split.added), ElementsAre("t9.png"));
}

}  // namespace
}  // namespace evener::data
