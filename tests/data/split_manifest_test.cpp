// The list of images in a run's folder: what it recognises, and where its rules change over.
#include "data/open/split_manifest.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/content_hash.h"
#include "data/boxes_helpers.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

/// A grey picture of its own for each number.
std::string picture(int number) {
  return plain_png(4, 4, {static_cast<std::uint8_t>(number)});
}

class Manifest : public testing::Test {
 protected:
  /// Two classes of ten images, the second one's numbers from 100 on.
  void SetUp() override {
    for (int i = 0; i < 10; ++i) {
      write_bytes(file("a", i), picture(i));
      write_bytes(file("b", i), picture(100 + i));
    }
  }

  fs::path file(const std::string& label, int number) const {
    return data_ / label / (std::to_string(number) + ".png");
  }
  OpenedData open(const fs::path& location) const {
    DataOptions options;
    options.location = location.string();
    options.split = {60, 20, 20};
    return open_data(options);
  }
  OpenedData open() const { return open(data_); }
  /// Files that `samples` are, without the folder.
  std::vector<std::string> names(const OpenedData& opened, const std::vector<std::uint32_t>& samples) const {
    std::vector<std::string> names;
    for (const std::uint32_t sample : samples) {
      names.push_back(fs::path(opened.dataset->source(sample)).lexically_relative(data_).string());
    }
    return names;
  }

  TemporaryFolder folder_;
  fs::path data_ = folder_ / "data";
};

TEST_F(Manifest, UnchangedDataHasTheSamePartsAgain) {
  const OpenedData opened = open();
  const SplitManifest manifest(opened, data_.string(), 2);
  manifest.save(folder_ / "");
  const RecalledSplit recalled = SplitManifest::load(folder_ / "")->recall(opened, data_.string(), 2);
  EXPECT_EQ(recalled.split.train, opened.split.train);
  EXPECT_EQ(recalled.split.val, opened.split.val);
  EXPECT_EQ(recalled.split.test, opened.split.test);
  EXPECT_THAT(recalled.known, ElementsAre(12, 4, 4));
  EXPECT_EQ(recalled.found(), 20U);
  EXPECT_EQ(recalled.changes(), "");
}

TEST_F(Manifest, ImagesKeepTheirPartsWhereOthersComeAndGo) {
  const OpenedData before = open();
  const SplitManifest manifest(before, data_.string(), 1);
  const std::vector<std::string> tested = names(before, before.split.test);
  fs::remove(before.dataset->source(before.split.train[0]));
  fs::remove(before.dataset->source(before.split.train[1]));
  fs::remove(before.dataset->source(before.split.val[0]));
  write_bytes(data_ / "a" / "0-first.png", picture(200));  // shifts the numbers of all others
  const OpenedData after = open();
  const RecalledSplit recalled = manifest.recall(after, data_.string(), 1);
  EXPECT_EQ(names(after, recalled.split.test), tested);
  EXPECT_THAT(names(after, recalled.split.added), ElementsAre("a/0-first.png"));
  EXPECT_THAT(recalled.split.train, SizeIs(10));
  EXPECT_EQ(recalled.changes(), "2 of 12 training images are gone, 1 of 4 validation images is gone, 1 image is new");
}

TEST_F(Manifest, ImagesAreKnownUnderOtherNamesAndInAnotherFolder) {
  const SplitManifest manifest(open(), data_.string(), 1);
  fs::rename(file("a", 3), file("a", 33));
  fs::rename(data_, folder_ / "elsewhere");
  const RecalledSplit recalled = manifest.recall(open(folder_ / "elsewhere"), (folder_ / "elsewhere").string(), 1);
  EXPECT_EQ(recalled.changes(), "");
  EXPECT_EQ(recalled.found(), 20U);
}

TEST_F(Manifest, ACopyOfWhatWasTrainedOnIsNoTest) {
  const OpenedData before = open();
  const SplitManifest manifest(before, data_.string(), 1);
  fs::copy_file(before.dataset->source(before.split.train[0]), data_ / "b" / "copy.png");
  const RecalledSplit recalled = manifest.recall(open(), data_.string(), 1);
  EXPECT_THAT(recalled.split.train, SizeIs(13));
  EXPECT_EQ(recalled.changes(), "");
}

TEST_F(Manifest, AnImageThatIsFoundStandsForNoOtherOfItsName) {
  const SplitManifest manifest(open(), data_.string(), 1);
  // One folder more in front: 3.png is there with its content under another name, and its name with other content.
  fs::rename(file("a", 3), file("b", 33));
  write_bytes(file("a", 3), picture(77));
  const RecalledSplit recalled = manifest.recall(open(), data_.string(), 1);
  EXPECT_EQ(recalled.changes(), "1 image is new") << "the entry was found already, as 33.png";
  EXPECT_EQ(recalled.found(), 20U);
}

TEST_F(Manifest, OfAListTheFolderIsWhereItLies) {
  const fs::path boxed = folder_ / "boxed", moved = folder_ / "moved";
  for (int i = 0; i < 4; ++i) {
    write_bytes(boxed / "images" / (std::to_string(i) + ".png"), plain_png(40, 20, {static_cast<std::uint8_t>(i)}));
    write_bytes(boxed / "labels" / (std::to_string(i) + ".txt"), "0 0.5 0.5 0.5 0.5\n");
  }
  write_bytes(boxed / "data.yaml", "train: images\nnames: [cat]\n");
  const auto looked_at = [](const fs::path& list) {
    return open_boxes(list, [](DataOptions& options) { options.look_only = true; });
  };
  const SplitManifest manifest(looked_at(boxed / "data.yaml"), (boxed / "data.yaml").string(), 1);
  fs::rename(boxed, moved);
  const OpenedData after = looked_at(moved / "data.yaml");
  ASSERT_FALSE(after.dataset->content(0)) << "they are known by their names alone";
  EXPECT_EQ(manifest.recall(after, (moved / "data.yaml").string(), 1).changes(), "");
}

TEST_F(Manifest, WhatWeightsSawBeforeIsRemembered) {
  const OpenedData first = open();
  const fs::path other = folder_ / "other";
  for (int i = 0; i < 4; ++i) {
    write_bytes(other / "a" / (std::to_string(i) + ".png"), picture(50 + i));
    write_bytes(other / "b" / (std::to_string(i) + ".png"), picture(150 + i));
  }
  SplitManifest second(open(other), other.string(), 1);
  second.add_trained(SplitManifest(first, data_.string(), 1));
  const RecalledSplit recalled = second.recall(first, data_.string(), 1);
  EXPECT_EQ(recalled.were_trained, first.split.train);
  EXPECT_EQ(recalled.found(), 0U);
}

// Weights that began with weights that began with weights; and what is trained on anew is no longer from before.
TEST_F(Manifest, WhatWeightsSawLongBeforeIsRememberedOnce) {
  const auto write = [&](const fs::path& folder, int from) {
    for (int i = 0; i < 4; ++i) {
      write_bytes(folder / "a" / (std::to_string(i) + ".png"), picture(from + i));
      write_bytes(folder / "b" / (std::to_string(i) + ".png"), picture(from + 100 + i));
    }
  };
  write(folder_ / "second", 50);
  write(folder_ / "third", 60);
  const OpenedData first = open();
  const std::string again = first.dataset->source(first.split.train.front());
  fs::copy_file(again, folder_ / "third" / "a" / "again.png");
  const OpenedData third_data = open(folder_ / "third");
  SplitManifest second(open(folder_ / "second"), (folder_ / "second").string(), 1);
  second.add_trained(SplitManifest(first, data_.string(), 1));
  second.save(folder_ / "");
  SplitManifest third(third_data, (folder_ / "third").string(), 1);
  third.add_trained(*SplitManifest::load(folder_ / ""));
  const RecalledSplit of_first = third.recall(first, data_.string(), 1);
  EXPECT_EQ(of_first.were_trained, std::vector<std::uint32_t>(first.split.train.begin() + 1, first.split.train.end()));
  const RecalledSplit of_third = third.recall(third_data, (folder_ / "third").string(), 1);
  EXPECT_EQ(of_third.found(), 9U);
  EXPECT_THAT(of_third.were_trained, IsEmpty());
}

TEST_F(Manifest, ImagesOfOneFileAreKnownByTheirPixels) {
  const std::string pixels{"\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16}, labels{"\0\1\0\1", 4};
  const auto write = [&](const fs::path& folder, const std::string& values) {
    write_bytes(folder / "train-images-idx3-ubyte", idx_file(0x803, {4, 2, 2}, values));
    write_bytes(folder / "train-labels-idx1-ubyte", idx_file(0x801, {4}, labels));
  };
  const fs::path idx = folder_ / "idx";
  write(idx, pixels);
  const OpenedData opened = open(idx);
  const SplitManifest manifest(opened, idx.string(), 1);
  EXPECT_EQ(manifest.recall(opened, idx.string(), 1).changes(), "");
  std::string other = pixels;
  other[0] = '\77';
  write(idx, other);
  const RecalledSplit recalled = manifest.recall(open(idx), idx.string(), 1);
  EXPECT_THAT(recalled.split.changed, ElementsAre(0));
}

TEST_F(Manifest, ImagesWithBoxesAreKnownToo) {
  const fs::path boxed = folder_ / "boxed";
  for (int i = 0; i < 6; ++i) {
    write_bytes(boxed / "images" / (std::to_string(i) + ".png"), plain_png(40, 20, {static_cast<std::uint8_t>(i)}));
    write_bytes(boxed / "labels" / (std::to_string(i) + ".txt"), "0 0.5 0.5 0.5 0.5\n");
  }
  const OpenedData before = open_boxes(boxed);
  const SplitManifest manifest(before, boxed.string(), 1);
  fs::remove(boxed / "images" / "3.png");
  fs::remove(boxed / "labels" / "3.txt");
  write_bytes(boxed / "images" / "0-new.png", plain_png(40, 20, {99}));
  const OpenedData after = open_boxes(boxed);
  const RecalledSplit recalled = manifest.recall(after, boxed.string(), 1);
  EXPECT_EQ(recalled.found(), 5U);
  EXPECT_THAT(recalled.split.added, SizeIs(1));
}

TEST_F(Manifest, ADamagedFileIsRefusedByItsName) {
  SplitManifest(open(), data_.string(), 1).save(folder_ / "");
  const fs::path path = folder_ / "split.safetensors";
  const std::string whole = bytes_of(path);
  write_bytes(path, std::string_view(whole).substr(0, whole.size() - 1));
  EXPECT_THAT(error_of([&] { SplitManifest::load(folder_ / ""); }), HasSubstr("split.safetensors"));
  std::string other = whole;
  other.back() = '\5';  // a part that doesn't exist
  write_bytes(path, other);
  EXPECT_THAT(error_of([&] { SplitManifest::load(folder_ / ""); }), HasSubstr("is in the part 5"));
  const HostTensor doubles{DType::kF64, {1}, std::vector<std::byte>(8)}, part{DType::kU8, {1}, {std::byte{0}}};
  const HostTensor numbers{DType::kI64, {1}, std::vector<std::byte>(8)};
  for (const TensorMap& lists : {TensorMap{{"contents", doubles}, {"names", numbers}, {"parts", part}},
                                 TensorMap{{"contents", numbers}, {"names", doubles}, {"parts", part}},
                                 TensorMap{{"contents", numbers}, {"names", numbers}, {"parts", numbers}}}) {
    weights::write_safetensors(path, lists, {{"format", "evener split 1"}});
    EXPECT_THAT(error_of([&] { SplitManifest::load(folder_ / ""); }), HasSubstr("of the type expected"));
  }
}

TEST_F(Manifest, OfWeightsInTheWorkingFolderLiesThere) {
  SplitManifest(open(), data_.string(), 1).save(folder_ / "");
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "");
  const bool is_found = SplitManifest::beside("best.safetensors").has_value();
  const bool is_found_without = SplitManifest::beside("").has_value();
  fs::current_path(before);
  EXPECT_TRUE(is_found);
  EXPECT_FALSE(is_found_without);
}

TEST(ContentHash, TellsContentsApartThatDifferInOneByteOrInLength) {
  const std::string zeros(40, '\0');
  std::vector<std::uint64_t> hashes;
  for (std::size_t size = 0; size <= zeros.size(); ++size) hashes.push_back(content_hash(zeros.substr(0, size)));
  for (std::size_t at = 0; at < zeros.size(); ++at) {
    std::string one = zeros;
    one[at] = '\1';
    hashes.push_back(content_hash(one));
  }
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
  // Files of earlier runs hold hashes: they may not change.
  EXPECT_EQ(content_hash("evener draws loads"), 0x1DB92813C50B85AAULL);
}

class ManifestRules : public testing::Test {
 protected:
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
    write_bytes(data_ / "a" / ("t" + std::to_string(i) + ".png"), picture(i));
    write_bytes(data_ / "b" / ("e" + std::to_string(i) + ".png"), picture(i));
  }
  const SplitManifest manifest = manifest_of(data_);
  const fs::path other = folder_ / "other";
  for (int i = 0; i < 8; ++i)
    write_bytes(other / (i % 2 ? "a" : "b") / ("copy" + std::to_string(i) + ".png"), picture(i));
  const RecalledSplit recalled = manifest.recall(open(other), other.string(), 1);
  EXPECT_THAT(recalled.split.train, SizeIs(8));
  EXPECT_THAT(recalled.split.test, IsEmpty());
  EXPECT_EQ(recalled.gone[0] + recalled.gone[2], 8u) << "one of each two is gone";
}

TEST_F(ManifestRules, EqualFilesThatAreThereKeepTheirOwnParts) {
  for (int i = 0; i < 4; ++i) {
    write_bytes(data_ / "a" / ("t" + std::to_string(i) + ".png"), picture(i));
    write_bytes(data_ / "b" / ("e" + std::to_string(i) + ".png"), picture(i));
  }
  const OpenedData opened = open_by_names(data_);
  const RecalledSplit recalled = SplitManifest(opened, data_.string(), 1).recall(opened, data_.string(), 1);
  EXPECT_EQ(recalled.split.train, opened.split.train);
  EXPECT_EQ(recalled.split.test, opened.split.test);
  EXPECT_EQ(recalled.changes(), "");
}

TEST_F(ManifestRules, ImagesThatWereLeftOutBelongToNoPartAndAreNotNew) {
  for (const char* name : {"a/t1.png", "a/x1.png", "b/t2.png", "b/x2.png", "b/x3.png"}) {
    write_bytes(data_ / name, picture(name[0] + 3 * name[3]));
  }
  const SplitManifest manifest = manifest_of(data_);
  fs::remove(data_ / "b/x3.png");
  write_bytes(data_ / "b/x2.png", picture(250));
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
    write_bytes(data_ / name, picture(++number));
  }
  const SplitManifest manifest = manifest_of(data_);
  for (const char* gone : {"a/t1.png", "a/t2.png", "b/v1.png"}) fs::remove(data_ / gone);
  for (const char* other : {"a/t3.png", "b/v2.png", "b/v3.png", "b/e1.png"})
    write_bytes(data_ / other, picture(100 + ++number));
  const RecalledSplit recalled = manifest.recall(open(data_), data_.string(), 1);
  EXPECT_THAT(recalled.known, ElementsAre(4, 3, 2));
  EXPECT_THAT(recalled.gone, ElementsAre(2, 1, 0));
  EXPECT_THAT(recalled.changed, ElementsAre(1, 2, 1));
  EXPECT_THAT(recalled.split.changed, SizeIs(4));
  EXPECT_THAT(recalled.split.test, SizeIs(1));
  EXPECT_THAT(recalled.split.added, IsEmpty()) << "saved anew, they show what was trained on, under other bytes";
  EXPECT_EQ(recalled.found(), 2u);
  EXPECT_EQ(recalled.changes(),
            "2 of 4 training images are gone, 1 of 4 training images has other content, 1 of 3 validation images is "
            "gone, 2 of 3 validation images have other content, 1 of 2 test images has other content");
}

TEST_F(ManifestRules, AnImageOfBothGenerationsStandsThereOnce) {
  const fs::path other = folder_ / "other";
  for (const char* name : {"a/t1.png", "b/t2.png"}) write_bytes(data_ / name, picture(name[3]));
  for (const char* name : {"a/e1.png", "b/t3.png"}) write_bytes(other / name, picture(name[3]));
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
    write_bytes(data_ / name, picture(name[0] + name[2] + name[3]));
  const SplitManifest manifest = manifest_of(data_);
  const fs::path moved = folder_ / "deep/er";
  fs::create_directories(moved.parent_path());
  fs::rename(data_, moved);
  write_bytes(moved / "b/t9.png", picture(99));
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
