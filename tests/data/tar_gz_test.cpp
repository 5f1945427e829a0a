// Archives as the module reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/web.h"
#include "data/data_helpers.h"
#include "data/fetch_helpers.h"
#include "data/tar_helpers.h"

namespace evener::data {
namespace {

using test::error_of;
using test::gzipped;
using test::tar_end;
using test::tar_entry;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

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
