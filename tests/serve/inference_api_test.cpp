// The addresses of `evener serve` without its sockets: what each answers, with which status, and what is counted.
#include "serve/inference_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "data/codecs/decode.h"
#include "infer/model/fitted_calibration.h"
#include "serve/serve_helpers.h"

namespace evener::serving {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ServeHistogram, CountsUpToEachBound) {
  constexpr std::array<double, 3> kBounds = {0.5, 1, 4};
  Histogram histogram(kBounds);
  for (const double value : {0.25, 0.5, 0.75, 3.0, 4.0, 4.0, 9.0}) histogram.add(value);
  EXPECT_EQ(histogram.text("times", "How long."),
            "# HELP times How long.\n# TYPE times histogram\n"
            "times_bucket{le=\"0.5\"} 2\ntimes_bucket{le=\"1\"} 3\ntimes_bucket{le=\"4\"} 6\n"
            "times_bucket{le=\"+Inf\"} 7\ntimes_sum 21.5\ntimes_count 7\n");
}

class ServeApi : public testing::Test {
 protected:
  HttpResponse ask(const std::string& path, const std::string& method = "GET", const std::string& body = "",
                   const std::map<std::string, std::string>& headers = {},
                   const std::map<std::string, std::string>& query = {}) {
    HttpRequest request{.method = method, .path = path, .query = query, .headers = headers, .body = body};
    return api_.answer(request, {.connections = 9, .open = 3, .bodies_bytes = 77});
  }
  HttpResponse infer(const std::string& body, const std::map<std::string, std::string>& headers = {},
                     const std::map<std::string, std::string>& query = {}) {
    return ask("/v2/models/sums/infer", "POST", body, headers, query);
  }
  static std::string error_in(const HttpResponse& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body).value("error", "");
  }
  /// The sum and the number of values, as test::sums_of(), and how unknown each sample is: its first value.
  TensorMap call(const std::vector<const inference::SampleValues*>& samples) {
    if (!failure_.empty()) throw Error(failure_);
    TensorMap outputs = test::sums_of(samples);
    std::vector<float> unknown;
    for (const inference::SampleValues* sample : samples) unknown.push_back(sample->bytes.front());
    outputs[inference::kUnknownOutput] = HostTensor::of_floats({std::ssize(samples), 1}, unknown);
    return outputs;
  }

  static constexpr const char* kAsking =
      R"({"inputs":[{"name":"input","datatype":"UINT8","shape":[2,1,2,3],"data":[1,2,3,4,5,6,7,8,9,1,1,1]}]})";

  std::string failure_;
  std::optional<double> joules_ = 12.5;
  ServedModel model_ = test::model_of_bytes();
  ServeMetrics metrics_{[this] { return joules_; }};
  BatchQueue queue_{{.lanes = 1, .batch = 8, .capacity = 4},
                    [this](std::size_t /*lane*/, const auto& samples) { return call(samples); },
                    [this](const BatchQueue::Done& done) { metrics_.add_batch(done); }};
  InferenceApi api_{model_, queue_, metrics_, 2, 60};
};

TEST_F(ServeApi, KnowsItsAddressesAndNoOthers) {
  const json server = json::parse(ask("/v2").body);
  EXPECT_EQ(server["name"], "evener");
  EXPECT_EQ(server["version"], program_version());
  EXPECT_EQ(json::parse(ask("/v2/").body), server) << "a stroke at the end changes nothing";
  EXPECT_EQ(json::parse(ask("/").body), server) << "who asks for nothing is told what there is";
  const json addresses = server["addresses"];
  EXPECT_THAT(addresses, testing::Contains("/v2/models/sums/infer"));
  for (const std::string address : addresses) EXPECT_NE(ask(address).status, 404) << address;
  EXPECT_EQ(json::parse(ask("/v2/health/live").body), json({{"live", true}}));
  EXPECT_EQ(json::parse(ask("/v2/health/ready").body), json({{"ready", true}}));
  EXPECT_EQ(json::parse(ask("/v2/models/sums/ready").body), json({{"name", "sums"}, {"ready", true}}));
  model_.input = "pixels";
  model_.outputs.push_back({"more", {7, 3}});
  const json facts = json::parse(ask("/v2/models/sums").body);
  EXPECT_EQ(facts["name"], "sums");
  EXPECT_EQ(facts["platform"], "evener_test");
  EXPECT_EQ(facts["inputs"], json::parse(R"([{"name": "pixels", "datatype": "UINT8", "shape": [-1, 1, 2, 3]}])"));
  EXPECT_EQ(facts["outputs"][1], json::parse(R"({"name": "more", "datatype": "FP32", "shape": [-1, 7, 3]})"));
  const char* all =
      "unknown address; there are /v2, /v2/health/live, /v2/health/ready, /v2/models/sums, /v2/models/sums/ready, "
      "/v2/models/sums/infer, /metrics";
  const std::pair<const char*, const char*> unknown[] = {
      {"/infer", all},
      {"/metrics/x", all},
      {"/v2/health/alive", all},
      {"/v2/model/sums", all},
      {"/v2/models/other/infer", "unknown model 'other'; this server has 'sums'"},
      {"/v2/models/sums/versions/12", "'sums' has version 1, not '12'"},
      {"/v2/models/sums/infer/x", "unknown address below the model's"},
      {"/v2/models/sums/versions/1/ready/x", "unknown address below the model's"},
      {"/v2/models/sums/inference", "a model has /ready and /infer, not 'inference'"}};
  for (const auto& [path, message] : unknown) EXPECT_EQ(error_in(ask(path), 404), message) << path;
  const HttpResponse got = ask("/v2/models/sums/infer");
  EXPECT_EQ(error_in(got, 405), "send the request for an answer with POST");
  EXPECT_THAT(got.headers, testing::ElementsAre(testing::Pair("Allow", "POST")));
}

TEST_F(ServeApi, AnswersOnWhenItIsDrainedButIsNotReady) {
  api_.drain();
  for (const char* path : {"/v2/health/ready", "/v2/models/sums/ready"}) {
    const HttpResponse answer = ask(path);
    EXPECT_EQ(error_in(answer, 503), "the server is ending");
    EXPECT_THAT(answer.headers, testing::Contains(testing::Pair("Retry-After", "1")));
  }
  EXPECT_EQ(ask("/v2/health/live").status, 200);
  EXPECT_EQ(infer(kAsking).status, 200);
}

TEST_F(ServeApi, CountsWhatItAnswers) {
  EXPECT_EQ(json::parse(infer(kAsking).body)["outputs"][0]["data"], json({21, 6, 27, 6}));
  EXPECT_EQ(infer("nonsense").status, 400);
  EXPECT_EQ(infer("{}").status, 400);
  failure_ = "the device is gone";
  EXPECT_EQ(error_in(infer(kAsking), 500), "the device is gone");
  failure_ = "";
  EXPECT_EQ(infer(kAsking).status, 200);
  EXPECT_EQ(ask("/v2").status, 200);  // no request for an answer
  EXPECT_EQ(metrics_.requests(), 5U);
  EXPECT_EQ(metrics_.samples(), 6U) << "also those of the call that failed";
  EXPECT_EQ(metrics_.batches(), 3U);
  const HttpResponse answer = ask("/metrics");
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4");
  EXPECT_THAT(answer.body, testing::StartsWith("# HELP evener_requests_total Requests for answers, by status.\n"
                                               "# TYPE evener_requests_total counter\n"
                                               "evener_requests_total{status=\"200\"} 2\n"
                                               "evener_requests_total{status=\"400\"} 2\n"
                                               "evener_requests_total{status=\"500\"} 1\n"));
  for (const char* line :
       {"evener_samples_total 6", "evener_batches_total 3", "evener_queue_samples 0", "evener_queue_capacity_samples 4",
        "evener_connections 3", "evener_connections_total 9", "evener_body_bytes 77", "evener_energy_joules_total 12.5",
        "# TYPE evener_energy_joules_total counter", "evener_request_seconds_count 5", "evener_queue_seconds_count 3",
        "evener_compute_seconds_count 3", "evener_batch_samples_sum 6", "evener_batch_samples_bucket{le=\"1\"} 0",
        "evener_batch_samples_bucket{le=\"2\"} 3", "evener_batch_samples_bucket{le=\"256\"} 3",
        "evener_request_seconds_bucket{le=\"10\"} 5", "# TYPE evener_connections gauge",
        "# TYPE evener_connections_total counter"}) {
    EXPECT_THAT(answer.body, HasSubstr(std::string("\n") + line + "\n"));
  }
  joules_.reset();
  EXPECT_THAT(ask("/metrics").body, Not(HasSubstr("energy")));
  EXPECT_THAT(ServeMetrics().text(queue_, {}), Not(HasSubstr("energy")));
}

TEST(ServeMetricsTest, KeepsTheTimesOfABatchApart) {
  ServeMetrics metrics;
  metrics.add_batch({.samples = 3, .longest_wait_s = 0.25, .compute_s = 4});
  metrics.add_request(200, 0.5);
  const BatchQueue queue({}, [](std::size_t, const auto& samples) { return test::sums_of(samples); });
  EXPECT_THAT(metrics.text(queue, {}),
              AllOf(HasSubstr("evener_queue_seconds_sum 0.25\n"), HasSubstr("evener_compute_seconds_sum 4\n"),
                    HasSubstr("evener_request_seconds_sum 0.5\n"), HasSubstr("evener_batch_samples_sum 3\n")));
}

TEST_F(ServeApi, SaysOfAPictureHowUnknownItIs) {
  const std::string file = data::encode_png({1, 2, 3}, std::vector<std::uint8_t>{9, 2, 3, 4, 5, 6});
  EXPECT_EQ(json::parse(infer(file).body)["outputs"].size(), 1U) << "of a network that tells it";
  model_.tells_unknown = true;
  model_.outputs.push_back({inference::kUnknownOutput, {1}});
  const json told = json::parse(infer(file, {}, {{"classification", "2"}}).body)["outputs"];
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]["data"], json({"29:0:sum", "6:1:values"}));
  EXPECT_EQ(told[1], json::parse(R"({"name": "unknown", "datatype": "FP32", "shape": [1, 1], "data": [9]})"));
  EXPECT_EQ(json::parse(infer(kAsking).body)["outputs"][1]["data"], json({1, 7})) << "of tensors all outputs";
}

TEST_F(ServeApi, SaysWhyItsOutputsAreNoClasses) {
  const std::string file = data::encode_png({1, 2, 3}, std::vector<std::uint8_t>(6, 1));
  EXPECT_EQ(error_in(infer(file, {}, {{"classification", "many"}}), 400),
            "classification=many has to be a number of classes");
  EXPECT_EQ(infer(file, {}, {{"classification", "0"}}).status, 200);
  model_.no_classes = "they are boxes";
  EXPECT_EQ(error_in(infer(file, {}, {{"classification", "1"}}), 400), "they are boxes");
  EXPECT_EQ(infer(file).status, 200);
}

TEST_F(ServeApi, TellsHowManyBytesOfItsAnswerAreJson) {
  const HttpResponse raw = infer(std::string("\1\2\3\4\5\6"), {{"inference-header-content-length", "0"}});
  ASSERT_EQ(raw.status, 200) << raw.body;
  EXPECT_EQ(raw.content_type, "application/octet-stream");
  ASSERT_EQ(raw.headers.size(), 1U);
  EXPECT_EQ(raw.headers[0].first, "Inference-Header-Content-Length");
  EXPECT_EQ(raw.body.size(), std::stoul(raw.headers[0].second) + 8);
  EXPECT_EQ(infer(kAsking).content_type, "application/json");
  EXPECT_TRUE(infer(kAsking).headers.empty());
  const HttpResponse many = infer(R"({"inputs":[{"name":"input","datatype":"UINT8","shape":[5,1,2,3],"data":[)" + [] {
    std::string numbers = "1";
    for (int i = 1; i < 30; ++i) numbers += ",1";
    return numbers;
  }() + "]}]}");
  EXPECT_EQ(error_in(many, 400), "5 samples are more than the queue holds; send at most 4 at once");
}

}  // namespace
}  // namespace evener::serving
