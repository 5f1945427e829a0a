// Whole data sets of a catalogue, from a server on this machine; the real catalogue is checked for sense. Archives as
// the module reads them, right and wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/real_data.h"
#include "base/web.h"
#include "data/data_helpers.h"
#include "data/fetch/catalogue.h"
#include "data/fetch_helpers.h"

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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// One entry: header, content, padding. `type`: '0' a file, '5' a folder, '2' a link. `claimed_bytes` < 0: the
/// content's.
std::string tar_entry(const std::string& name, const std::string& content, char type = '0',
                      long long claimed_bytes = -1) {
  constexpr std::size_t kBlock = 512;
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  char size[13], sum[9];
  std::snprintf(size, sizeof(size), "%011llo",
                claimed_bytes < 0 ? static_cast<unsigned long long>(content.size())
                                  : static_cast<unsigned long long>(claimed_bytes));
  put(0, name);
  put(100, "0000644");
  put(124, size);
  put(148, "        ");
  header[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned total = 0;
  for (const char c : header) total += static_cast<unsigned char>(c);
  std::snprintf(sum, sizeof(sum), "%06o", total);
  put(148, std::string(sum) + '\0' + ' ');
  const std::size_t padding = (kBlock - content.size() % kBlock) % kBlock;
  return header + content + std::string(padding, '\0');
}

/// What an archive ends with.
std::string tar_end() {
  return std::string(1024, '\0');
}

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

class TarGz : public evener::test::FetchTest {};

/// All regular files of the archive, which comes in small pieces.
std::map<std::string, std::string> files_of(const std::string& archive, const ArchiveLimits& limits = {}) {
  std::size_t position = 0;
  const auto reader = web().archive(
      [&](char* buffer, std::size_t count) {
        const std::size_t given = std::min({count, archive.size() - position, std::size_t{100}});
        std::memcpy(buffer, archive.data() + position, given);
        position += given;
        return given;
      },
      limits);
  std::map<std::string, std::string> files;
  for (ArchiveReader::Entry entry; reader->next(entry);) {
    std::string& content = files[entry.name];
    for (auto piece = reader->read(); !piece.empty(); piece = reader->read()) content += piece;
  }
  return files;
}

std::string reason(const std::string& tar, const ArchiveLimits& limits = {}) {
  return error_of([&] { files_of(gzipped(tar), limits); });
}

TEST_F(TarGz, GivesRegularFilesAndPassesOverOthers) {
  const std::string big(1'000'000, 'b');
  const std::string tar = tar_entry("set/", "", '5') + tar_entry("set/a.bin", "content of a") +
                          tar_entry("set/link", "", '2') + tar_entry("set/other", "", '1') +
                          tar_entry("set/empty", "") + tar_entry("set/b", big) + tar_end();
  EXPECT_THAT(files_of(gzipped(tar)),
              ElementsAre(Pair("set/a.bin", "content of a"), Pair("set/b", big), Pair("set/empty", "")));
}

TEST_F(TarGz, FilesMayBeLeftUnread) {
  const std::string archive = gzipped(tar_entry("a", std::string(700, 'a')) + tar_entry("b", "bb") + tar_end());
  std::size_t position = 0;
  const auto reader = web().archive([&](char* buffer, std::size_t count) {
    const std::size_t given = std::min(count, archive.size() - position);
    std::memcpy(buffer, archive.data() + position, given);
    position += given;
    return given;
  });
  ArchiveReader::Entry entry;
  ASSERT_TRUE(reader->next(entry));
  EXPECT_EQ(entry.bytes, 700U);
  ASSERT_TRUE(reader->next(entry));
  EXPECT_EQ(entry.name, "b");
  EXPECT_EQ(reader->read(), "bb");
  EXPECT_EQ(reader->read(), "");
  EXPECT_FALSE(reader->next(entry));
}

TEST_F(TarGz, ReadsWhatTarWrites) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "set/a.txt", "alpha");
  test::write_bytes(folder / ("set/" + std::string(90, 'n') + "/" + std::string(60, 'm')), "long name");
  const std::string archive = (folder / "set.tar.gz").string();
  const std::string command = "tar -C " + folder.path().string() + " --format=ustar -czf " + archive + " set";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "there is no command 'tar'";
  EXPECT_THAT(files_of(test::bytes_of(archive)),
              ElementsAre(Pair("set/a.txt", "alpha"),
                          Pair("set/" + std::string(90, 'n') + "/" + std::string(60, 'm'), "long name")));
}

TEST_F(TarGz, RefusesNamesThatLeadElsewhere) {
  EXPECT_THAT(reason(tar_entry("../x", "x")), HasSubstr("'../x', whose name leads out of its folder"));
  EXPECT_THAT(reason(tar_entry("a/../../x", "x")), HasSubstr("leads out"));
  EXPECT_THAT(reason(tar_entry("a/..", "x")), HasSubstr("leads out"));
  EXPECT_THAT(reason(tar_entry("/etc/x", "x")), HasSubstr("is absolute"));
  EXPECT_THAT(reason(tar_entry("a\\x", "x")), HasSubstr("backslash"));
  EXPECT_THAT(reason(tar_entry("", "x")), HasSubstr("is empty"));
  EXPECT_THAT(reason(tar_entry("pax", "21 path=../elsewhere\n", 'x') + tar_entry("a", "x")), HasSubstr("leads out"));
  EXPECT_EQ(files_of(gzipped(tar_entry("a..b/c..", "x"))).size(), 1U);
}

TEST_F(TarGz, RefusesDamagedArchives) {
  std::string header = tar_entry("b", "x");
  header[3] = 'b';
  EXPECT_THAT(reason(header), HasSubstr("damaged"));
  EXPECT_THAT(reason(tar_entry("a", "x") + header), HasSubstr("damaged"));
  EXPECT_THAT(reason(std::string(1024, 'z')), HasSubstr("damaged"));
  EXPECT_NE(reason(tar_entry("a", "x").substr(0, 300)), "");
  EXPECT_NE(reason(tar_entry("a", "x", '0', 5000)), "");
  const std::string archive = gzipped(tar_entry("a", std::string(5000, 'x')) + tar_end());
  EXPECT_THAT(error_of([&] { files_of(archive.substr(0, archive.size() / 2)); }), HasSubstr("damaged"));
  EXPECT_THAT(error_of([] { files_of("no gzip at all, just text"); }), HasSubstr("damaged"));
}

TEST_F(TarGz, KeepsItsLimits) {
  const std::string tar = tar_entry("a", std::string(100'000, 'x')) + tar_entry("b", "") + tar_end();
  EXPECT_THAT(reason(tar, {50'000, 10}), HasSubstr("unpacks to more than is accepted"));
  EXPECT_THAT(reason(tar, {1'000'000, 1}), HasSubstr("more entries"));
  EXPECT_THAT(reason(tar_entry("a", "x", '0', 077777777777LL), {1'000'000, 10}), HasSubstr("more than is accepted"));
}

}  // namespace
}  // namespace evener::data
