// Asks meters over HTTP(S): one GET per question, on a thread that waits for the answer.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <future>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/web.h"
#include "measure/sensors/poller.h"

namespace evener::measure {
namespace {

constexpr std::size_t kMostAnswer = 1 << 20;

/// "Tue, 24 Nov 2026 22:12:22 GMT" as seconds since 1970.
std::optional<double> http_date(const std::string& text) {
  tm parts{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S", &parts) == nullptr) return std::nullopt;
  return static_cast<double>(timegm(&parts));
}

class HttpGet final : public Poller {
 public:
  HttpGet(std::string url, double limit_s) : url_(std::move(url)), limit_s_(limit_s) {
    const std::size_t begin = url_.starts_with("http://") ? 7 : url_.starts_with("https://") ? 8 : url_.size();
    host_ = url_.substr(begin, std::min(url_.find('/', begin), url_.size()) - begin);
    if (host_.empty() || std::ranges::any_of(url_, [](unsigned char c) { return std::iscntrl(c) || c == ' '; })) {
      throw UsageError(fmt::format("--meter {}: that is no address", quoted_text(url_)));
    }
    web();
  }
  ~HttpGet() override { is_over_ = true; }

  Answer poll(double wait_s) override {
    if (!answer_.valid()) answer_ = std::async(std::launch::async, [this] { return ask(); });
    if (answer_.wait_for(std::chrono::duration<double>(wait_s)) != std::future_status::ready) return {};
    return answer_.get();
  }

 private:
  Answer ask() const {
    ResponseHead head;
    std::string body;
    HttpRequest request{.url = url_,
                        .whole_ms = std::max(1, static_cast<int>(limit_s_ * 1000)),
                        .by_proxy = false,
                        .headers = {"Accept: application/json", "Connection: close"},
                        .on_head = [&](const ResponseHead& given) { head = given; },
                        .on_bytes =
                            [&](std::string_view bytes) {
                              if (body.size() + bytes.size() > kMostAnswer) throw Error("it answered more than 1 MB");
                              body += bytes;
                            },
                        .stop = [this] { return is_over_.load(); }};
    const double asked_s = boot_now_s();
    Answer answer;
    try {
      const HttpResult result = web().get(request);
      answer.at_s = (asked_s + boot_now_s()) / 2;
      answer.their_clock_s = http_date(head.date);
      if (result.end == HttpEnd::kStalled) {
        answer.error = fmt::format("{} did not answer within {:g} s", host_, limit_s_);
      } else if (result.end != HttpEnd::kDone) {
        answer.error = fmt::format("{} can't be reached: {}", host_, result.text);
      } else if (head.status != 200) {
        answer.error = fmt::format("{} answered with status {}", host_, head.status);
      } else if (body.empty()) {
        answer.error = host_ + " answered nothing";
      } else {
        answer.text = std::move(body);
      }
    } catch (const Error& error) {
      answer.error = fmt::format("{}: {}", host_, error.what());
    }
    return answer;
  }

  const std::string url_;
  const double limit_s_;
  std::string host_;
  std::atomic<bool> is_over_ = false;
  std::future<Answer> answer_;  // its destructor waits for a pending question
};

}  // namespace

std::unique_ptr<Poller> ask_http(const std::string& url, double limit_s) {
  return std::make_unique<HttpGet>(url, limit_s);
}

}  // namespace evener::measure
