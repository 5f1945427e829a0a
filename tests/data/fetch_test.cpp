// Downloads from a server on this machine that can break off, lie, redirect and ignore ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "cli/run_program.h"
#include "data/fetch/download.h"
#include "data/fetch_helpers.h"

namespace evener::data {
namespace {

using evener::test::file_count;
using evener::test::http_broken;
using evener::test::http_file;
using evener::test::http_file_or_rest;
using evener::test::http_reply;
using evener::test::LoopbackServer;
using evener::test::TestFolder;
using evener::test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

}  // namespace
}  // namespace evener::data
