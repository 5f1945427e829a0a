// The Open Inference Protocol as plain texts: what is understood, what is refused and with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/base64.h"
#include "job/serve/protocol.h"
#include "job/serve_helpers.h"

namespace evener::job {
namespace {

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

TEST(ServeProtocol, ReadsBase64) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("TWFu"), "Man");
  EXPECT_EQ(from_base64("TWE="), "Ma");
  EXPECT_EQ(from_base64("TQ"), "M");
  EXPECT_EQ(from_base64("/+8="), "\xff\xef");
  EXPECT_FALSE(from_base64("T"));
  EXPECT_FALSE(from_base64("TW F"));
}

}  // namespace
}  // namespace evener::job
