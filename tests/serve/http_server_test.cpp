// The HTTP server without what it serves: what its handler is given, what is refused before it, and what its failures
// become.
#include "serve/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "base/http_client.h"
#include "base/module.h"

namespace evener::serving {
namespace {

using test::HttpAnswer;
using test::HttpClient;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("http").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the module for HTTP is not built";
    start({.body_bytes = 1000});
  }
  void TearDown() override { stop_ = true; }

  void start(const HttpOptions& options) {
    server_ = open_http_server(options);
    thread_ = std::jthread([this] {
      server_->run([this](HttpRequest& request) { return handle(request); }, [this] { return stop_.load(); });
    });
  }

  HttpResponse handle(HttpRequest& request) {
    if (request.path == "/fails") throw std::runtime_error("the handler failed");
    if (request.path == "/needs-memory") throw std::bad_alloc();
    if (request.path == "/nothing") return {.status = 202, .headers = {{"X-One", "1"}, {"X-Two", "2"}}};
    const std::lock_guard lock(mutex_);
    seen_ = request;
    return {.content_type = "text/plain", .body = "seen " + request.body};
  }
  HttpRequest seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  HttpAnswer sent(const std::string& text) {
    HttpClient client(server_->port());
    client.send(text);
    return client.receive();
  }

  std::mutex mutex_;
  HttpRequest seen_;
  std::atomic<bool> stop_ = false;
  std::unique_ptr<HttpServer> server_;
  std::jthread thread_;
};

TEST_F(HttpServerTest, HandsOverARequestAsItWasMeant) {
  const HttpAnswer answer = sent(
      "POST /a%20b/c?x=1&y=a%2Bb&x=2&z HTTP/1.1\r\nHost: test\r\nX-Kind: First\r\nx-kind: second\r\n"
      "Content-Encoding: Identity\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "seen hello");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  const HttpRequest request = seen();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_THAT(request.query, UnorderedElementsAre(Pair("x", "1"), Pair("y", "a+b"), Pair("z", "")));
  EXPECT_EQ(request.header("x-kind"), "First");
  EXPECT_EQ(request.header("content-length"), "5");
  EXPECT_EQ(request.header("x-other"), "");
  EXPECT_EQ(request.body, "hello");
  HttpClient two(server_->port());
  EXPECT_EQ(two.post("/one", "abc").body, "seen abc");
  EXPECT_EQ(two.get("/two").body, "seen ") << "nothing is left of the request before";
  EXPECT_TRUE(seen().query.empty());
  EXPECT_EQ(seen().header("content-length"), "");
  HttpClient head(server_->port());
  head.send("HEAD /three HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head.receive().status, 0) << "its answer has no body";
  EXPECT_EQ(seen().path, "/three");
  EXPECT_EQ(seen().method, "GET");
}

TEST_F(HttpServerTest, RefusesAddressesAndBodiesThatItDoesNotUnderstand) {
  const auto refusal = [&](const std::string& address, const std::string& header) {
    const HttpAnswer answer =
        sent("POST " + address + " HTTP/1.1\r\nHost: test\r\n" + header + "Content-Length: 1\r\n\r\nx");
    return std::to_string(answer.status) + " " + nlohmann::json::parse(answer.body, nullptr, false).value("error", "");
  };
  EXPECT_EQ(refusal("/a%00b", ""), "400 the address has control characters in it");
  EXPECT_EQ(refusal("/a%1Fb", ""), "400 the address has control characters in it");
  EXPECT_EQ(refusal("/a", "Content-Encoding: gzip\r\n"), "415 compressed bodies are not taken; send them as they are");
  EXPECT_THAT(refusal("/a", "Content-Type: Multipart/Form-Data; boundary=b\r\n"),
              HasSubstr("415 forms are not taken; send the body alone"));
  EXPECT_EQ(seen().path, "") << "the handler isn't asked";
  EXPECT_EQ(sent("DELETE /a HTTP/1.1\r\nHost: test\r\n\r\n").status, 405);
}

TEST_F(HttpServerTest, TakesBodiesUpToTheirLimit) {
  HttpClient client(server_->port());
  EXPECT_EQ(client.post("/a", std::string(1000, 'x')).body.size(), 1005U);
  EXPECT_EQ(client.post("/a", std::string(1000, 'x')).status, 200) << "the memory was given back";
  const HttpAnswer answer = sent("POST /a HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(answer.status, 413) << "before the body comes";
  EXPECT_THAT(answer.body, HasSubstr("larger than the 1000 bytes that are taken"));
  EXPECT_EQ(answer.headers.at("connection"), "close");
}

TEST_F(HttpServerTest, AFailureOfTheHandlerIsAnAnswer) {
  HttpClient client(server_->port());
  const HttpAnswer failed = client.get("/fails"), memory = client.get("/needs-memory"),
                   nothing = client.get("/nothing");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(nlohmann::json::parse(failed.body)["error"], "the handler failed");
  EXPECT_EQ(failed.headers.at("content-type"), "application/json");
  EXPECT_EQ(memory.status, 503);
  EXPECT_THAT(memory.body, HasSubstr("out of memory"));
  EXPECT_EQ(nothing.status, 202);
  EXPECT_EQ(nothing.headers.at("x-one"), "1");
  EXPECT_EQ(nothing.headers.at("x-two"), "2");
  EXPECT_FALSE(nothing.headers.contains("content-type")) << "there is no body";
  EXPECT_EQ(client.get("/a").status, 200);
  EXPECT_EQ(server_->counts().connections, 1U);
  EXPECT_EQ(server_->counts().open, 1U);
  EXPECT_EQ(server_->counts().bodies_bytes, 0U);
}

TEST_F(HttpServerTest, ListensWhereItIsTold) {
  int port = 0;
  {
    const auto any = open_http_server({});
    port = any->port();
    EXPECT_NE(port, server_->port());
  }
  EXPECT_EQ(open_http_server({.port = port})->port(), port);
  const auto refusal = [](const std::string& host) -> std::string {
    try {
      open_http_server({.host = host, .port = 54321});
    } catch (const Error& error) {
      return error.what();
    }
    return "it listens";
  };
  EXPECT_THAT(refusal("203.0.113.7"), HasSubstr("can't listen on 203.0.113.7:54321: "));
  EXPECT_THAT(refusal("203.0.113.7"), HasSubstr("--host has to be an address of this machine"));
  EXPECT_THAT(refusal("no.such.host.invalid"), HasSubstr("'no.such.host.invalid' is no address of this machine ("));
}

}  // namespace
}  // namespace evener::serving
