// Whole data sets of a catalogue, from a server on this machine; the real catalogue is checked for sense.
#include "data/fetch/fetch_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/real_data.h"
#include "data/data_helpers.h"
#include "data/fetch_helpers.h"
#include "data/tar_helpers.h"

namespace evener::data {
namespace {

using evener::test::file_count;
using evener::test::http_file;
using evener::test::http_reply;
using evener::test::LoopbackServer;
using evener::test::SmallDisk;
using evener::test::TestFolder;
using evener::test::write_text;
using test::error_of;
using test::gzipped;
using test::tar_end;
using test::tar_entry;
using testing::AllOf;
using testing::HasSubstr;

class FetchSet : public evener::test::FetchTest {
 protected:
  void SetUp() override {
    FetchTest::SetUp();
    if (IsSkipped()) return;
    write_text(files_ / "archive", archive_);
    entry_ = {"small", "a small set", "none", {}, ""};
    const Checksum checksum{ChecksumKind::kMd5, checksum_of(files_ / "archive", ChecksumKind::kMd5)};
    entry_.files.push_back(
        {"a.tar.gz", {server_.url("/x/a.tar.gz")}, archive_.size(), checksum, {{"one", 3}, {"two", 4}}});
    entry_.files.push_back({"hello.txt",
                            {server_.url("/none"), server_.url("/x/hello.txt")},
                            5,
                            {ChecksumKind::kMd5, "5d41402abc4b2a76b9719d911017c592"},
                            {}});
  }

  Reply answer(const Request& request) const {
    if (request.path.ends_with("/a.tar.gz")) return {http_file(archive_)};
    if (request.path.ends_with("/hello.txt")) return {http_file("hello")};
    return {http_reply(404, "", "")};
  }

  const std::string archive_ =
      gzipped(tar_entry("set/one", "111") + tar_entry("set/more", "?") + tar_entry("set/two", "2222") + tar_end());
  const LoopbackServer server_{[this](const Request& request) { return answer(request); }};
  const TestFolder files_, base_;
  const std::filesystem::path folder_ = base_ / "small";
  CatalogueEntry entry_;
};

TEST_F(FetchSet, BringsFilesAndUnpacksArchives) {
  EXPECT_TRUE(fetch_set(entry_, folder_));
  EXPECT_EQ(read_file(folder_ / "one"), "111");
  EXPECT_EQ(read_file(folder_ / "two"), "2222");
  EXPECT_EQ(read_file(folder_ / "hello.txt"), "hello");
  EXPECT_EQ(file_count(folder_), 4) << "with SHA256SUMS, without the archive";
  const std::size_t requests = server_.requests().size();
  EXPECT_FALSE(fetch_set(entry_, folder_));
  EXPECT_EQ(server_.requests().size(), requests);
}

TEST(Catalogue, SaysWhereOnlyTheBeginningOfAChecksumIsKnown) {
  EXPECT_EQ(checksums_text(catalogue_entry("mnist")), "its checksums are right");
  const std::string partly = checksums_text(catalogue_entry("mobilenet_v2-imagenet-v1"));
  EXPECT_THAT(partly, testing::AllOf(testing::StartsWith("its other checksums are right; of the SHA-256 of"),
                                     testing::HasSubstr("only 8 of 64 digits are known")));
  CatalogueEntry alone = catalogue_entry("mobilenet_v2-imagenet-v1");
  alone.files.pop_back();
  EXPECT_THAT(checksums_text(alone), testing::StartsWith("of the SHA-256 of 'mobilenet_v2-b0353104.pth' only 8 of 64"));
}

TEST_F(FetchSet, ItsListOfSumsIsThatOfSha256sum) {
  fetch_set(entry_, folder_);
  const std::string command = "cd '" + folder_.string() + "' && sha256sum --check --strict --quiet SHA256SUMS";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(FetchSet, BringsWhatIsMissingAndNamesWhatWasChanged) {
  fetch_set(entry_, folder_);
  std::filesystem::remove(folder_ / "one");
  EXPECT_TRUE(fetch_set(entry_, folder_));
  EXPECT_EQ(read_file(folder_ / "one"), "111");
  write_text(folder_ / "two", "3333");
  EXPECT_THAT(error_of([&] { fetch_set(entry_, folder_); }),
              AllOf(HasSubstr("two' was changed since it was unpacked"), HasSubstr("remove it")));
  std::filesystem::remove(folder_ / "two");
  write_text(folder_ / "hello.txt", "hullo");
  EXPECT_THAT(error_of([&] { fetch_set(entry_, folder_); }), HasSubstr("its MD5 is"));
}

TEST_F(FetchSet, TakesEverythingFromAMirror) {
  EXPECT_TRUE(fetch_set(entry_, folder_, server_.url("/company/")));
  ASSERT_EQ(server_.requests().size(), 2U);
  EXPECT_EQ(server_.requests()[0].path, "/company/small/a.tar.gz");
  EXPECT_EQ(server_.requests()[1].path, "/company/small/hello.txt");
}

TEST_F(FetchSet, LeavesNothingBehindWhenNothingCame) {
  entry_.files = {{"none", {server_.url("/none")}, 1, {ChecksumKind::kMd5, "00"}, {}}};
  EXPECT_THAT(error_of([&] { fetch_set(entry_, folder_); }), HasSubstr("status 404"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(FetchSet, AnArchiveHasToHoldWhatIsExpectedOfIt) {
  const auto reason = [&](const std::vector<ArchiveMember>& members) {
    return error_of([&] { unpack_members(files_ / "archive", members, base_.path()); });
  };
  EXPECT_THAT(reason({{"one", 3}, {"three", 4}}), HasSubstr("has no 'three' in it"));
  EXPECT_THAT(reason({{"one", 3}, {"two", 5}}), HasSubstr("'set/two' in it has 4 bytes instead of 5"));
  write_text(files_ / "bad", gzipped(tar_entry("../one", "111")));
  EXPECT_THAT(error_of([&] {
                unpack_members(files_ / "bad", {{"one", 3}}, base_.path());
              }),
              AllOf(HasSubstr("can't unpack '"), HasSubstr("leads out of its folder")));
  EXPECT_FALSE(std::filesystem::exists(base_ / "SHA256SUMS"));
}

TEST_F(FetchSet, CountsTheSpaceForTheWholeSetFirst) {
  const SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  entry_.files[0].members[0].bytes = 100'000;
  EXPECT_THAT(error_of([&] { fetch_set(entry_, disk.path() / "small"); }), HasSubstr("100 kB are needed"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST(Catalogue, IsWellFormed) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : fetch_catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " twice";
    EXPECT_FALSE(entry.files.empty() || entry.what.empty() || entry.licence.empty()) << entry.name;
    EXPECT_THAT(entry.use, HasSubstr("{}"));
    for (const CatalogueFile& file : entry.files) {
      EXPECT_EQ(file.name.find('/'), std::string::npos);
      for (const std::string& url : file.urls) EXPECT_TRUE(url.starts_with("https://")) << url;
      const std::size_t digits = file.checksum.kind == ChecksumKind::kMd5 ? 32 : 64;
      // Where only the beginning of a checksum is known, it has to be the one in the name.
      EXPECT_TRUE(file.checksum.hex.size() == digits || file.name.find(file.checksum.hex) != std::string::npos)
          << file.name;
      EXPECT_EQ(file.checksum.hex.find_first_not_of("0123456789abcdef"), std::string::npos) << file.name;
    }
  }
  EXPECT_EQ(final_bytes(catalogue_entry("cifar10")), 6U * 30'730'000 + 61);
  EXPECT_THAT(error_of([] { catalogue_entry("mnits"); }), HasSubstr("did you mean 'mnist'?"));
}

TEST(Catalogue, HasTheChecksumsOfRealFiles) {
  if (module_status("fetch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "built without EVENER_FETCH";
  if (const std::string why = evener::test::without_real_data({"mnist"}); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path shared = evener::test::real_data("");
  const auto expect = [](const std::filesystem::path& path, const CatalogueFile& file) {
    EXPECT_EQ(checksum_of(path, file.checksum.kind), file.checksum.hex) << path;
    EXPECT_EQ(std::filesystem::file_size(path), file.bytes.value()) << path;
  };
  // The training images there were packed anew, so their checksum is another.
  for (const CatalogueFile& file : catalogue_entry("mnist").files) {
    if (file.name != "train-images-idx3-ubyte.gz") expect(shared / "mnist" / file.name, file);
  }
  if (std::filesystem::exists(shared / "imagenet_samples")) {
    expect(shared / "imagenet_samples/imagenet_classes.txt", catalogue_entry("resnet18-imagenet").files[1]);
  }
  if (std::filesystem::exists(shared / "mtcnn")) {
    for (const CatalogueFile& file : catalogue_entry("mtcnn").files) expect(shared / "mtcnn" / file.name, file);
  }
}

}  // namespace
}  // namespace evener::data
