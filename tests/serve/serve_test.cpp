// The Open Inference Protocol as plain texts: what is understood, what is refused and with which words; and the server
// over its own sockets: answers, refusals, clients that misbehave, and its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/http_client.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "data/codecs/decode.h"
#include "serve/protocol.h"
#include "serve/serve_helpers.h"

namespace evener::serving {
namespace {

using nlohmann::json;
using test::HttpAnswer;
using test::HttpClient;
using test::TestServer;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// What a request is refused with.
std::string refusal(const std::string& body, std::optional<std::size_t> json_bytes = {},
                    const ServedModel& model = test::model_of_bytes()) {
  try {
    const InferRequest request = parse_infer_request(body, json_bytes);
    samples_of(request, model);
    wanted_outputs(request, model);
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "(taken)";
}

std::string input_with(const std::string& members) {
  return R"({"inputs":[{"name":"input",)" + members + "}]}";
}

TEST(ServeProtocol, TakesNumbersHoweverTheyAreNested) {
  for (const char* data : {"[1,2,3,4,5,6,7,8,9,10,11,255]", "[[[[1,2,3],[4,5,6]]],[[[7,8,9],[10,11,255]]]]"}) {
    const std::string body = input_with(R"("data":)" + std::string(data) + R"(,"shape":[2,1,2,3],"datatype":"UINT8")");
    const auto samples = samples_of(parse_infer_request(body, {}), test::model_of_bytes());
    ASSERT_EQ(samples.size(), 2U) << data;
    EXPECT_THAT(samples[0].bytes, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(samples[1].bytes, ElementsAre(7, 8, 9, 10, 11, 255));
  }
}

TEST(ServeProtocol, TakesBinaryTensorsBehindTheJson) {
  const std::vector<float> values = {1.5F, -2, 3e-9F, 4, 5, 6, 7, 8};
  const std::string json = input_with(R"("shape":[2,4],"datatype":"FP32","parameters":{"binary_data_size":32})");
  const std::string body = json + std::string(reinterpret_cast<const char*>(values.data()), 32);
  const InferRequest request = parse_infer_request(body, json.size());
  const auto samples = samples_of(request, test::model_of_floats());
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_THAT(samples[0].floats, ElementsAre(1.5F, -2, 3e-9F, 4));
  EXPECT_THAT(samples[1].floats, ElementsAre(5, 6, 7, 8));
}

TEST(ServeProtocol, UnderstandsWhatIsWanted) {
  const InferRequest request = parse_infer_request(
      R"({"id":"a7","parameters":{"binary_data_output":true},
          "outputs":[{"name":"scores","parameters":{"binary_data":false,"classification":3}},{"name":"other"}],
          "inputs":[{"name":"input","shape":[1],"datatype":"BYTES","data":["aGk="]}]})",
      {});
  EXPECT_EQ(request.id, "a7");
  ASSERT_EQ(request.outputs.size(), 2U);
  EXPECT_EQ(request.outputs[0].classes, 3U);
  EXPECT_FALSE(request.outputs[0].binary);
  EXPECT_TRUE(request.outputs[1].binary);
  EXPECT_THAT(elements_of_bytes(request.inputs.front()), ElementsAre("hi"));
}

TEST(ServeProtocol, TakesBytesApart) {
  SentTensor tensor;
  tensor.datatype = "BYTES";
  tensor.shape = {2};
  const std::string bytes("\3\0\0\0abc\0\0\0\0", 11);
  tensor.binary = bytes;
  EXPECT_THAT(elements_of_bytes(tensor), ElementsAre("abc", ""));
  tensor.shape = {3};
  EXPECT_THROW(elements_of_bytes(tensor), BadRequest);
  tensor.shape = {1};
  EXPECT_THROW(elements_of_bytes(tensor), BadRequest);
  const std::string cut(
      "\xff\xff\xff\xff"
      "abc",
      7);
  tensor.binary = cut;
  EXPECT_THROW(elements_of_bytes(tensor), BadRequest);
}

TEST(ServeProtocol, SaysWhatIsWrong) {
  EXPECT_THAT(refusal("nonsense"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("\"inputs\""));
  EXPECT_THAT(refusal(R"({"inputs":[1]})"), HasSubstr("\"inputs\""));
  const char* const wrong[][3] = {
      {R"("shape":[1,1,2,3],"datatype":"UINT9")", "[]", "UINT9"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", "[1,2]", "needs 6 values, but has 2"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", "[1,2,3,4,5,256]", "256 is no UINT8"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", "[1,2,3,4,5,0.5]", "0.5 is no UINT8"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", R"([1,2,3,4,5,"6"])", "texts"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", "[1,2,3,4,5,null]", "'null'"},
      {R"("shape":[1,1,2,3],"datatype":"UINT8")", "[{}]", "object"},
      {R"("shape":[1,3,2,1],"datatype":"UINT8")", "[1,2,3,4,5,6]", "'sums' takes 'input' as UINT8 of shape [N,1,2,3]"},
      {R"("shape":[1,1,2,3],"datatype":"FP32")", "[1,2,3,4,5,6]", "this is FP32"},
      {R"("shape":[0,1,2,3],"datatype":"UINT8")", "[]", "no samples"},
      {R"("shape":[-1,1,2,3],"datatype":"UINT8")", "[]", "extent -1"},
      {R"("shape":[20000000,20000000],"datatype":"UINT8")", "[]", "more than"},
      {R"("shape":[1],"datatype":"BYTES")", R"(["!"])", "not base64"},
      {R"("shape":[1],"datatype":"BYTES")", R"(["aGk="])", "can't be read"}};
  for (const auto& [tensor, data, message] : wrong) {
    EXPECT_THAT(refusal(input_with(std::string(tensor) + ",\"data\":" + data)), HasSubstr(message)) << data;
  }
  EXPECT_THAT(refusal(R"({"inputs":[{"name":"x","shape":[1,4],"datatype":"FP32","data":[1,2,3,4]}]})", {},
                      test::model_of_floats()),
              HasSubstr("nothing else"));
  EXPECT_THAT(refusal(R"({"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":[1,2,3,1e39]}]})", {},
                      test::model_of_floats()),
              HasSubstr("too large for a float"));
  EXPECT_THAT(refusal(R"({"outputs":[{"name":"score"}],
                          "inputs":[{"name":"input","shape":[1,1,2,3],"datatype":"UINT8","data":[1,2,3,4,5,6]}]})"),
              HasSubstr("did you mean 'scores'"));
}

TEST(ServeProtocol, RefusesLengthsThatDontFit) {
  const std::string json = input_with(R"("shape":[1,1,2,3],"datatype":"UINT8","parameters":{"binary_data_size":6})");
  EXPECT_EQ(refusal(json + "123456", json.size()), "(taken)");
  EXPECT_THAT(refusal(json + "12345", json.size()), HasSubstr("only 5 follow"));
  EXPECT_THAT(refusal(json + "1234567", json.size()), HasSubstr("1 bytes follow that belong to no input"));
  EXPECT_THAT(refusal(json, json.size() + 1), HasSubstr("is said to have"));
  const std::string other = input_with(R"("shape":[1,1,2,3],"datatype":"UINT8","parameters":{"binary_data_size":5})");
  EXPECT_THAT(refusal(other + "12345", other.size()), HasSubstr("needs 6 bytes, not 5"));
  EXPECT_THROW(parse_length("12x"), BadRequest);
  EXPECT_THROW(parse_length("-1"), BadRequest);
  EXPECT_EQ(parse_length(""), std::nullopt);
}

TEST(ServeProtocol, BoundsWhatAHostileTextCosts) {
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("nested"));
  std::string many = R"({"parameters":[)";
  for (int i = 0; i < 2000; ++i) many += "{},";
  EXPECT_THAT(refusal(many + "{}]}"), HasSubstr("too many parts"));
  std::string keys = "{";
  for (int i = 0; i < 2000; ++i) keys += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_THAT(refusal(keys + R"("inputs":[]})"), HasSubstr("too many parts"));
  EXPECT_THAT(refusal(input_with(R"("shape":[1,1,2,3],"datatype":"UINT8","data":)" + std::string(50, '[') +
                                 std::string(50, ']'))),
              HasSubstr("nested"));
}

TEST(ServeProtocol, WritesAnswers) {
  HostTensor values = HostTensor::of_floats({2, 3}, {0.1F, -2, 1e-7F, NAN, 5, 0.25F});
  const InferAnswer json = write_infer_answer("m", "i\"d", {{{.name = "scores"}, &values}}, {"cat", "dog", "eel"});
  EXPECT_EQ(json.body,
            R"({"model_name":"m","model_version":"1","id":"i\"d","outputs":[{"name":"scores","datatype":"FP32",)"
            R"("shape":[2,3],"data":[0.1,-2,1e-07,null,5,0.25]}]})");
  EXPECT_FALSE(json.json_bytes);
  const InferAnswer classes =
      write_infer_answer("m", "", {{{.name = "scores", .classes = 2}, &values}}, {"cat", "dog"});
  EXPECT_THAT(classes.body,
              HasSubstr(R"("datatype":"BYTES","shape":[2,2],"data":["0.1:0:cat","1e-07:2","5:1:dog","0.25:2"])"));
  const InferAnswer binary = write_infer_answer("m", "", {{{.name = "scores", .binary = true}, &values}}, {});
  ASSERT_TRUE(binary.json_bytes);
  EXPECT_THAT(binary.body.substr(0, *binary.json_bytes), HasSubstr("\"binary_data_size\":24"));
  EXPECT_EQ(std::memcmp(binary.body.data() + *binary.json_bytes, values.bytes.data(), 24), 0);
}

constexpr const char* kInfer = "/v2/models/sums/infer";

std::string asking(const std::vector<int>& values) {
  return json{{"inputs", {{{"name", "input"}, {"datatype", "UINT8"}, {"shape", {1, 1, 2, 3}}, {"data", values}}}}}
      .dump();
}

/// The numbers of the first output.
std::vector<float> numbers_of(const HttpAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json::parse(answer.body, nullptr, false)["outputs"][0]["data"].get<std::vector<float>>();
}

class Serve : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("http").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the module for HTTP is not built";
  }
};

/// A client that asks in a thread of its own.
std::future<HttpAnswer> asked(int port, const std::vector<int>& values) {
  return std::async(std::launch::async, [port, values] { return HttpClient(port).post(kInfer, asking(values)); });
}

TEST_F(Serve, TellsAboutItself) {
  TestServer server(test::model_of_bytes());
  HttpClient client(server.port());
  EXPECT_EQ(json::parse(client.get("/v2").body)["extensions"], json({"binary_tensor_data", "classification"}));
  for (const char* path :
       {"/v2/health/live", "/v2/health/ready", "/v2/models/sums/ready", "/v2/models/sums/versions/1/ready"}) {
    EXPECT_EQ(client.get(path).status, 200) << path;
  }
  const json facts = json::parse(client.get("/v2/models/sums/versions/1").body);
  EXPECT_EQ(facts["inputs"], json::parse(R"([{"name":"input","datatype":"UINT8","shape":[-1,1,2,3]}])"));
  EXPECT_EQ(facts["outputs"], json::parse(R"([{"name":"scores","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(facts["versions"], json({"1"}));
}

TEST_F(Serve, TakesNamesOfAllKindsInAddresses) {
  const std::pair<const char*, const char*> names[] = {{"mlp:784-10", "mlp:784-10"},
                                                       {"mlp:784-10", "mlp%3A784-10"},
                                                       {"my network.onnx", "my%20network.onnx"},
                                                       {"50%", "50%25"},
                                                       {"a+b", "a+b"},
                                                       {"a+b", "a%2Bb"},
                                                       {"Fu\xC3\x9F", "Fu%C3%9F"}};
  for (const auto& [name, in_address] : names) {
    ServedModel model = test::model_of_bytes();
    model.name = name;
    TestServer server(model);
    HttpClient client(server.port());
    const std::string address = std::string("/v2/models/") + in_address;
    const HttpAnswer facts = client.get(address);
    ASSERT_EQ(facts.status, 200) << in_address << ": " << facts.body;
    EXPECT_EQ(json::parse(facts.body)["name"], name);
    EXPECT_THAT(numbers_of(client.post(address + "/infer", asking({1, 2, 3, 4, 5, 6}))), ElementsAre(21, 6));
    EXPECT_EQ(client.get(address + "%3A").status, 404);
  }
}

TEST_F(Serve, AnswersWhatTheNetworkSays) {
  TestServer server(test::model_of_bytes());
  HttpClient client(server.port());
  EXPECT_THAT(numbers_of(client.post(kInfer, asking({1, 2, 3, 4, 5, 250}))), ElementsAre(265, 6));
  // More samples than one call takes.
  std::string binary;
  for (char sample = 0; sample < 11; ++sample) binary += std::string(6, sample);
  const std::string head =
      R"({"id":"7","inputs":[{"name":"input","datatype":"UINT8","shape":[11,1,2,3],"parameters":{"binary_data_size":66}}],)"
      R"("outputs":[{"name":"scores","parameters":{"binary_data":true}}]})";
  const HttpAnswer answer = client.post("/v2/models/sums/versions/1/infer", head + binary,
                                        {{"Inference-Header-Content-Length", std::to_string(head.size())}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::size_t json_bytes = std::stoul(answer.headers.at("inference-header-content-length"));
  const json told = json::parse(answer.body.substr(0, json_bytes));
  EXPECT_EQ(told["id"], "7");
  EXPECT_EQ(told["outputs"][0]["shape"], json({11, 2}));
  std::vector<float> values(22);
  ASSERT_EQ(answer.body.size(), json_bytes + 88);
  std::memcpy(values.data(), answer.body.data() + json_bytes, 88);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(values[2 * i], static_cast<float>(6 * i));
}

TEST_F(Serve, AnswersPictures) {
  TestServer server(test::model_of_bytes());
  HttpClient client(server.port());
  const std::vector<std::uint8_t> pixels = {1, 2, 3, 4, 5, 6};
  const std::string file = data::encode_png({1, 2, 3}, pixels);
  const HttpAnswer answer =
      client.post(std::string(kInfer) + "?classification=1", file, {{"Content-Type", "image/png"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["outputs"][0]["data"], json({"21:0:sum"}));
  EXPECT_THAT(numbers_of(client.post(kInfer, file, {{"Content-Type", "image/png"}})), ElementsAre(21, 6));
  std::string element(4, '\0');
  element[0] = static_cast<char>(file.size());
  ASSERT_LT(file.size(), 128U);
  const std::string head =
      R"({"inputs":[{"name":"input","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":)" +
      std::to_string(2 * (file.size() + 4)) + "}}]}";
  EXPECT_THAT(numbers_of(client.post(kInfer, head + element + file + element + file,
                                     {{"Inference-Header-Content-Length", std::to_string(head.size())}})),
              ElementsAre(21, 6, 21, 6));
  EXPECT_THAT(client.post(kInfer, "no picture", {{"Content-Type", "image/jpeg"}}).body, HasSubstr("can't be read"));
}

/// Triton's raw request: no JSON, and all outputs as bytes.
TEST_F(Serve, AnswersARawRequestByItsForm) {
  const auto asked = [](TestServer& server, const std::string& body, const char* query = "") {
    return HttpClient(server.port())
        .post(std::string(kInfer) + query, body,
              {{"Content-Type", "application/octet-stream"}, {"Inference-Header-Content-Length", "0"}});
  };
  const auto floats_of = [](const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<float> values(2);
    const std::size_t json_bytes = std::stoul(answer.headers.at("inference-header-content-length"));
    EXPECT_EQ(answer.body.size(), json_bytes + 8);
    std::memcpy(values.data(), answer.body.data() + json_bytes, 8);
    return values;
  };
  TestServer bytes(test::model_of_bytes()), floats(test::model_of_floats());
  EXPECT_THAT(floats_of(asked(bytes, "\1\2\3\4\5\xfa")), ElementsAre(265, 6));
  EXPECT_THAT(floats_of(asked(bytes, "BM\1\2\3\4")), ElementsAre(153, 6)) << "begins as a picture, but is none";
  const std::string picture = data::encode_png({1, 2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
  EXPECT_THAT(floats_of(asked(bytes, picture)), ElementsAre(21, 6));
  const float values[] = {1.5F, -2, 0.25F, 8};
  EXPECT_THAT(floats_of(asked(floats, {reinterpret_cast<const char*>(values), sizeof values})), ElementsAre(7.75, 4));
  EXPECT_THAT(asked(bytes, "\1\2\3\4\5\6", "?classification=1").body, HasSubstr("21:0:sum"));

  const auto refusal = [](const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 400);
    return json::parse(answer.body)["error"].get<std::string>();
  };
  EXPECT_THAT(refusal(asked(bytes, "\1\2\3\4\5")),
              AllOf(HasSubstr("is the 6 bytes of one sample, or a picture, and this has 5"), HasSubstr("[N,1,2,3]")));
  EXPECT_THAT(refusal(asked(floats, "1234")), HasSubstr("is the 16 bytes of one sample, and this has 4"));
  EXPECT_THAT(refusal(asked(bytes, picture.substr(0, 40))), HasSubstr("can't be read"));
  HttpClient client(bytes.port());
  EXPECT_THAT(refusal(client.post(kInfer, "\1\2\3\4\5\6", {{"Content-Type", "application/octet-stream"}})),
              HasSubstr("-H 'Inference-Header-Content-Length: 0'"));
  EXPECT_THAT(refusal(client.post(std::string(kInfer) + "?classification=1", asking({1, 2, 3, 4, 5, 6}))),
              HasSubstr("\"parameters\" of an output"));
}

TEST_F(Serve, KnowsAPictureByItsBytesWhateverTypeTheClientSays) {
  TestServer server(test::model_of_bytes());
  HttpClient client(server.port());
  const std::string file = data::encode_png({1, 2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
  for (const char* type : {"IMAGE/PNG", "Image/Png; charset=binary", "application/x-www-form-urlencoded",
                           "application/octet-stream", "application/json"}) {
    EXPECT_THAT(numbers_of(client.post(kInfer, file, {{"Content-Type", type}})), ElementsAre(21, 6)) << type;
  }
  EXPECT_THAT(numbers_of(client.post(kInfer, file)), ElementsAre(21, 6));
  const auto refused = [&](const std::string& body, const char* type) {
    const HttpAnswer answer = client.post(kInfer, body, {{"Content-Type", type}});
    EXPECT_EQ(answer.status, 400) << type;
    return answer.body;
  };
  EXPECT_THAT(refused(file.substr(0, 40), "application/x-www-form-urlencoded"), HasSubstr("curl --data-binary"));
  EXPECT_THAT(refused("%PDF-1.7", "application/x-www-form-urlencoded"),
              AllOf(HasSubstr("but a PDF file"), HasSubstr("curl --data-binary")));
  EXPECT_THAT(refused("", "image/png"), HasSubstr("is empty"));
  EXPECT_THAT(refused("", "application/json"), HasSubstr("is empty"));
  EXPECT_THAT(refused("{\"inputs\": ", "application/x-www-form-urlencoded"), HasSubstr("is no JSON"));
  EXPECT_EQ(client.post(kInfer, asking({1, 2, 3, 4, 5, 6}), {{"Content-Type", "text/plain"}}).status, 200);
}

TEST_F(Serve, RefusesWithAStatusAndGoesOn) {
  TestServer server(test::model_of_bytes(), {.http = {.body_bytes = 2000}});
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/nowhere").status, 404);
  EXPECT_THAT(client.get("/v2/models/sum").body, HasSubstr("this server has 'sums'"));
  EXPECT_EQ(client.get("/v2/models/sums/versions/2").status, 404);
  EXPECT_EQ(client.get(kInfer).status, 405);
  EXPECT_EQ(client.post(kInfer, "nonsense").status, 400);
  EXPECT_EQ(client.post(kInfer, "").status, 400);
  EXPECT_EQ(client.post(kInfer, asking({1}), {{"Inference-Header-Content-Length", "9999"}}).status, 400);
  EXPECT_EQ(client.post(kInfer, asking({1, 2, 3, 4, 5, 6})).status, 200);

  EXPECT_EQ(client.post(kInfer, std::string(3'000'000, ' ')).status, 413);
  EXPECT_TRUE(client.is_closed());  // the rest of the body belongs to no request
  HttpClient chunked(server.port());
  chunked.send("POST " + std::string(kInfer) + " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 4; ++i) chunked.send("3e8\r\n" + std::string(1000, ' ') + "\r\n");
  EXPECT_EQ(chunked.receive().status, 413);
  HttpClient put(server.port());
  put.send("PUT /v2 HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(put.receive().status, 405);
  EXPECT_TRUE(put.is_closed());
  HttpClient form(server.port());
  EXPECT_EQ(form.post(kInfer, "x", {{"Content-Type", "multipart/form-data; boundary=b"}}).status, 415);
}

TEST_F(Serve, OutlivesGarbageAndCutConnections) {
  TestServer server(test::model_of_bytes());
  HttpClient garbage(server.port());
  garbage.send("\x16\x03\x01\r\n\x80garbage\r\n\r\n");
  EXPECT_THAT(garbage.receive().status, AnyOf(0, 400));
  EXPECT_TRUE(garbage.is_closed());
  HttpClient endless(server.port());
  std::string head = "GET /v2 HTTP/1.1\r\nHost: test\r\n";
  for (int i = 0; i < 3000; ++i) head += "X-" + std::to_string(i) + ": " + std::string(40, 'x') + "\r\n";
  endless.send(head);
  EXPECT_EQ(endless.receive().status, 431);
  const std::string whole = test::post_text(kInfer, asking({1, 2, 3, 4, 5, 6}));
  for (std::size_t length = 0; length <= whole.size(); length += 7) {
    HttpClient client(server.port());
    client.send(whole.substr(0, length));
    client.cut();
  }
  HttpClient client(server.port());
  EXPECT_THAT(numbers_of(client.post(kInfer, asking({1, 2, 3, 4, 5, 6}))), ElementsAre(21, 6));
  client.cut();
  while (server.counts().open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(server.counts().bodies_bytes, 0U);
}

TEST_F(Serve, ClosesOnSlowAndIdleClients) {
  TestServer server(test::model_of_bytes(), {.http = {.transfer_s = 0.3, .idle_s = 0.3}});
  HttpClient idle(server.port()), slow_head(server.port()), slow_body(server.port());
  slow_head.send("GET /v2 HTTP/1.1\r\nHost");
  const std::string whole = test::post_text(kInfer, asking({1, 2, 3, 4, 5, 6}));
  slow_body.send(whole.substr(0, whole.size() - 5));
  EXPECT_EQ(slow_head.receive().status, 408);
  EXPECT_EQ(slow_body.receive().status, 408);
  EXPECT_TRUE(idle.is_closed());
}

TEST_F(Serve, ClosesConnectionsBeyondTheLimit) {
  TestServer server(test::model_of_bytes(), {.http = {.connections = 2}});
  HttpClient one(server.port()), two(server.port());
  EXPECT_EQ(one.get("/v2").status, 200);
  EXPECT_EQ(two.get("/v2").status, 200);
  HttpClient three(server.port());
  EXPECT_TRUE(three.is_closed());
  one.cut();
  while (server.counts().open > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(two.get("/v2").status, 200);
}

TEST_F(Serve, BoundsTheMemoryOfRequestsUnderWay) {
  TestServer server(test::model_of_bytes(), {.http = {.body_bytes = 100'000, .bodies_bytes = 150'000}});
  HttpClient one(server.port()), two(server.port());
  const std::string large = test::post_text(kInfer, asking({1, 2, 3, 4, 5, 6}) + std::string(90'000, ' '));
  one.send(large.substr(0, 1000));
  while (server.counts().bodies_bytes == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const HttpAnswer refused = two.post(kInfer, asking({1, 2, 3, 4, 5, 6}) + std::string(90'000, ' '));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  one.send(large.substr(1000));
  EXPECT_THAT(numbers_of(one.receive()), ElementsAre(21, 6));
}

TEST_F(Serve, AnswersWaitingSamplesTogether) {
  TestServer server(test::model_of_bytes());
  server.hold();
  std::list<std::future<HttpAnswer>> answers;
  answers.push_back(asked(server.port(), {1, 0, 0, 0, 0, 0}));
  server.wait_for_batches(1);
  for (int i = 2; i < 8; ++i) answers.push_back(asked(server.port(), {i, 0, 0, 0, 0, 0}));
  server.wait_for_waiting(6);
  server.release();
  float sum = 0;
  for (auto& answer : answers) EXPECT_EQ(numbers_of(answer.get()).front(), ++sum);
  EXPECT_THAT(server.batches(), ElementsAre(1, 4, 2));
  const std::string metrics = HttpClient(server.port()).get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("evener_samples_total 7\n"));
  EXPECT_THAT(metrics, HasSubstr("evener_batches_total 3\n"));
  EXPECT_THAT(metrics, HasSubstr("evener_requests_total{status=\"200\"} 7\n"));
  EXPECT_THAT(metrics, HasSubstr("evener_batch_samples_bucket{le=\"2\"} 2\n"));
}

TEST_F(Serve, LeavesSamplesWaitingForOthers) {
  TestServer server(test::model_of_bytes(), {.queue = {.lanes = 1, .batch = 2, .capacity = 64, .max_wait_s = 3600}});
  auto one = asked(server.port(), {1, 0, 0, 0, 0, 0});
  server.wait_for_waiting(1);
  auto two = asked(server.port(), {2, 0, 0, 0, 0, 0});
  EXPECT_EQ(numbers_of(one.get()).front(), 1);
  EXPECT_EQ(numbers_of(two.get()).front(), 2);
  EXPECT_THAT(server.batches(), ElementsAre(2));
}

TEST_F(Serve, RefusesWhatTheQueueCantHold) {
  TestServer server(test::model_of_bytes(), {.queue = {.lanes = 1, .batch = 1, .capacity = 2}});
  server.hold();
  std::list<std::future<HttpAnswer>> answers;
  answers.push_back(asked(server.port(), {1, 0, 0, 0, 0, 0}));
  server.wait_for_batches(1);
  for (int i = 2; i < 4; ++i) answers.push_back(asked(server.port(), {i, 0, 0, 0, 0, 0}));
  server.wait_for_waiting(2);
  HttpClient client(server.port());
  const HttpAnswer refused = client.post(kInfer, asking({4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  server.release();
  float sum = 0;
  for (auto& answer : answers) EXPECT_EQ(numbers_of(answer.get()).front(), ++sum);
  EXPECT_EQ(client.post(kInfer, asking({4, 0, 0, 0, 0, 0})).status, 200);
  const std::string head = R"({"inputs":[{"name":"input","datatype":"UINT8","shape":[3,1,2,3],"data":[)";
  EXPECT_THAT(client.post(kInfer, head + "1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6]}]}").body,
              HasSubstr("at most 2 at once"));
}

TEST_F(Serve, GivesUpOnAnswersThatTakeTooLong) {
  TestServer server(test::model_of_bytes(), {.queue = {.lanes = 1, .batch = 1, .capacity = 9}, .limit_s = 0.1});
  server.hold();
  HttpClient one(server.port()), two(server.port());
  EXPECT_EQ(one.post(kInfer, asking({1, 0, 0, 0, 0, 0})).status, 504);
  EXPECT_EQ(two.post(kInfer, asking({2, 0, 0, 0, 0, 0})).status, 504);
  server.release();
  while (server.waiting() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(server.batches(), ElementsAre(1));  // nobody waited for the second one
}

TEST_F(Serve, AnswersAtItsEndWhatWasAccepted) {
  TestServer server(test::model_of_bytes());
  HttpClient idle(server.port()), begun(server.port());
  EXPECT_EQ(idle.get("/v2").status, 200);
  server.hold();
  std::list<std::future<HttpAnswer>> answers;
  answers.push_back(asked(server.port(), {1, 0, 0, 0, 0, 0}));
  server.wait_for_batches(1);
  for (int i = 2; i < 20; ++i) answers.push_back(asked(server.port(), {i, 0, 0, 0, 0, 0}));
  const std::string whole = test::post_text(kInfer, asking({99, 0, 0, 0, 0, 0}));
  begun.send(whole.substr(0, 30));
  server.wait_for_waiting(18);
  server.stop();
  EXPECT_TRUE(idle.is_closed());
  EXPECT_FALSE(HttpClient(server.port()).connected());
  begun.send(whole.substr(30));
  server.wait_for_waiting(19);
  server.release();
  float sum = 0;
  for (auto& answer : answers) EXPECT_EQ(numbers_of(answer.get()).front(), ++sum);
  const HttpAnswer last = begun.receive();
  EXPECT_EQ(numbers_of(last).front(), 99);
  EXPECT_EQ(last.headers.at("connection"), "close");
  server.end();
}

TEST_F(Serve, SurvivesManyClientsAtOnce) {
  TestServer server(test::model_of_bytes(), {.queue = {.lanes = 2, .batch = 8, .capacity = 4096}});
  std::vector<std::future<int>> clients;
  for (int c = 0; c < 40; ++c) {
    clients.push_back(std::async(std::launch::async, [&, c] {
      HttpClient client(server.port());
      int right = 0;
      for (int i = 0; i < 20; ++i) {
        const HttpAnswer answer = client.post(kInfer, asking({c, i, 0, 0, 0, 0}));
        right += answer.status == 200 && numbers_of(answer).front() == static_cast<float>(c + i);
      }
      return right;
    }));
  }
  for (auto& client : clients) EXPECT_EQ(client.get(), 20);
}

/// What a server holds, or tells, that could grow with each request.
struct Held {
  std::size_t open = 0, waiting = 0, bodies_bytes = 0;
  int descriptors = 0;
  std::vector<std::string> metrics;  // their names and labels

  bool operator==(const Held&) const = default;
};

Held held_by(const TestServer& server) {
  Held held;
  const std::string text = HttpClient(server.port()).get("/metrics").body;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    held.metrics.push_back(line.starts_with('#') ? line : line.substr(0, line.rfind(' ')));
  }
  // A connection that its client has closed is seen to be closed a moment later.
  for (int look = 0; look < 40000 && server.counts().open > 0; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  held.open = server.counts().open;
  held.waiting = server.waiting();
  held.bodies_bytes = server.counts().bodies_bytes;
  held.descriptors = test::file_count("/proc/self/fd");
  return held;
}

TEST_F(Serve, AThousandRequestsLeaveNothingBehind) {
  TestServer server(test::model_of_bytes());
  const auto ask = [&](int begin, int end) {
    for (int i = begin; i < end;) {
      HttpClient client(server.port());  // a connection for each ten requests
      for (const int last = i + 10; i < last; ++i) {
        const std::string other = "/v2/models/another" + std::to_string(i) + "/infer";
        if (i % 10 == 3) {
          EXPECT_EQ(client.post(other, asking({1, 2, 3, 4, 5, 6})).status, 404);
        } else if (i % 10 == 7) {
          EXPECT_EQ(client.post(kInfer, asking({i})).status, 400);
        } else {
          EXPECT_EQ(numbers_of(client.post(kInfer, asking({i % 200, 1, 0, 0, 0, 2}))).front(), i % 200 + 3);
        }
      }
    }
  };
  ask(0, 100);
  const Held after_a_hundred = held_by(server);
  EXPECT_EQ(after_a_hundred.open, 0U);
  EXPECT_EQ(after_a_hundred.bodies_bytes, 0U);
  ask(100, 1100);
  const Held after_all = held_by(server);
  EXPECT_EQ(after_all.metrics, after_a_hundred.metrics);
  EXPECT_EQ(after_all.descriptors, after_a_hundred.descriptors);
  EXPECT_EQ(after_all, after_a_hundred);
  const std::string metrics = HttpClient(server.port()).get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("evener_requests_total{status=\"200\"} 880\n"));
  EXPECT_THAT(metrics, HasSubstr("evener_samples_total 880\n"));
  EXPECT_EQ(server.counts().connections, 110U + 3U) << "and three that asked for the figures";
}

TEST_F(Serve, SaysWhyItCantListen) {
  const auto holder = open_http_server({});
  try {
    open_http_server({.port = holder->port()});
    FAIL() << "two servers listen on one port";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another program listens there; choose another --port"));
  }
  EXPECT_THROW(open_http_server({.host = "no.such.host.invalid"}), Error);
}

}  // namespace
}  // namespace evener::serving
