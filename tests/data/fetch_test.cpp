// Downloads from a server on this machine that can break off, lie, redirect and ignore ranges; whole data sets of a
// catalogue, of which the real one is checked for sense; archives as the module reads them, right and wrong ones.
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
#include "base/stop.h"
#include "base/web.h"
#include "data/data_helpers.h"
#include "data/fetch/catalogue.h"
#include "data/fetch/download.h"
#include "data/fetch_helpers.h"
#include "support/run_program.h"

namespace evener::data {
namespace {

using evener::test::file_count;
using evener::test::http_broken;
using evener::test::http_file;
using evener::test::http_file_or_rest;
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
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

// printf '%s' "The quick brown fox jumps over the lazy dog" | md5sum; sha256sum
const std::string kFox = "The quick brown fox jumps over the lazy dog";
constexpr const char* kFoxMd5 = "9e107d9d372bb6826bd81d3542a419d6";
constexpr const char* kFoxSha256 = "d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592";

class Fetch : public evener::test::FetchTest {
 protected:
  Fetch() {
    listener_.note = [this](const std::string& text) { notes_ += text + "\n"; };
    listener_.progress = [this](const FetchProgress& progress) { last_done_ = progress.done_bytes; };
  }

  Download fox(std::vector<std::string> urls) const {
    return {std::move(urls), target_, kFox.size(), Checksum{ChecksumKind::kMd5, kFoxMd5}};
  }
  Download fox(const LoopbackServer& server) const { return fox({server.url("/fox")}); }

  /// The error's text; "" if there was none.
  std::string failure(const Download& download) const {
    try {
      fetch_file(download, listener_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  void expect_fox() const {
    EXPECT_EQ(read_file(target_), kFox);
    EXPECT_EQ(file_count(folder_.path()), 1) << "something else is left";
  }
  std::string part() const { return target_.string() + ".part"; }
  void write_part(const std::string& text, const std::string& url, const std::string& version) const {
    write_text(part(), text);
    write_text(part() + ".from", url + "\n" + version + "\n");
  }

  TestFolder folder_;
  std::filesystem::path target_ = folder_ / "fox.txt";
  std::string notes_;
  std::uint64_t last_done_ = 0;
  FetchListener listener_;
};

TEST_F(Fetch, BringsAFileOnce) {
  const LoopbackServer server([](const Request&) { return Reply{http_file(kFox)}; });
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_EQ(last_done_, kFox.size());
  EXPECT_FALSE(fetch_file(fox(server), listener_));
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.requests()[0].path, "/fox");
  EXPECT_EQ(server.requests()[0].range, "");
}

TEST_F(Fetch, KnowsBothChecksumsAndBeginningsOfThem) {
  write_text(target_, kFox);
  EXPECT_EQ(checksum_of(target_, ChecksumKind::kMd5), kFoxMd5);
  EXPECT_EQ(checksum_of(target_, ChecksumKind::kSha256), kFoxSha256);
  const Download begins{{}, target_, std::nullopt, Checksum{ChecksumKind::kSha256, "d7a8fbb3"}};
  EXPECT_FALSE(fetch_file(begins));
  const Download other{{}, target_, std::nullopt, Checksum{ChecksumKind::kSha256, "d7a8fbb4"}};
  EXPECT_THAT(failure(other), AllOf(HasSubstr(kFoxSha256), HasSubstr("expected d7a8fbb4..."), HasSubstr("remove it")));
}

TEST_F(Fetch, LeavesAWrongFileThatIsThereAlone) {
  const LoopbackServer server([](const Request&) { return Reply{http_file(kFox)}; });
  write_text(target_, "the user's own");
  EXPECT_THAT(failure(fox(server)), AllOf(HasSubstr("14 bytes instead of 43"), HasSubstr("remove it")));
  EXPECT_EQ(read_file(target_), "the user's own");
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(Fetch, GoesOnAfterABreak) {
  std::atomic<bool> breaks{true};
  const LoopbackServer server([&](const Request& request) {
    return Reply{breaks ? http_broken(kFox, 10, "ETag: \"v1\"\r\n") : http_file_or_rest(request, kFox, "\"v1\"")};
  });
  EXPECT_THAT(failure(fox(server)), AllOf(HasSubstr("broke off"), HasSubstr("10 B are kept in '" + part() + "'"),
                                          HasSubstr("the same command goes on")));
  EXPECT_EQ(read_file(part()), kFox.substr(0, 10));
  breaks = false;
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_EQ(server.requests().back().range, "bytes=10-");
  EXPECT_EQ(server.requests().back().if_range, "\"v1\"");
  EXPECT_THAT(notes_, HasSubstr("fox.txt: going on after 10 B"));
}

TEST_F(Fetch, AWeakMarkOfAVersionIsNotEnoughToGoOnBy) {
  std::atomic<bool> breaks{true};
  const std::string date = "Sat, 21 Nov 2026 10:15:00 GMT";
  const LoopbackServer server([&](const Request& request) {
    const std::string marks = "ETag: W/\"v1\"\r\nLast-Modified: " + date + "\r\n";
    return Reply{breaks ? http_broken(kFox, 10, marks) : http_file_or_rest(request, kFox, date)};
  });
  EXPECT_THAT(failure(fox(server)), HasSubstr("broke off"));
  breaks = false;
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_EQ(server.requests().back().range, "bytes=10-");
  EXPECT_EQ(server.requests().back().if_range, date);
}

TEST_F(Fetch, GoesOnFromAnotherAddressByLengthAndChecksum) {
  const LoopbackServer server([](const Request& request) {
    return Reply{request.path == "/bad" ? http_broken(kFox, 10, "ETag: \"a\"\r\n")
                                        : http_file_or_rest(request, kFox, "\"b\"")};
  });
  EXPECT_TRUE(fetch_file(fox({server.url("/bad"), server.url("/good")}), listener_));
  expect_fox();
  EXPECT_EQ(server.requests().back().range, "bytes=10-");
  EXPECT_EQ(server.requests().back().if_range, "");  // the other's mark means nothing here
}

TEST_F(Fetch, BeginsAnewWhereTheServerDoesNoRangesOrHasANewVersion) {
  const LoopbackServer plain([](const Request&) { return Reply{http_file(kFox)}; });
  write_part("The quick", plain.url("/fox"), "");
  EXPECT_TRUE(fetch_file(fox(plain), listener_));
  expect_fox();
  EXPECT_THAT(notes_, HasSubstr("9 B are loaded again"));

  std::filesystem::remove(target_);
  const LoopbackServer changed(
      [](const Request& request) { return Reply{http_file_or_rest(request, kFox, "\"v2\"")}; });
  write_part("Another version", changed.url("/fox"), "\"v1\"");
  EXPECT_TRUE(fetch_file(fox(changed), listener_));
  expect_fox();
  EXPECT_EQ(changed.requests().size(), 1U);
}

TEST_F(Fetch, BeginsAnewWhenThePiecesDoNotFit) {
  const LoopbackServer server([](const Request& request) { return Reply{http_file_or_rest(request, kFox, "\"v\"")}; });
  write_part("THE QUICK", "http://elsewhere/fox", "\"w\"");
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_THAT(notes_, AllOf(HasSubstr("does not fit (its MD5 is"), HasSubstr("beginning anew")));
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(server.requests()[1].range, "");
}

TEST_F(Fetch, BeginsAnewWhereTheFileIsShorterThanWhatIsThere) {
  const LoopbackServer server([](const Request&) { return Reply{http_file(kFox)}; });
  write_part(kFox + " and more", server.url("/fox"), "\"v1\"");
  EXPECT_TRUE(fetch_file({{server.url("/fox")}, target_, std::nullopt, Checksum{ChecksumKind::kMd5, kFoxMd5}}));
  expect_fox();
}

TEST_F(Fetch, UsesAPartThatIsWholeWithoutAsking) {
  const LoopbackServer server([](const Request&) { return Reply{http_reply(404, "", "")}; });
  write_part(kFox, server.url("/fox"), "");
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(Fetch, RefusesAWrongPieceOfTheFile) {
  const LoopbackServer server([](const Request& request) {
    return Reply{request.range.empty() ? http_file(kFox)
                                       : http_reply(206, "Content-Range: bytes 3-42/43\r\n", kFox.substr(3))};
  });
  write_part("The quick", server.url("/fox"), "");
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
  EXPECT_THAT(notes_, HasSubstr("the bytes 'bytes 3-42/43' instead of those from 9 on"));

  std::filesystem::remove(target_);
  const LoopbackServer unasked(
      [](const Request&) { return Reply{http_reply(206, "Content-Range: bytes 0-42/43\r\n", kFox)}; });
  EXPECT_THAT(failure(fox(unasked)), HasSubstr("instead of those from 0 on"));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, AWrongChecksumNamesBothValuesAndRemovesThePart) {
  std::string other = kFox;
  other[0] = 't';
  const LoopbackServer server([&](const Request&) { return Reply{http_file(other)}; });
  EXPECT_THAT(failure(fox(server)), AllOf(HasSubstr("its MD5 is 77add1d5f41223d5582fca736a5cb335"),
                                          HasSubstr(std::string("expected ") + kFoxMd5), Not(HasSubstr("are kept"))));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, ALengthThatIsNotTheFilesIsRefusedBeforeItComes) {
  const LoopbackServer server([](const Request&) { return Reply{http_file(kFox + "!")}; });
  EXPECT_THAT(failure(fox(server)), HasSubstr("announces 44 bytes, the file has 43"));
  EXPECT_EQ(last_done_, 0U);
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, MoreThanAnnouncedIsNotRead) {
  const LoopbackServer server(
      [](const Request&) { return Reply{http_reply(200, "Content-Length: 43\r\n", kFox + "and more")}; });
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  expect_fox();
}

TEST_F(Fetch, AnEndlessBodyIsCutOff) {
  const LoopbackServer server([](const Request&) {
    return Reply{http_reply(200, "", kFox), Reply::Then::kRepeatBody};
  });
  EXPECT_THAT(failure(fox(server)), AllOf(HasSubstr("44 bytes or more"), HasSubstr("43 at most")));
  Download unknown{{server.url()}, target_, std::nullopt, std::nullopt};
  unknown.limit_bytes = 1000;
  EXPECT_THAT(failure(unknown), HasSubstr("1000 at most"));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, OneByteMoreThanTheLimitIsTooMuch) {
  const LoopbackServer server([](const Request&) { return Reply{http_reply(200, "", kFox)}; });  // in one piece
  Download unknown{{server.url()}, target_, std::nullopt, std::nullopt};
  unknown.limit_bytes = kFox.size() - 1;
  EXPECT_THAT(failure(unknown), AllOf(HasSubstr("43 bytes or more"), HasSubstr("42 at most")));
  EXPECT_EQ(file_count(folder_.path()), 0);
  unknown.limit_bytes = kFox.size();
  EXPECT_TRUE(fetch_file(unknown, listener_));
  expect_fox();
}

TEST_F(Fetch, ABodyWithoutALengthMayEndTooEarly) {
  const LoopbackServer server([](const Request&) { return Reply{http_reply(200, "", kFox.substr(0, 40))}; });
  EXPECT_THAT(failure(fox(server)), AllOf(HasSubstr("ended after 40 of 43 bytes"), HasSubstr("are kept")));
}

TEST_F(Fetch, NamesWhatTheServerSays) {
  const LoopbackServer server([](const Request& request) {
    if (request.path == "/page") return Reply{http_file(kFox, "Content-Type: text/html; charset=utf-8\r\n")};
    return Reply{http_reply(std::stoi(request.path.substr(1)), "Content-Length: 4\r\n", "oops")};
  });
  EXPECT_THAT(failure(fox({server.url("/404"), server.url("/403"), server.url("/page"), server.url("/503")})),
              AllOf(HasSubstr(server.url("/404") + ": the server does not have it (status 404)"),
                    HasSubstr("refuses to give it (status 403)"), HasSubstr("a web page came instead of the file"),
                    HasSubstr("overloaded (status 503)"), HasSubstr("put it at '" + target_.string() + "'")));
  EXPECT_EQ(server.requests().size(), 4U);
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, FollowsRedirectsButNotForEver) {
  LoopbackServer* self = nullptr;
  LoopbackServer server([&self](const Request& request) {
    if (request.path == "/fox") return Reply{http_file(kFox)};
    const std::string to = request.path == "/loop" ? "/loop" : request.path == "/file" ? "" : "/fox";
    return Reply{http_reply(302, "Location: " + (to.empty() ? "file:///etc/hostname" : self->url(to)) + "\r\n", "")};
  });
  self = &server;
  EXPECT_THAT(failure(fox({server.url("/loop"), server.url("/file")})),
              AllOf(HasSubstr("/loop: it leads to where it may not lead: Maximum (5) redirects"),
                    HasSubstr("/file: it leads to where it may not lead")));
  EXPECT_TRUE(fetch_file(fox({server.url("/once")})));
  expect_fox();
}

TEST_F(Fetch, ASecureAddressLeadsToNoInsecureOne) {
  const LoopbackServer plain([](const Request&) { return Reply{http_file(kFox)}; });
  const TestFolder tls;
  const evener::test::ProgramOptions in_folder{.environment = {}, .cwd = tls.path()};
  const auto made =
      evener::test::RunningProgram(
          "openssl",
          {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key",
           "-out", "certificate", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"},
          in_folder)
          .finish();
  if (made.exit_code != 0) GTEST_SKIP() << "no usable command openssl: " << made.err;
  write_text(tls / "fox", http_reply(302, "Location: " + plain.url("/fox") + "\r\nContent-Length: 0\r\n", ""));
  evener::test::RunningProgram server(
      "openssl", {"s_server", "-HTTP", "-accept", "127.0.0.1:0", "-cert", "certificate", "-key", "key"}, in_folder);
  ASSERT_TRUE(server.wait_for("ACCEPT 127.0.0.1:")) << server.err();
  const std::string out = server.out();
  const std::size_t at = out.find("127.0.0.1:");
  setenv("SSL_CERT_FILE", (tls / "certificate").c_str(), 1);
  EXPECT_THAT(failure(fox({"https://" + out.substr(at, out.find('\n', at) - at) + "/fox"})),
              HasSubstr("it leads to where it may not lead"));
  unsetenv("SSL_CERT_FILE");
  EXPECT_THAT(plain.requests(), IsEmpty());
}

TEST_F(Fetch, ASilentServerIsGivenUp) {
  const LoopbackServer server([](const Request&) { return Reply{http_broken(kFox, 10), Reply::Then::kHang}; });
  Download download = fox(server);
  download.stalled_after_s = 1;
  EXPECT_THAT(failure(download), AllOf(HasSubstr("nothing came for 1 s"), HasSubstr("10 B are kept")));
}

TEST_F(Fetch, NoServerAndNoSuchHost) {
  std::string gone;
  {
    const LoopbackServer server([](const Request&) { return Reply{}; });
    gone = server.url("/fox");
  }
  EXPECT_THAT(failure(fox({gone, "http://no-such-host.invalid/fox"})),
              AllOf(HasSubstr("no connection: is there a network"), HasSubstr("name can't be resolved")));
  EXPECT_EQ(file_count(folder_.path()), 0);
}

TEST_F(Fetch, EndsWhenAskedToAndKeepsWhatCame) {
  const LoopbackServer server([](const Request&) { return Reply{http_broken(kFox, 10), Reply::Then::kHang}; });
  listener_.progress = [](const FetchProgress&) { request_stop(); };
  EXPECT_THROW(
      {
        try {
          fetch_file(fox(server), listener_);
        } catch (const Interrupted& stopped) {
          EXPECT_THAT(stopped.what(), AllOf(HasSubstr("10 B are kept"), HasSubstr("same command")));
          throw;
        }
      },
      Interrupted);
  clear_stop_request();
  EXPECT_EQ(read_file(part()), kFox.substr(0, 10));
}

TEST_F(Fetch, OneFileIsWrittenByOneProcessOnly) {
  const LoopbackServer server([](const Request&) { return Reply{http_file(kFox)}; });
  std::string second;
  listener_.progress = [&](const FetchProgress& progress) {
    if (std::string(progress.what) == "downloading") second = failure(fox(server));
  };
  EXPECT_TRUE(fetch_file(fox(server), listener_));
  EXPECT_THAT(second, HasSubstr("is being written by another process"));
  expect_fox();
}

TEST_F(Fetch, AFullDiskIsFoundBeforeAndDuringTheDownload) {
  const evener::test::SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const std::string big(200'000, 'x');
  const LoopbackServer server([&](const Request& request) {
    return Reply{request.path == "/known" ? http_file(big) : http_reply(200, "", big)};
  });
  Download download{{server.url("/known")}, disk.path() / "big", big.size(), std::nullopt};
  EXPECT_THAT(failure(download), HasSubstr("200 kB are needed"));
  EXPECT_THAT(server.requests(), IsEmpty());
  download.bytes.reset();
  EXPECT_THAT(failure(download), HasSubstr("200 kB are needed"));
  download.urls = {server.url("/unknown")};
  EXPECT_THAT(failure(download), HasSubstr("disk is full"));
}

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
