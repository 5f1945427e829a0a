// How meters are asked: over HTTP, of a server that answers as the test says, and by commands.
#include "measure/sensors/poller.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/module.h"
#include "measure/energy_meter.h"

namespace evener::measure {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Gives each connection the next of its answers, in parts that arrive apart, and hangs up at their end if it is told
/// to; otherwise it waits until whoever asked does.
class ScriptedServer {
 public:
  struct Script {
    std::vector<std::string> parts;
    bool hangs_up = false;
  };
  explicit ScriptedServer(std::vector<Script> scripts)
      : scripts_(std::move(scripts)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 8) != 0)
      throw Error("the test's server can't listen");
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (const Script& script : scripts_) {
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      std::string request(4096, '\0');
      request.resize(static_cast<std::size_t>(std::max<ssize_t>(0, recv(peer, request.data(), request.size(), 0))));
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      for (const std::string& part : script.parts) {
        if (&part != script.parts.data()) std::this_thread::sleep_for(std::chrono::milliseconds(15));
        [[maybe_unused]] const ssize_t sent = send(peer, part.data(), part.size(), MSG_NOSIGNAL);
      }
      char rest = 0;
      while (!script.hangs_up && recv(peer, &rest, 1, 0) > 0) {
      }
      close(peer);
    }
  }

  const std::vector<Script> scripts_;
  const int listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

Answer answer_of(Poller& poller) {
  for (int n = 0; n < 100; ++n) {
    Answer answer = poller.poll(0.1);
    if (!answer.text.empty() || !answer.error.empty()) return answer;
  }
  return {.text = "", .error = "the test waited in vain"};
}

constexpr double kPatience_s = 20;
const std::string kOk = "HTTP/1.1 200 OK\r\n";

/// The answer to one question; error in brackets.
std::string said(std::vector<std::string> parts, bool hangs_up = false) {
  ScriptedServer server({{std::move(parts), hangs_up}});
  const Answer answer = answer_of(*ask_http("http://" + server.host() + "/", kPatience_s));
  return answer.error.empty() ? answer.text : "(" + answer.error + ")";
}

class HttpQuestions : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("fetch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "built without EVENER_FETCH";
  }
};

TEST_F(HttpQuestions, AnAnswerIsWholeWhenItsLengthOrItsLastChunkIsThere) {
  EXPECT_EQ(said({kOk + "Content-Length: 6\r\n\r\n12", "34.5"}), "1234.5");
  EXPECT_EQ(said({kOk + "CONTENT-LENGTH:6\r\n", "\r\n1234.5"}), "1234.5");
  EXPECT_EQ(said({kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\n12\r\n", "A\r\n34.5678901\r\n", "0\r\n\r\n"}),
            "1234.5678901");
  EXPECT_EQ(said({kOk + "\r\n12", "34.5"}, true), "1234.5") << "without a length it ends with the connection";
  EXPECT_THAT(said({kOk + "Content-Length: 0\r\n\r\n"}), HasSubstr("answered nothing"));
  EXPECT_THAT(said({kOk + "Transfer-Encoding: chunked\r\n\r\n5\r\n12"}, true), HasSubstr("can't be reached"));
  EXPECT_THAT(said({"HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\n5.0"}), HasSubstr("503"));
  EXPECT_THAT(said({"HTTP/1.0 200 OK\r\n\r\n7"}, true), "7");
  EXPECT_THAT(said({"hello"}, true), HasSubstr("can't be reached"));
}

TEST_F(HttpQuestions, EachLookAsksAnew) {
  ScriptedServer server({{{kOk + "Content-Length: 1\r\nDate: Tue, 24 Nov 2026 22:12:22 GMT\r\n\r\n5"}},
                         {{kOk + "Content-Length: 1\r\n\r\n7"}},
                         {{kOk + "Content-Length: 1\r\nDate: yesterday\r\n\r\n9"}}});
  const auto poller = ask_http("http://" + server.host() + "/rpc?id=0", kPatience_s);
  const double before_s = boot_now_s();
  const Answer first = answer_of(*poller);
  EXPECT_EQ(first.text, "5");
  EXPECT_EQ(first.their_clock_s, 1795558342);  // by date(1)
  EXPECT_GE(first.at_s, before_s);
  EXPECT_LE(first.at_s, boot_now_s());
  const Answer second = answer_of(*poller);
  EXPECT_EQ(second.text, "7");
  EXPECT_EQ(second.their_clock_s, std::nullopt);
  EXPECT_EQ(answer_of(*poller).their_clock_s, std::nullopt);
  ASSERT_EQ(server.requests().size(), 3U);
  for (const std::string& request : server.requests()) {
    EXPECT_THAT(request, AllOf(StartsWith("GET /rpc?id=0 HTTP/1.1\r\nHost: " + server.host() + "\r\n"),
                               HasSubstr("Connection: close\r\n"), EndsWith("\r\n\r\n")));
  }
}

TEST_F(HttpQuestions, WithoutAPathTheRootIsAskedFor) {
  ScriptedServer server({{{kOk + "Content-Length: 1\r\n\r\n5"}}});
  EXPECT_EQ(answer_of(*ask_http("http://" + server.host(), kPatience_s)).text, "5");
  EXPECT_THAT(server.requests().at(0), StartsWith("GET / HTTP/1.1\r\n"));
}

TEST_F(HttpQuestions, OneThatDoesNotAnswerIsGivenUpAndAskedAgain) {
  std::vector<ScriptedServer::Script> scripts(21, {.parts = {kOk + "Content-Length: 1\r\n\r\n5"}});
  scripts.front().parts.clear();
  ScriptedServer server(scripts);
  const auto poller = ask_http("http://" + server.host() + "/", 0.3);
  EXPECT_THAT(answer_of(*poller).error, HasSubstr("did not answer within 0.3 s"));
  Answer again = answer_of(*poller);
  for (int n = 0; n < 20 && again.text.empty(); ++n) again = answer_of(*poller);  // on a machine that is slow
  EXPECT_EQ(again.text, "5");
}

TEST_F(HttpQuestions, AddressesThatAreNoneAreRefused) {
  for (const char* wrong : {"ftp://127.0.0.1/", "127.0.0.1", "http://", "http:///x", "http://a b/", "http://a/\n"}) {
    EXPECT_THROW(ask_http(wrong, 1), UsageError) << wrong;
  }
  EXPECT_THAT(answer_of(*ask_http("http://127.0.0.1:nowhere/", 1)).error, HasSubstr("can't be reached"));
  std::string host;
  { host = ScriptedServer({}).host(); }
  EXPECT_THAT(answer_of(*ask_http("http://" + host + "/", kPatience_s)).error, HasSubstr(host + " can't be reached"));
}

std::string command_says(const std::string& command) {
  const Answer answer = answer_of(*ask_command(command, kPatience_s));
  return answer.error.empty() ? answer.text : "(" + answer.error + ")";
}

TEST(CommandQuestions, AnAnswerIsAllOfStdoutAndNothingElse) {
  EXPECT_EQ(command_says("printf 12; sleep 0.02; printf 34.5"), "1234.5");
  EXPECT_EQ(command_says("echo 9 >&2; echo 7"), "7\n");
  EXPECT_EQ(command_says("cat; echo 5"), "5\n") << "nothing comes on stdin";
  EXPECT_EQ(command_says("head -c 10000 /dev/zero | tr '\\0' 7").size(), 10'000U);
  EXPECT_THAT(command_says("echo 5; exit 3"), AllOf(HasSubstr("exit code 3"), Not(HasSubstr("said nothing"))));
  EXPECT_THAT(command_says("true"), HasSubstr("exit code 0 and said nothing"));
  EXPECT_THAT(command_says("kill -9 $$"), HasSubstr("was killed"));
}

TEST(CommandQuestions, EachLookRunsItAgain) {
  const auto poller = ask_command("echo $$", kPatience_s);
  const double before_s = boot_now_s();
  const Answer first = answer_of(*poller), second = answer_of(*poller);
  EXPECT_NE(first.text, second.text);
  EXPECT_GE(first.at_s, before_s);
  EXPECT_LE(first.at_s, second.at_s);
  EXPECT_LE(second.at_s, boot_now_s());
}

}  // namespace
}  // namespace evener::measure
