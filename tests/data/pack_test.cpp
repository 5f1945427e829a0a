// Packed files: equal to their source, mapped, and refused when they are not what they should be.
#include "data/open/pack.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/test_folder.h"
#include "data/data_helpers.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::HasSubstr;

DataOptions options_for(const std::string& location) {
  DataOptions options;
  options.location = location;
  options.threads = 2;
  return options;
}

class Pack : public ::testing::Test {
 protected:
  OpenedData source() const {
    DataOptions options = options_for("synth:digits:200");
    options.split = {60, 20, 10};  // a tenth is in no part
    return open_data(options);
  }
  std::filesystem::path packed() const {
    write_packed(source(), "synth:digits:200", file(), 2);
    return file();
  }
  std::filesystem::path file() const { return folder_ / "digits.safetensors"; }

  TemporaryFolder folder_;
};

TEST_F(Pack, OpensAsItsSource) {
  const OpenedData expected = source(), opened = open_data(options_for(packed().string()));
  EXPECT_EQ(opened.kind, "packed file");
  ASSERT_EQ(opened.dataset->size(), expected.dataset->size());
  EXPECT_EQ(opened.dataset->shape(), expected.dataset->shape());
  EXPECT_EQ(opened.dataset->classes(), expected.dataset->classes());
  EXPECT_EQ(opened.split.train, expected.split.train);
  EXPECT_EQ(opened.split.val, expected.split.val);
  EXPECT_EQ(opened.split.test, expected.split.test);
  std::vector<std::uint8_t> ours(expected.dataset->shape().bytes()), theirs(ours.size());
  for (std::size_t i = 0; i < expected.dataset->size(); ++i) {
    EXPECT_EQ(label_of(*opened.dataset, i), label_of(*expected.dataset, i));
    opened.dataset->read(i, ours);
    expected.dataset->read(i, theirs);
    ASSERT_EQ(ours, theirs) << i;
  }
  const ChannelStatistics statistics = channel_statistics(*expected.dataset, expected.split.train, 1);
  ASSERT_TRUE(opened.statistics);
  EXPECT_EQ(opened.statistics->mean, statistics.mean);
  EXPECT_EQ(opened.statistics->standard_deviation, statistics.standard_deviation);
}

TEST_F(Pack, IsMappedAndShared) {
  const OpenedData opened = open_data(options_for(packed().string()));
  std::ifstream maps("/proc/self/maps");
  bool is_shared = false;
  for (std::string line; std::getline(maps, line);) {
    is_shared = is_shared || (line.ends_with("digits.safetensors") && line.find(" r--s ") != std::string::npos);
  }
  EXPECT_TRUE(is_shared);
}

TEST_F(Pack, KeepsItsSplitAndShape) {
  DataOptions options = options_for(packed().string());
  options.split = {50, 50};
  EXPECT_THAT(error_of([&] { open_data(options); }), HasSubstr("leave --split out"));
  options.split.clear();
  options.width = 20;
  EXPECT_THAT(error_of([&] { open_data(options); }), HasSubstr("pack the source again"));
  options.width.reset();
  options.classes = {{"a", "*"}};
  EXPECT_THAT(error_of([&] { open_data(options); }), HasSubstr("leave --class out"));
}

TEST_F(Pack, KeepsATestPartAlone) {
  OpenedData data = source();
  data.split = {{}, {}, {0, 1, 2}};
  write_packed(data, "", file(), 1);
  const OpenedData opened = open_data(options_for(file().string()));
  EXPECT_TRUE(opened.split.train.empty());
  EXPECT_EQ(opened.split.test, data.split.test);
  EXPECT_FALSE(opened.statistics);
}

TEST_F(Pack, AFullDiskIsFoundBeforeTheWork) {
  const evener::test::SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  EXPECT_THAT(error_of([&] { write_packed(source(), "", disk.path() / "a.safetensors", 1); }), HasSubstr("are free"));
  EXPECT_EQ(evener::test::file_count(disk.path()), 0);
}

TEST_F(Pack, RefusesOtherContents) {
  const weights::SafetensorsFile good = weights::read_safetensors(packed());
  const auto error = [&](const std::function<void(weights::SafetensorsFile&)>& change) {
    weights::SafetensorsFile bad = good;
    change(bad);
    weights::write_safetensors(file(), bad.tensors, bad.metadata);
    return error_of([&] { open_data(options_for(file().string())); });
  };
  EXPECT_THAT(error([](auto& bad) { bad.metadata.clear(); }), HasSubstr("no 'format'"));
  EXPECT_THAT(error([](auto& bad) { bad.metadata["format"] = "2"; }), HasSubstr("its format is '2'"));
  EXPECT_THAT(error([](auto& bad) { bad.metadata["classes"] = "[\"a\"]"; }), HasSubstr("two are needed"));
  EXPECT_THAT(error([](auto& bad) { bad.metadata["classes"] = "[1"; }), HasSubstr("not the list expected"));
  EXPECT_THAT(error([](auto& bad) { bad.metadata["mean"] = "[1,2]"; }), HasSubstr("'mean' or 'deviation'"));
  EXPECT_THAT(error([](auto& bad) { bad.metadata["deviation"] = "[0]"; }), HasSubstr("'mean' or 'deviation'"));
  EXPECT_THAT(error([](auto& bad) { bad.tensors.erase("labels"); }), HasSubstr("no tensor 'labels'"));
  EXPECT_THAT(error([](auto& bad) { bad.tensors["labels"].bytes[0] = std::byte{10}; }), HasSubstr("has the label 10"));
  EXPECT_THAT(error([](auto& bad) { bad.tensors["parts"].bytes[3] = std::byte{4}; }), HasSubstr("is in the part 4"));
  EXPECT_THAT(error([](auto& bad) { bad.tensors["images"].shape = {200, 4, 14, 14}; }), HasSubstr("4x14x14"));
  EXPECT_THAT(error([](auto& bad) {
                bad.tensors["images"].shape = {100, 2, 28, 28};
              }),
              HasSubstr("100 images and 200 parts"));
  write_bytes(file(), "");
  EXPECT_THAT(error_of([&] { open_data(options_for(file().string())); }), HasSubstr("not a usable safetensors file"));
}

}  // namespace
}  // namespace evener::data
